"""The other pages: modules and listeners to read, the endpoint, clients, imports, and the ready-made group."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.checks import WARNING, CheckMessage, run_checks
from django.test import Client as Browser
from django.urls import reverse
from oauth2_provider.models import get_application_model

from mcp_gateway.models import Client, Endpoint, ImportRun, Listener, Module, Scope, Tool
from mcp_gateway.models.defaults import ADMINISTRATORS_MAY, create_defaults
from mcp_gateway.registry import snapshot

Page = Callable[..., str]
Staff = Callable[..., Browser]


def text_of(response: Any) -> str:
    """The page."""
    return str(response.content.decode())


@pytest.mark.parametrize("model", ["module", "listener", "importrun"])
def test_what_imports_write_is_read_only(
    admin_client: Browser, page: Page, module: Module, listener: Listener, run: ImportRun, model: str
) -> None:
    row = {"module": module, "listener": listener, "importrun": run}[model]
    text = text_of(admin_client.get(page(model)))
    assert page(model, view="add") not in text
    assert "delete_selected" not in text
    shown = text_of(admin_client.get(page(model, row)))
    assert 'name="_save"' not in shown
    assert "deletelink" not in shown
    assert admin_client.post(page(model, row), {}).status_code == 403
    assert admin_client.get(page(model, view="add")).status_code == 403
    assert admin_client.post(page(model, row, "delete"), {"post": "yes"}).status_code == 403


def test_a_module_shows_its_listeners_and_the_manifest(
    admin_client: Browser, page: Page, module: Module, listener: Listener, refused: Listener
) -> None:
    text = text_of(admin_client.get(page("module", module)))
    assert page("listener", listener) in text
    assert "/listen/1/schema/response: the file is missing." in text
    assert "&quot;name&quot;: &quot;Shop&quot;" in text
    assert "2, of which 1 refused" in text_of(admin_client.get(page("module")))


def test_a_module_that_could_not_be_read_or_is_gone_says_so(admin_client: Browser, page: Page, module: Module) -> None:
    Module.objects.filter(pk=module.pk).update(problem="zolinga.json: no JSON at line 3.")
    text = text_of(admin_client.get(page("module")))
    assert "zolinga.json: no JSON at line 3." in text
    Module.objects.filter(pk=module.pk).update(present=False)
    assert "The folder is gone; its tools are retired." in text_of(admin_client.get(page("module")))


def test_a_listener_shows_what_the_manifest_says(
    admin_client: Browser, page: Page, listener: Listener, tool: Tool
) -> None:
    text = text_of(admin_client.get(page("listener", listener)))
    for part in ("\\Shop\\Orders::onFind", "oauth2:scope orders:read", page("tool", tool), "&quot;type&quot;"):
        assert part in text


@pytest.mark.parametrize(
    ("query", "sound", "faulty"),
    [
        ("", True, True),
        ("?state=sound", True, False),
        ("?state=refused", False, True),
        ("?origin=remote", False, True),
        ("?origin=mcp", True, True),
        ("?origin=cli", False, False),
        ("?q=onLost", False, True),
    ],
)
def test_listeners_are_found_by_filter_and_search(
    admin_client: Browser, page: Page, listener: Listener, refused: Listener, query: str, sound: bool, faulty: bool
) -> None:
    text = text_of(admin_client.get(page("listener") + query))
    assert (page("listener", listener) in text) is sound
    assert (page("listener", refused) in text) is faulty


def test_a_listener_for_every_origin_is_found_by_each(admin_client: Browser, page: Page, listener: Listener) -> None:
    Listener.objects.filter(pk=listener.pk).update(origins=["*"])
    assert page("listener", listener) in text_of(admin_client.get(page("listener") + "?origin=cli"))


def test_the_default_endpoint_cannot_be_deleted_and_keeps_its_address(
    admin_client: Browser, page: Page, endpoint: Endpoint
) -> None:
    sent = {"title": "Our shop", "slug": "other", "access": "token", "enabled": "on", "instructions": ""}
    admin_client.post(page("endpoint", endpoint), sent)
    endpoint.refresh_from_db()
    assert (endpoint.title, endpoint.slug, endpoint.access) == ("Our shop", "", "token")
    assert snapshot().endpoints[""].token_required
    assert admin_client.post(page("endpoint", endpoint, "delete"), {"post": "yes"}).status_code == 403
    assert "deletelink" not in text_of(admin_client.get(page("endpoint", endpoint)))


def test_an_administrator_makes_a_second_endpoint_and_chooses_its_tools(
    admin_client: Browser, page: Page, endpoint: Endpoint, tool: Tool
) -> None:
    sent = {"title": "Billing", "slug": "", "access": "token", "enabled": "on", "tools": [tool.pk]}
    assert "This field is required" in text_of(admin_client.post(page("endpoint", view="add"), sent))
    admin_client.post(page("endpoint", view="add"), {**sent, "slug": "billing"})
    made = Endpoint.objects.get(slug="billing")
    assert snapshot().endpoints["billing"].tools == frozenset({tool.name})
    assert "/mcp/billing" in text_of(admin_client.get(page("endpoint", made)))
    admin_client.post(page("endpoint", made), {**sent, "slug": "other", "tools": []})
    assert snapshot().endpoints["billing"].tools == frozenset()
    admin_client.post(page("endpoint", made), {**sent, "all_tools": "on"})
    assert snapshot().endpoints["billing"].tools is None
    assert admin_client.post(page("endpoint", made, "delete"), {"post": "yes"}).status_code == 302
    assert "billing" not in snapshot().endpoints


def test_the_endpoint_shows_its_public_address(
    admin_client: Browser, page: Page, endpoint: Endpoint, settings: Any
) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": "https://mcp.example.com"}
    assert "https://mcp.example.com/mcp" in text_of(admin_client.get(page("endpoint", endpoint)))


def test_a_client_is_restricted_and_disabled_here(admin_client: Browser, page: Page, scope: Scope) -> None:
    application = get_application_model().objects.create(name="Helpdesk")
    admin_client.post(
        page("client", view="add"), {"application": application.pk, "enabled": "on", "allowed_scopes": [scope.pk]}
    )
    client = Client.objects.get(application=application)
    assert snapshot().clients[application.pk].allowed_scopes == {"orders:read"}
    admin_client.post(page("client", client), {"allowed_scopes": [scope.pk]})
    assert not snapshot().clients[application.pk].enabled
    assert "Helpdesk" in text_of(admin_client.get(page("client")))


def test_an_import_run_is_readable(admin_client: Browser, page: Page, run: ImportRun) -> None:
    assert "1 refused, 1 added" in text_of(admin_client.get(page("importrun")))
    text = text_of(admin_client.get(page("importrun", run)))
    for part in ("lost-order", "zolinga.json", "/listen/1", "No such file.", "1 entry did not change."):
        assert part in text


def test_what_a_run_did_is_counted_in_words(admin_client: Browser, page: Page, db: None) -> None:
    for count in (1, 2):
        plan = json.dumps({"warnings": [{}] * count, "added": [{}] * count})
        ImportRun.objects.create(outcome=ImportRun.Outcome.APPLIED, plan=plan)
    text = text_of(admin_client.get(page("importrun")))
    assert ">1 warning, 1 added<" in text
    assert ">2 warnings, 2 added<" in text


@pytest.mark.parametrize("model", ["module", "listener", "tool", "resource", "prompt"])
def test_an_empty_list_says_where_its_rows_come_from(admin_client: Browser, page: Page, db: None, model: str) -> None:
    assert "manage.py import_manifests" in text_of(admin_client.get(page(model)))


def test_a_list_with_rows_says_nothing_of_the_kind(admin_client: Browser, page: Page, tool: Tool) -> None:
    for address in (page("tool"), page("tool") + "?q=another", page("listener"), page("module")):
        assert "manage.py import_manifests" not in text_of(admin_client.get(address))


@pytest.mark.parametrize("plan", ["", "no JSON", "[1]", '{"added": 5}'])
def test_an_import_run_with_an_odd_plan_still_opens(admin_client: Browser, page: Page, db: None, plan: str) -> None:
    run = ImportRun.objects.create(outcome=ImportRun.Outcome.NOTHING, plan=plan)
    assert admin_client.get(page("importrun", run)).status_code == 200
    assert "nothing to do" in text_of(admin_client.get(page("importrun")))


def test_a_manifests_text_cannot_bring_markup_into_admin(
    admin_client: Browser, page: Page, tool: Tool, module: Module, listener: Listener
) -> None:
    markup = "<script>alert(1)</script>"
    Tool.objects.filter(pk=tool.pk).update(title=markup, description=markup, problem=markup, extras=f'"{markup}"')
    Module.objects.filter(pk=module.pk).update(name=markup, manifest=f'{{"name": "{markup}"}}', problem=markup)
    Listener.objects.filter(pk=listener.pk).update(right=markup, problem=markup, title=markup, class_name=markup)
    for model, row in (("tool", tool), ("module", module), ("listener", listener)):
        for address in (page(model), page(model, row)):
            response = admin_client.get(address)
            assert response.status_code == 200
            assert markup not in text_of(response)


def test_the_ready_made_group_can_do_its_work_and_nothing_else(
    staff: Staff, page: Page, tool: Tool, scope: Scope, run: ImportRun
) -> None:
    browser = staff()
    for model in ("module", "listener", "tool", "scope", "endpoint", "client", "importrun"):
        assert browser.get(page(model)).status_code == 200
    assert browser.get(reverse("admin:auth_user_changelist")).status_code == 403
    assert not User.objects.get(username="operator").has_perm("mcp_gateway.override_tool_rights")


def test_what_was_taken_from_the_ready_made_group_stays_taken(db: None) -> None:
    group = Group.objects.get(name="MCP administrators")
    assert group.permissions.count() == len(ADMINISTRATORS_MAY)
    group.permissions.clear()
    create_defaults("default")
    assert group.permissions.count() == 0


def test_what_an_older_group_lacks_is_told_and_not_given(db: None) -> None:
    def told() -> list[CheckMessage]:
        return [message for message in run_checks(databases=["default"]) if message.id == "mcp_gateway.I004"]

    assert told() == []
    group = Group.objects.get(name="MCP administrators")
    lacking = list(group.permissions.filter(codename__in=("view_prompt", "change_tooltask")))
    group.permissions.remove(*lacking)
    (message,) = told()
    assert {permission.name for permission in lacking} == set(re.findall("“(Can .+?)”", message.msg))
    assert "Groups" in str(message.hint)
    assert not message.is_serious(WARNING)
    assert not group.permissions.filter(codename="view_prompt").exists()
    group.permissions.add(*lacking)
    assert told() == []
    group.delete()
    assert told() == []


def test_the_pages_of_django_oauth_toolkit_stay(admin_client: Browser) -> None:
    for name in ("application", "accesstoken", "grant", "refreshtoken"):
        assert admin_client.get(reverse(f"admin:oauth2_provider_{name}_changelist")).status_code == 200
