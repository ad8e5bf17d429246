"""tools/list: order, fields per version, pages, caching hints, prebuilt bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from mcp_gateway.models import Endpoint, Tool
from tests.demo import TOOLS, Demo
from tests.wire import LEGACY, Wire, issue_token

ICONS = [{"src": "https://example.com/icon.png", "mimeType": "image/png"}]
EXTRAS = {"annotations": {"readOnlyHint": True}, "icons": ICONS, "_meta": {"com.example/x": 1}}


def names(answer: Any) -> list[str]:
    return [tool["name"] for tool in answer.result["tools"]]


def tool_of(answer: Any, name: str) -> dict[str, Any]:
    tools: list[dict[str, Any]] = answer.result["tools"]
    return next(tool for tool in tools if tool["name"] == name)


def page_size(settings: Any, size: int) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PAGE_SIZE": size}


def test_tools_come_in_the_order_of_their_names(wire: Wire, demo: Demo, era: str) -> None:
    for name in ("Zebra", "_x", "a.b", "B"):
        demo.add(name, lambda event: {})
    assert names(wire.request(era, "tools/list")) == sorted([*TOOLS, "Zebra", "_x", "a.b", "B"])


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        ("2026-07-28", {"title", "outputSchema", "annotations", "icons", "_meta"}),
        ("2025-11-25", {"title", "outputSchema", "annotations", "icons", "_meta"}),
        ("2025-06-18", {"title", "outputSchema", "annotations", "_meta"}),
        ("2025-03-26", {"annotations"}),
    ],
)
def test_a_version_gets_the_fields_it_knows(wire: Wire, demo: Demo, version: str, fields: set[str]) -> None:
    demo.add("full", lambda event: {}, tool={"title": "Full", "description": "It is.", "extras": json.dumps(EXTRAS)})
    answer = wire.modern("tools/list") if version == "2026-07-28" else wire.legacy("tools/list", version=version)
    tool = tool_of(answer, "full")
    assert set(tool) == {"name", "description", "inputSchema", *fields}
    assert {name: tool[name] for name in fields & set(EXTRAS)} == {name: EXTRAS[name] for name in fields & set(EXTRAS)}


def test_a_tool_without_request_schema_takes_any_object(wire: Wire, era: str) -> None:
    assert tool_of(wire.request(era, "tools/list"), "demo-ping")["inputSchema"] == {"type": "object"}


@pytest.mark.parametrize("properties", [{}, {"_": {"type": "null"}}])
def test_an_empty_object_stays_an_object(wire: Wire, demo: Demo, era: str, properties: dict[str, Any]) -> None:
    demo.add("empty", lambda event: {}, request={"type": "object", "properties": properties})
    answer = wire.request(era, "tools/list")
    assert tool_of(answer, "empty")["inputSchema"] == {"type": "object", "properties": properties}
    assert b'"properties":[]' not in answer.body.replace(b" ", b"")


def test_a_schema_goes_out_keyword_for_keyword(wire: Wire, demo: Demo) -> None:
    tool = demo.add("verbatim", lambda event: {})
    tool.input_schema = (
        '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"z":{"minimum":1.0},'
        '"a":{"maximum":123456789012345678901234567890}},"x-unknown":{"b":1,"a":[]},"allOf":[{"if":{},"then":{}}]}'
    )
    tool.save()
    assert tool.input_schema.encode() in wire.modern("tools/list").body


def test_the_legacy_era_lists_only_output_schemas_of_objects(wire: Wire) -> None:
    legacy = wire.legacy("tools/list")
    assert "outputSchema" in tool_of(legacy, "demo-echo")
    assert "outputSchema" not in tool_of(legacy, "demo-rows")
    assert "outputSchema" not in tool_of(legacy, "demo-null")
    assert "outputSchema" not in tool_of(legacy, "demo-any")
    modern = wire.modern("tools/list")
    assert all("outputSchema" in tool for tool in modern.result["tools"])


def test_boolean_properties_of_a_root_become_objects_in_the_legacy_era(wire: Wire, demo: Demo) -> None:
    schema = {"type": "object", "properties": {"any": True, "none": False, "deep": {"properties": {"x": True}}}}
    demo.add("booleans", lambda event: {}, request=schema, response=schema)
    modern = tool_of(wire.modern("tools/list"), "booleans")
    assert modern["inputSchema"] == modern["outputSchema"] == schema
    legacy = tool_of(wire.legacy("tools/list"), "booleans")
    expected = {**schema, "properties": {"any": {}, "none": {"not": {}}, "deep": {"properties": {"x": True}}}}
    assert legacy["inputSchema"] == legacy["outputSchema"] == expected


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 1000])
def test_pages_hold_every_tool_once(wire: Wire, era: str, settings: Any, size: int) -> None:
    page_size(settings, size)
    seen: list[str] = []
    params: dict[str, Any] = {}
    pages = 0
    while True:
        answer = wire.request(era, "tools/list", params)
        seen += names(answer)
        pages += 1
        if "nextCursor" not in answer.result:
            break
        params = {"cursor": answer.result["nextCursor"]}
    assert seen == sorted(TOOLS)
    assert pages == -(-len(TOOLS) // size)


def test_a_cursor_stays_good_when_the_tools_change(wire: Wire, demo: Demo, settings: Any) -> None:
    page_size(settings, 3)
    first = wire.modern("tools/list")
    Tool.objects.get(name=names(first)[-1]).delete()
    demo.add("demo-zz", lambda event: {})
    page_size(settings, 100)
    rest = names(wire.modern("tools/list", {"cursor": first.result["nextCursor"]}))
    assert rest == [*sorted(TOOLS)[3:], "demo-zz"]


def test_a_forged_foreign_or_empty_cursor_is_invalid(wire: Wire, era: str, settings: Any) -> None:
    page_size(settings, 2)
    own = wire.request(era, "tools/list").result["nextCursor"]
    Endpoint.objects.create(slug="other")
    foreign = Wire(path="/mcp/other").request(era, "tools/list").result["nextCursor"]
    for cursor in ("", "x", own + "x", own[1:], own.swapcase(), foreign, 5, [own], {"a": 1}, True):
        answer = wire.request(era, "tools/list", {"cursor": cursor})
        assert answer.code == -32602, cursor
        assert answer.status == (400 if era == "modern" else 200)


def test_caching_hints_are_public_on_an_open_endpoint_and_private_behind_a_token(wire: Wire) -> None:
    user = get_user_model().objects.create_user("ann")
    result = wire.modern("tools/list").result
    assert (result["ttlMs"], result["cacheScope"]) == (0, "public")
    Endpoint.objects.update(access=Endpoint.Access.TOKEN)
    wire.token = issue_token(user, "mcp:tools")
    assert wire.modern("tools/list").result["cacheScope"] == "private"
    assert wire.modern("server/discover").result["cacheScope"] == "private"
    assert "ttlMs" not in wire.legacy("tools/list").result


def test_an_unlisted_tool_is_callable_and_never_listed(wire: Wire, demo: Demo, era: str) -> None:
    demo.add("demo-unlisted", lambda event: {}, tool={"visibility": "unlisted"})
    assert "demo-unlisted" not in names(wire.request(era, "tools/list"))
    assert wire.call(era, "demo-unlisted").result["isError"] is False


def test_an_authorized_tool_exists_only_for_those_who_may_call_it(
    wire: Wire, demo: Demo, era: str, settings: Any
) -> None:
    page_size(settings, 3)
    demo.add("demo-b", lambda event: {}, right="oauth2:scope mcp:tools", tool={"visibility": "authorized"})
    user = get_user_model().objects.create_user("ann")

    def every_name(client: Wire) -> list[str]:
        found: list[str] = []
        params: dict[str, Any] = {}
        while True:
            answer = client.request(era, "tools/list", params)
            assert answer.result.get("cacheScope", "private") == "private"
            found += names(answer)
            if "nextCursor" not in answer.result:
                return found
            params = {"cursor": answer.result["nextCursor"]}

    assert every_name(wire) == sorted(TOOLS)
    unknown = wire.call(era, "demo-nope")
    hidden = wire.call(era, "demo-b")
    assert (hidden.status, hidden.code) == (unknown.status, unknown.code)
    assert hidden.error["message"] == unknown.error["message"].replace("demo-nope", "demo-b")
    member = Wire(token=issue_token(user, "mcp:tools"))
    assert every_name(member) == sorted([*TOOLS, "demo-b"])
    assert member.call(era, "demo-b").result["isError"] is False


def test_what_an_administrator_writes_is_listed(wire: Wire, demo: Demo, era: str) -> None:
    tool = demo.add("demo-titled", lambda event: {}, tool={"title": "Old", "description": "Old."})
    assert tool_of(wire.request(era, "tools/list"), "demo-titled")["description"] == "Old."
    tool.title_override, tool.description_override = "New", "New."
    tool.save()
    listed = tool_of(wire.request(era, "tools/list"), "demo-titled")
    assert (listed["title"], listed["description"]) == ("New", "New.")


def test_a_list_is_one_statement(wire: Wire, era: str, django_assert_num_queries: Any) -> None:
    wire.request(era, "tools/list")
    with django_assert_num_queries(1):
        wire.request(era, "tools/list")


def test_a_list_with_a_token_is_one_statement(wire: Wire, era: str, django_assert_num_queries: Any) -> None:
    wire.token = issue_token(get_user_model().objects.create_user("ann"), "mcp:tools")
    wire.request(era, "tools/list")
    with django_assert_num_queries(1):
        wire.request(era, "tools/list")


def test_listing_touches_no_handler(wire: Wire, demo: Demo, era: str) -> None:
    demo.add("demo-broken", lambda event: {})
    listener = demo.module.listeners.get(event="demo-broken")
    listener.class_name = "tests.nowhere.Missing"
    listener.save()
    assert "demo-broken" in names(wire.request(era, "tools/list"))
    answer = wire.call(era, "demo-broken")
    assert answer.result["isError"] is True
    assert "nowhere" not in answer.text


@pytest.mark.parametrize("version", LEGACY)
def test_legacy_lists_carry_nothing_of_the_modern_era(wire: Wire, version: str) -> None:
    assert set(wire.legacy("tools/list", version=version).result) == {"tools"}
