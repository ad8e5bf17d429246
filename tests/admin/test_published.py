"""The pages of resources and prompts."""

from __future__ import annotations

import html
import json

import pytest
from django.test import Client as Browser
from django.urls import reverse

from mcp_gateway.models import Listener, Module, Prompt, Resource, Scope
from mcp_gateway.registry import snapshot


@pytest.fixture
def resource(module: Module) -> Resource:
    return Resource.objects.create(
        uri="mcp-system:shop:about.md",
        module=module,
        file="mcp/resources/about.md.meta.json",
        name="about.md",
        title="About",
        mime_type="text/markdown",
        content=b"# About <b>us</b>",
        content_digest="x",
        size=17,
        right="oauth2:scope orders:read",
    )


@pytest.fixture
def prompt(module: Module) -> Prompt:
    messages = b'[{"role":"user","content":{"type":"text","text":"Look at {{what}}."}}]'
    return Prompt.objects.create(
        name="mcp-system:shop:look",
        module=module,
        file="mcp/prompts/look.meta.json",
        arguments='[{"name":"what"}]',
        content=messages,
        content_digest="x",
    )


def page(row: Resource | Prompt) -> str:
    return reverse(f"admin:mcp_gateway_{row._meta.model_name}_change", args=[row.pk])


def text_of(browser: Browser, url: str) -> str:
    response = browser.get(url)
    assert response.status_code == 200
    return response.content.decode()


def test_a_resource_shows_its_content_and_what_it_needs(
    admin_client: Browser, resource: Resource, scope: Scope
) -> None:
    text = text_of(admin_client, page(resource))
    assert "# About &lt;b&gt;us&lt;/b&gt;" in text
    assert "scope orders:read" in text
    assert "mcp/resources/about.md.meta.json" in text
    listed = text_of(admin_client, reverse("admin:mcp_gateway_resource_changelist"))
    assert "mcp-system:shop:about.md" in listed
    assert "served" in listed


def test_a_prompt_shows_its_messages_and_arguments(admin_client: Browser, prompt: Prompt) -> None:
    text = text_of(admin_client, page(prompt))
    assert "user: Look at {{what}}." in text
    assert "&quot;name&quot;: &quot;what&quot;" in text
    assert "nothing: anyone may" in text


def test_a_refused_file_says_why_on_its_page_and_on_its_modules(
    admin_client: Browser, resource: Resource, module: Module
) -> None:
    Resource.objects.update(available=False, problem="The file is missing.")
    for url in (page(resource), reverse("admin:mcp_gateway_module_change", args=[module.pk])):
        text = text_of(admin_client, url)
        assert "The file is missing." in text
        assert "refused" in text


@pytest.mark.parametrize("kind", ["resource", "prompt"])
def test_rows_are_switched_by_an_action(admin_client: Browser, kind: str, request: pytest.FixtureRequest) -> None:
    row = request.getfixturevalue(kind)
    url = reverse(f"admin:mcp_gateway_{kind}_changelist")
    before = snapshot().generation
    answer = admin_client.post(url, {"action": "switch_off", "_selected_action": [row.pk]}, follow=True)
    assert f"1 {kind} was switched off." in answer.content.decode()
    row.refresh_from_db()
    assert not row.enabled
    assert snapshot().generation > before
    assert not snapshot().published.resources
    assert not snapshot().published.prompts


def test_the_administrators_words_and_scopes_are_kept(admin_client: Browser, resource: Resource, scope: Scope) -> None:
    form = {
        "enabled": "on",
        "title_override": "Read me",
        "visibility_override": "unlisted",
        "required_scopes": [scope.pk],
        "rights_from": "both",
    }
    assert admin_client.post(page(resource), form).status_code == 302
    resource.refresh_from_db()
    assert (resource.title, resource.effective_title, resource.effective_visibility) == ("About", "Read me", "unlisted")
    assert resource.content == b"# About <b>us</b>"
    (entry,) = snapshot().published.resources.values()
    assert entry.rights == ("oauth2:scope orders:read", "oauth2:scope orders:read")


def test_nobody_opens_a_protected_resource_by_setting_its_right_aside(
    admin_client: Browser, resource: Resource
) -> None:
    answer = admin_client.post(page(resource), {"enabled": "on", "rights_from": "administrator"})
    assert "anyone could read “mcp-system:shop:about.md”" in answer.content.decode()
    resource.refresh_from_db()
    assert resource.rights_from == "both"


def test_none_is_added_or_deleted_by_hand(admin_client: Browser, resource: Resource, prompt: Prompt) -> None:
    for row in (resource, prompt):
        assert admin_client.get(reverse(f"admin:mcp_gateway_{row._meta.model_name}_add")).status_code == 403
        assert admin_client.post(page(row) + "../delete/").status_code in (403, 404)
        assert type(row).objects.filter(pk=row.pk).exists()


def test_a_template_names_the_listener_that_answers(admin_client: Browser, resource: Resource, module: Module) -> None:
    Resource.objects.update(uri="shop:items/{id}", is_template=True, content=None, content_digest="")
    text = text_of(admin_client, page(resource))
    assert "unreachable" in text
    assert "one to the event mcp:resources/read:shop is needed" in text
    listener = Listener.objects.create(
        module=module, event="mcp:resources/read:shop", class_name="A", method="read", origins=["mcp"], right="staff"
    )
    text = text_of(admin_client, page(resource))
    assert reverse("admin:mcp_gateway_listener_change", args=[listener.pk]) in text
    assert "unreachable" not in text
    assert "staff" in text


def test_what_no_file_publishes_any_more_can_be_deleted(admin_client: Browser, resource: Resource) -> None:
    def delete() -> int:
        url = reverse("admin:mcp_gateway_resource_delete", args=[resource.pk])
        return admin_client.post(url, {"post": "yes"}).status_code

    Resource.objects.update(available=False, problem="The file is missing.")
    assert delete() == 403
    Resource.objects.update(problem="")
    assert "A listener answers in its place only if it needs the same rights" in text_of(admin_client, page(resource))
    assert delete() == 302
    assert not Resource.objects.exists()


def test_a_message_that_is_a_resource_says_which_and_what(admin_client: Browser, prompt: Prompt) -> None:
    held = {"uri": "mcp-system:shop:terms", "mimeType": "text/plain", "text": "No returns."}
    link = {"type": "resource_link", "uri": "mcp-system:shop:map", "name": "map"}
    blocks = [{"type": "resource", "resource": held}, link, {"type": "image", "mimeType": "image/png", "data": "aGk="}]
    Prompt.objects.update(content=json.dumps([{"role": "user", "content": block} for block in blocks]).encode())
    text = text_of(admin_client, page(prompt))
    for shown in (
        "user: resource mcp-system:shop:terms text/plain\nNo returns.",
        "user: resource_link mcp-system:shop:map",
        "user: image image/png",
    ):
        assert shown in text


def test_the_labels_say_that_a_file_decides(admin_client: Browser, resource: Resource, prompt: Prompt) -> None:
    for row in (resource, prompt):
        text = text_of(admin_client, page(row))
        assert "File&#x27;s title" in text
        assert "the file&#x27;s right and the required scopes" in text
        assert "Empty: the file's." in text
        listed = text_of(admin_client, reverse(f"admin:mcp_gateway_{row._meta.model_name}_changelist"))
        assert "anifest's" not in html.unescape(text + listed)
