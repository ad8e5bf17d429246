"""The pages of scopes: what uses them, what is missing, and what forbids to delete them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client as Browser
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags
from oauth2_provider.models import get_access_token_model, get_application_model

from mcp_gateway.models import Client, Endpoint, Module, Prompt, Resource, Scope, Tool
from mcp_gateway.registry import snapshot

Page = Callable[..., str]

NO_GROUPS = {"scopegroup_set-TOTAL_FORMS": "0", "scopegroup_set-INITIAL_FORMS": "0"}


def form(scope: Scope, **changes: Any) -> dict[str, Any]:
    """What the browser sends when the form is saved."""
    sent = {
        "name": scope.name,
        "description": scope.description,
        "enabled": "on",
        "advertised": "on",
        **NO_GROUPS,
        **changes,
    }
    return {name: value for name, value in sent.items() if value is not None}


def text_of(response: Any) -> str:
    """The page."""
    return str(response.content.decode())


def test_a_scope_tells_everything_that_uses_it(
    admin_client: Browser, page: Page, scope: Scope, tool: Tool, endpoint: Endpoint
) -> None:
    tool.required_scopes.add(scope)
    endpoint.baseline_scopes.add(scope)
    application = get_application_model().objects.create(name="Helpdesk")
    Client.objects.create(application=application).allowed_scopes.add(scope)
    Scope.objects.create(name="orders:admin").implies.add(scope)
    text = text_of(admin_client.get(page("scope", scope)))
    for use in (
        f'required by the tool <a href="{page("tool", tool)}">find-order</a>',
        "named in the right of the listener",
        f'baseline of the endpoint <a href="{page("endpoint", endpoint)}">',
        "allowed to the client",
        "implied by the scope",
    ):
        assert use in text
    row = strip_tags(text_of(admin_client.get(page("scope"))))
    assert "find-order, MCP gateway, Helpdesk" in row


def test_a_longer_name_that_begins_alike_is_no_use(admin_client: Browser, page: Page, scope: Scope, tool: Tool) -> None:
    shorter = Scope.objects.create(name="orders", description="Orders")
    assert "named in the right" not in text_of(admin_client.get(page("scope", shorter)))


def test_a_scope_without_consent_text_is_pointed_out(admin_client: Browser, page: Page, db: None) -> None:
    scope = Scope.objects.create(name="orders:write")
    assert "People see only the name." in text_of(admin_client.get(page("scope")))
    assert page("scope", scope) in text_of(admin_client.get(page("scope") + "?text=missing"))
    assert page("scope", scope) not in text_of(admin_client.get(page("scope") + "?text=given"))
    response = admin_client.post(page("scope", scope), form(scope), follow=True)
    assert "has no consent text" in text_of(response)


def test_a_renamed_scope_is_what_tools_need_at_once(
    admin_client: Browser, page: Page, scope: Scope, tool: Tool
) -> None:
    tool.required_scopes.add(scope)
    Tool.objects.filter(pk=tool.pk).update(rights_from=Tool.RightsFrom.ADMINISTRATOR)
    response = admin_client.post(page("scope", scope), form(scope, name="orders:view"), follow=True)
    assert snapshot().tools["find-order"].rights == ("oauth2:scope orders:view",)
    assert "Files of modules still name “orders:read”" in text_of(response)
    assert "find-order" in text_of(response)


@pytest.mark.parametrize("name", ["two words", 'quo"te', "back\\slash", "é", ""])
def test_a_name_that_is_no_scope_is_refused(admin_client: Browser, page: Page, scope: Scope, name: str) -> None:
    response = admin_client.post(page("scope", scope), form(scope, name=name))
    assert response.status_code == 200
    assert "errorlist" in text_of(response)
    scope.refresh_from_db()
    assert scope.name == "orders:read"


def test_a_scope_cannot_imply_itself(admin_client: Browser, page: Page, scope: Scope) -> None:
    response = admin_client.post(page("scope", scope), form(scope, implies=[scope.pk]))
    assert "Select a valid choice" in text_of(response)


@pytest.mark.parametrize("from_the_list", [True, False])
def test_deleting_a_needed_scope_shows_what_needs_it(
    admin_client: Browser, page: Page, scope: Scope, tool: Tool, from_the_list: bool
) -> None:
    tool.required_scopes.add(scope)
    if from_the_list:
        address, sent = page("scope"), {"action": "delete_selected", "_selected_action": [scope.pk], "post": "yes"}
    else:
        address, sent = page("scope", scope, "delete"), {"post": "yes"}
    response = admin_client.post(address, sent)
    assert response.status_code == 200
    assert f'Tool: <a href="{page("tool", tool)}">find-order</a> needs “orders:read”.' in text_of(response)
    assert "disable the scope instead" in text_of(response)
    assert Scope.objects.filter(pk=scope.pk).exists()


def test_a_scope_that_nothing_needs_can_be_deleted(admin_client: Browser, page: Page, scope: Scope) -> None:
    admin_client.post(page("scope", scope, "delete"), {"post": "yes"})
    assert not Scope.objects.filter(pk=scope.pk).exists()


def test_a_new_scope_is_made_here(admin_client: Browser, page: Page, db: None) -> None:
    response = admin_client.get(page("scope", view="add"))
    assert response.status_code == 200
    admin_client.post(
        page("scope", view="add"),
        {"name": "orders:write", "description": "Change your orders", "enabled": "on", **NO_GROUPS},
    )
    assert snapshot().scopes["orders:write"].description == "Change your orders"


def test_who_may_change_a_scope_keeps_it_to_groups(client: Browser, page: Page, scope: Scope, db: None) -> None:
    """Without a permission for the rows between scopes and groups."""
    editor = User.objects.create_user("eve", password="secret", is_staff=True)
    editor.user_permissions.add(
        *Permission.objects.filter(codename__in=["view_scope", "change_scope"], content_type__app_label="mcp_gateway")
    )
    client.force_login(editor)
    traders = Group.objects.create(name="traders")
    assert "traders" in text_of(client.get(page("scope", scope)))
    row = {"scopegroup_set-0-group": str(traders.pk), "scopegroup_set-TOTAL_FORMS": "1"}
    response = client.post(page("scope", scope), form(scope, **row))
    assert response.status_code == 302
    assert snapshot().scopes["orders:read"].groups == (frozenset({traders.pk}),)
    assert "traders" in text_of(client.get(page("scope")))


def test_a_group_that_keeps_a_scope_cannot_be_deleted(admin_client: Browser, scope: Scope) -> None:
    """With the last group gone, everyone could grant the scope."""
    traders = Group.objects.create(name="traders")
    scope.groups.add(traders)
    response = admin_client.post(reverse("admin:auth_group_delete", args=[traders.pk]), {"post": "yes"})
    assert "orders:read: traders" in text_of(response)
    assert Group.objects.filter(pk=traders.pk).exists()
    scope.groups.clear()
    traders.delete()


@pytest.fixture(params=["resource", "prompt"])
def published(request: pytest.FixtureRequest, module: Module) -> Resource | Prompt:
    """A resource and a prompt, in turn, whose file names the scope orders:read."""
    file = {"module": module, "file": "mcp/it.meta.json", "right": "oauth2:scope orders:read"}
    if request.param == "resource":
        return Resource.objects.create(uri="mcp-system:shop:terms", name="terms", **file)
    return Prompt.objects.create(name="mcp-system:shop:plan", **file)


def test_a_scope_that_a_resource_or_prompt_requires_is_kept(
    admin_client: Browser, page: Page, published: Resource | Prompt
) -> None:
    kind = published._meta.model_name
    needed = Scope.objects.create(name="orders:tmp")
    published.required_scopes.add(needed)
    used = f'required by the {kind} <a href="{page(kind, published)}">{published}</a>'
    assert used in text_of(admin_client.get(page("scope", needed)))
    assert str(published) in text_of(admin_client.get(page("scope")))
    response = admin_client.post(page("scope", needed, "delete"), {"post": "yes"})
    assert response.status_code == 200
    assert f'<a href="{page(kind, published)}">{published}</a> needs “orders:tmp”.' in text_of(response)
    assert Scope.objects.filter(pk=needed.pk).exists()


@pytest.mark.parametrize("how", ["renamed", "deleted", "deleted from the list", "disabled"])
def test_what_a_file_guards_by_a_scope_is_named_when_the_scope_goes(
    admin_client: Browser, page: Page, scope: Scope, published: Resource | Prompt, how: str
) -> None:
    kind = published._meta.model_name
    use = f'named in the right of the {kind} <a href="{page(kind, published)}">{published}</a>'
    assert use in text_of(admin_client.get(page("scope", scope)))
    from_the_list = {"action": "delete_selected", "_selected_action": [scope.pk], "post": "yes"}
    address, sent = {
        "renamed": (page("scope", scope), form(scope, name="orders:view")),
        "disabled": (page("scope", scope), form(scope, enabled=None)),
        "deleted": (page("scope", scope, "delete"), {"post": "yes"}),
        "deleted from the list": (page("scope"), from_the_list),
    }[how]
    warned = text_of(admin_client.post(address, sent, follow=True))
    told = f"It is needed by: {published}." if how == "disabled" else f"They are: {published}."
    assert told in warned


def test_who_is_asked_whether_to_delete_a_scope_hears_what_that_closes(
    admin_client: Browser, page: Page, scope: Scope, published: Resource | Prompt
) -> None:
    asked = text_of(admin_client.get(page("scope", scope, "delete")))
    assert f"guard with “orders:read” what nobody could reach without it: {published}." in asked


def test_tokens_that_carry_a_scope_are_counted(admin_client: Browser, page: Page, scope: Scope) -> None:
    soon, past = timezone.now() + timedelta(hours=1), timezone.now() - timedelta(hours=1)
    for number, (carried, expires) in enumerate(
        (("orders:read mcp:tools", soon), ("orders:readonly", soon), ("orders:read", past))
    ):
        get_access_token_model().objects.create(token=f"token-{number}", scope=carried, expires=expires)
    assert "carried by 1 access token that works" in text_of(admin_client.get(page("scope", scope)))
    renamed = admin_client.post(page("scope", scope), form(scope, name="orders:view"), follow=True)
    assert "1 access token carries “orders:read”, which is worth nothing now." in text_of(renamed)


def test_a_scope_of_many_tools_names_the_first_of_them(admin_client: Browser, page: Page, scope: Scope) -> None:
    for number in range(9):
        Tool.objects.create(name=f"tool-{number}").required_scopes.add(scope)
    row = strip_tags(text_of(admin_client.get(page("scope"))))
    assert "tool-0, tool-1, tool-2, tool-3, tool-4, tool-5 and 3 more" in row


def test_the_list_of_scopes_reads_what_uses_them_at_once(
    admin_client: Browser, page: Page, scope: Scope, tool: Tool, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        tool.required_scopes.add(Scope.objects.create(name=f"orders:{number}"))
    with django_assert_max_num_queries(30):
        admin_client.get(page("scope"))


def test_pages_take_as_many_statements_for_many_clients_as_for_few(
    admin_client: Browser, page: Page, scope: Scope, django_assert_max_num_queries: Any
) -> None:
    model = get_application_model()
    model.objects.bulk_create(
        model(name=f"Agent {number}", client_id=f"agent-{number}", authorization_grant_type="authorization-code")
        for number in range(130)
    )
    clients = Client.objects.bulk_create(Client(application=application) for application in model.objects.all())
    scope.clients.add(*clients)
    Endpoint.objects.bulk_create(Endpoint(slug=f"e{number}") for number in range(40))
    with django_assert_max_num_queries(35):
        assert "and 124 more" in text_of(admin_client.get(page("scope")))
        text = text_of(admin_client.get(page("scope", scope)))
    assert text.count("allowed to the client") == 100
    assert "and 30 more" in text
    with django_assert_max_num_queries(10):
        admin_client.get(page("endpoint"))


def test_a_name_from_right_to_left_stands_by_itself(admin_client: Browser, page: Page, scope: Scope) -> None:
    Tool.objects.create(name="\u202etool").required_scopes.add(scope)
    assert "<bdi>\u202etool</bdi>" in text_of(admin_client.get(page("scope")))
