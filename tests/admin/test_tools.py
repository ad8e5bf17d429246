"""The page of a tool: why it is served, what a call needs, and what an administrator may change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client as Browser

from mcp_gateway.models import Generation, Listener, Module, Scope, Tool
from mcp_gateway.registry import snapshot

Page = Callable[..., str]
Staff = Callable[..., Browser]


def form(tool: Tool, **changes: Any) -> dict[str, Any]:
    """What the browser sends when the form is saved."""
    sent = {
        "enabled": "on" if tool.enabled else "",
        "required_scopes": [scope.pk for scope in tool.required_scopes.all()],
        "rights_from": tool.rights_from,
        "title_override": tool.title_override or "",
        "description_override": tool.description_override or "",
        **changes,
    }
    return {name: value for name, value in sent.items() if value != "" or name.endswith("override")}


def text_of(response: Any) -> str:
    """The page, or the page that the answer leads to."""
    return str(response.content.decode())


def test_a_sound_tool_is_shown_as_served(admin_client: Browser, page: Page, tool: Tool) -> None:
    text = text_of(admin_client.get(page("tool", tool)))
    assert '<span class="mcp-mark mcp-good">served</span>' in text
    assert "scope orders:read" in text


@pytest.mark.parametrize(
    ("changes", "word", "reason"),
    [
        ({"available": False}, "retired", "No manifest offers it at present."),
        ({"available": False, "problem": "/listen/0: no class."}, "refused", "/listen/0: no class."),
        ({"enabled": False}, "off", "It is switched off here"),
        ({"visibility": "off"}, "off", "visibility is “off”"),
        ({"name": "elsewhere"}, "unreachable", "No sound listener is left"),
    ],
)
@pytest.mark.parametrize("on_the_list", [True, False])
def test_a_tool_that_is_not_served_says_why(
    admin_client: Browser,
    page: Page,
    tool: Tool,
    changes: dict[str, Any],
    word: str,
    reason: str,
    on_the_list: bool,
) -> None:
    Tool.objects.filter(pk=tool.pk).update(**changes)
    text = text_of(admin_client.get(page("tool") if on_the_list else page("tool", tool)))
    assert f">{word}</span>" in text
    assert reason in text


def test_its_page_tells_what_the_drift_page_tells_of_it_and_nothing_of_others(
    admin_client: Browser, page: Page, tool: Tool, refused: Listener
) -> None:
    Tool.objects.filter(pk=tool.pk).update(output_schema='{"type": "object", "properties": {"number": {}}}')
    text = text_of(admin_client.get(page("tool", tool)))
    assert "Responses that may hold more than their schema says" in text
    assert "Open objects in the response schema: the root." in text
    assert "lost-order" not in text
    Tool.objects.filter(pk=tool.pk).update(output_schema='{"type": "object", "additionalProperties": false}')
    assert "Nothing to point out." in text_of(admin_client.get(page("tool", tool)))


def test_its_page_tells_why_its_listener_is_refused_and_which_is_shadowed(
    admin_client: Browser, page: Page, tool: Tool, listener: Listener, module: Module
) -> None:
    copy = {"module": module, "event": tool.name, "class_name": "a.B", "method": "c", "origins": ["mcp"]}
    Listener.objects.create(**copy, identity="2", position=2, response_schema=tool.output_schema)
    Listener.objects.create(**copy, identity="3", position=3, problem="Class not found: a.B.")
    text = text_of(admin_client.get(page("tool", tool)))
    assert "shop, entry 0, with priority 0.5 comes first" in text
    assert "listener find-order (shop, entry 2)" in text
    assert "Class not found: a.B." in text


def test_a_tool_whose_scope_is_disabled_is_shown_as_closed(
    admin_client: Browser, page: Page, tool: Tool, scope: Scope
) -> None:
    Scope.objects.filter(pk=scope.pk).update(enabled=False)
    text = text_of(admin_client.get(page("tool", tool)))
    assert ">closed</span>" in text
    assert "No token can carry the scope orders:read" in text


def test_a_tool_whose_right_nobody_answers_for_is_shown_as_closed(
    admin_client: Browser, page: Page, tool: Tool, listener: Listener
) -> None:
    Listener.objects.filter(pk=listener.pk).update(right="friend of mine")
    text = text_of(admin_client.get(page("tool", tool)))
    assert ">closed</span>" in text
    assert "Nobody holds the right “friend of mine”" in text


def test_a_tool_without_rights_is_open_to_anyone(
    admin_client: Browser, page: Page, tool: Tool, listener: Listener
) -> None:
    Listener.objects.filter(pk=listener.pk).update(right="")
    assert "nothing: anyone may" in text_of(admin_client.get(page("tool", tool)))


def test_a_required_scope_adds_to_what_a_call_needs(
    admin_client: Browser, page: Page, tool: Tool, scope: Scope
) -> None:
    second = Scope.objects.create(name="orders:admin", description="Manage orders")
    admin_client.post(page("tool", tool), form(tool, required_scopes=[second.pk]))
    assert snapshot().tools["find-order"].rights == ("oauth2:scope orders:read", "oauth2:scope orders:admin")
    assert "scope orders:admin" in text_of(admin_client.get(page("tool")))


def test_a_call_shows_the_listeners_it_reaches_and_the_refused_ones_of_its_event(
    admin_client: Browser, page: Page, tool: Tool, module: Module
) -> None:
    Listener.objects.create(
        module=module,
        event="find-order",
        class_name="\\Shop\\Audit",
        method="onFind",
        origins=["mcp"],
        identity="shop-audit",
        position=5,
        problem="No class Audit.",
    )
    text = text_of(admin_client.get(page("tool", tool)))
    assert "find-order → \\Shop\\Orders::onFind" in text
    assert "find-order → \\Shop\\Audit::onFind" in text
    assert "No class Audit." in text


def test_an_override_stands_beside_the_manifests_text_and_is_what_clients_get(
    admin_client: Browser, page: Page, tool: Tool
) -> None:
    admin_client.post(page("tool", tool), form(tool, title_override="Look up an order"))
    text = text_of(admin_client.get(page("tool", tool)))
    assert "Look up an order" in text
    assert "Find an order" in text
    assert snapshot().tools["find-order"].title == "Look up an order"
    tool.refresh_from_db()
    assert tool.title == "Find an order"


def test_an_emptied_override_gives_the_manifests_text_back(admin_client: Browser, page: Page, tool: Tool) -> None:
    Tool.objects.filter(pk=tool.pk).update(title_override="Other", description_override="Other")
    tool.refresh_from_db()
    admin_client.post(page("tool", tool), form(tool, title_override="", description_override=""))
    entry = snapshot().tools["find-order"]
    assert (entry.title, entry.description) == ("Find an order", "By number.")


def test_what_the_manifest_says_cannot_be_changed_here(admin_client: Browser, page: Page, tool: Tool) -> None:
    admin_client.post(page("tool", tool), form(tool, name="mine", title="Mine", description="Mine", input_schema="{}"))
    tool.refresh_from_db()
    assert (tool.name, tool.title, tool.description, tool.input_schema) == (
        "find-order",
        "Find an order",
        "By number.",
        "",
    )


def test_no_tool_is_added_or_deleted_here(admin_client: Browser, page: Page, tool: Tool) -> None:
    text = text_of(admin_client.get(page("tool")))
    assert page("tool", view="add") not in text
    assert "delete_selected" not in text
    assert "deletelink" not in text_of(admin_client.get(page("tool", tool)))
    assert admin_client.get(page("tool", view="add")).status_code == 403
    assert admin_client.post(page("tool", tool, "delete"), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize(("action", "on"), [("switch_off", False), ("switch_on", True)])
def test_tools_are_switched_by_the_list_and_it_is_logged(
    admin_client: Browser, page: Page, tool: Tool, action: str, on: bool
) -> None:
    Tool.objects.filter(pk=tool.pk).update(enabled=not on)
    before = Generation.current()
    response = admin_client.post(page("tool"), {"action": action, "_selected_action": [tool.pk]}, follow=True)
    assert f"1 tool was switched {'on' if on else 'off'}." in text_of(response)
    assert Generation.current() > before
    assert ("find-order" in snapshot().tools) is on
    assert LogEntry.objects.get().object_repr == "find-order"


def test_the_ready_made_group_may_tie_scopes_to_tools(staff: Staff, page: Page, tool: Tool, scope: Scope) -> None:
    staff().post(page("tool", tool), form(tool, required_scopes=[scope.pk]))
    assert list(tool.required_scopes.all()) == [scope]


def test_setting_the_manifests_right_aside_needs_its_own_permission(staff: Staff, page: Page, tool: Tool) -> None:
    browser = staff()
    assert 'value="administrator"' not in text_of(browser.get(page("tool", tool)))
    response = browser.post(page("tool", tool), form(tool, rights_from="administrator"))
    assert "Select a valid choice" in text_of(response)
    tool.refresh_from_db()
    assert tool.rights_from == Tool.RightsFrom.BOTH


def test_who_has_that_permission_may_where_scopes_take_the_rights_place(staff: Staff, page: Page, tool: Tool) -> None:
    write = Scope.objects.create(name="orders:write")
    staff("override_tool_rights").post(
        page("tool", tool), form(tool, rights_from="administrator", required_scopes=[write.pk])
    )
    assert snapshot().tools["find-order"].rights == ("oauth2:scope orders:write",)


@pytest.mark.parametrize("on", [True, False])
def test_nobody_opens_a_protected_tool_to_everyone_by_setting_its_right_aside(
    admin_client: Browser, page: Page, tool: Tool, on: bool
) -> None:
    Tool.objects.filter(pk=tool.pk).update(enabled=on)
    tool.refresh_from_db()
    text = text_of(admin_client.post(page("tool", tool), form(tool, rights_from="administrator")))
    assert "Without a required scope anyone could call “find-order”" in text
    assert "Choose the scopes that a call needs" in text
    tool.refresh_from_db()
    assert tool.rights_from == Tool.RightsFrom.BOTH


def test_a_tool_that_needs_no_right_may_have_its_rights_from_either(
    admin_client: Browser, page: Page, tool: Tool
) -> None:
    Listener.objects.update(right="")
    admin_client.post(page("tool", tool), form(tool, rights_from="administrator"))
    tool.refresh_from_db()
    assert tool.rights_from == Tool.RightsFrom.ADMINISTRATOR


def test_who_saves_a_tool_that_stands_open_is_told(staff: Staff, page: Page, tool: Tool) -> None:
    Tool.objects.filter(pk=tool.pk).update(rights_from=Tool.RightsFrom.ADMINISTRATOR)
    response = staff().post(page("tool", tool), form(tool), follow=True)
    assert "Anyone may call “find-order” now" in text_of(response)


def test_where_the_required_scopes_are_all_that_guards_a_tool_only_that_permission_may_take_them_off(
    staff: Staff, page: Page, tool: Tool, scope: Scope
) -> None:
    Tool.objects.filter(pk=tool.pk).update(rights_from=Tool.RightsFrom.ADMINISTRATOR)
    tool.required_scopes.add(scope)
    staff().post(page("tool", tool), {"enabled": "on", "title_override": "", "description_override": ""})
    tool.refresh_from_db()
    assert tool.rights_from == Tool.RightsFrom.ADMINISTRATOR
    assert list(tool.required_scopes.all()) == [scope]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?enabled__exact=1", True),
        ("?enabled__exact=0", False),
        ("?scopes=none", True),
        ("?scopes=some", False),
        ("?q=number", True),
        ("?q=nothing-like-it", False),
    ],
)
def test_tools_are_found_by_filter_and_search(
    admin_client: Browser, page: Page, tool: Tool, query: str, found: bool
) -> None:
    assert (page("tool", tool) in text_of(admin_client.get(page("tool") + query))) is found


def test_the_list_takes_no_more_queries_for_more_tools(
    admin_client: Browser, page: Page, tool: Tool, module: Module, django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        Tool.objects.create(name=f"other-{number}", listener=tool.listener)
    with django_assert_max_num_queries(25):
        admin_client.get(page("tool"))


def test_icons_are_pictures_where_nobody_else_is_asked_for_them(
    admin_client: Browser, page: Callable[..., str], tool: Tool
) -> None:
    inline = f"data:image/svg+xml;base64,{'PHN2' * 20}"
    sources = [inline, "/static/shop/bag.svg", "https://elsewhere.example/bag.png", "data:text/html;base64,PHN2"]
    Tool.objects.update(extras=json.dumps({"icons": [{"src": src, "theme": "dark"} for src in sources]}))
    text = admin_client.get(page("tool", tool)).content.decode()
    assert [found for found in sources if f'src="{found}"' in text] == sources[:2]
    assert "not shown: it is at https://elsewhere.example/bag.png" in text
    # A browser would read it as //elsewhere.example/bag.png.
    Tool.objects.update(extras=json.dumps({"icons": [{"src": "/\t/elsewhere.example/bag.png"}]}))
    assert '<img class="mcp-icon' not in admin_client.get(page("tool", tool)).content.decode()
    # The JSON text does not repeat a whole file.
    assert text.count("PHN2" * 20) == 1


def test_a_tool_says_how_its_call_runs(
    admin_client: Browser, page: Callable[..., str], tool: Tool, listener: Listener
) -> None:
    def told() -> str:
        return admin_client.get(page("tool", tool)).content.decode()

    text = told()
    assert "It runs while the client waits" in text
    assert "It runs in one transaction" in text
    assert "It needs a client" not in text
    Listener.objects.update(task="required", atomic=False, needs=["elicitation.form"], single_use=True)
    Module.objects.update(version="2")
    text = told()
    for shown in (
        "only for clients that know tasks",
        "without a transaction",
        "It needs a client that can do: elicitation.form.",
        "Answers to its questions count once.",
    ):
        assert shown in text
