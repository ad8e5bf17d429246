"""From a folder with a manifest to the wire: what is listed, what a call does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.models import Scope, Tool
from tests.wire import Wire

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]

HANDLER = """
from mcp_gateway.events import CallEvent, Status, Text


class Handler:
    def on(self, event: CallEvent) -> None:
        event.response = {"got": event.request}
        event.set_status(Status.OK, "OK")

    def low(self, event: CallEvent) -> None:
        event.response = {"order": [*event.response.get("order", []), "low"]}
        event.set_status(Status.OK, "OK")

    def high(self, event: CallEvent) -> None:
        event.response = {"order": [*event.response.get("order", []), "high"]}
        event.set_status(Status.OK, "OK")

    def tree(self, event: CallEvent) -> object:
        return {"root": {"kids": [{"kids": [{"kids": []}]}]}}

    def shown(self, event: CallEvent) -> None:
        event.content.append(Text("Hello"))
        event.set_status(Status.OK, "OK")

    def rows(self, event: CallEvent) -> object:
        return [{"id": 1}]
"""

OBJECT = {"type": "object"}


def entry(event: str, request: Any = None, response: Any = OBJECT, **keys: Any) -> dict[str, Any]:
    schema = {"response": response} if request is None else {"request": request, "response": response}
    return {
        "event": event, "class": "\\Demo\\Handler", "method": "on", "origin": ["mcp"], "description": "x",
        "schema": schema, **keys,
    }  # fmt: skip


@pytest.fixture
def publish(write_module: Write, import_manifests: Import) -> Callable[..., dict[str, Any]]:
    """Write the demo module with these listeners and import it."""

    def run(*listen: dict[str, Any], files: dict[str, Any] | None = None) -> dict[str, Any]:
        write_module(
            {"name": "Demo", "version": "1.0", "listen": list(listen)}, {"handler.py": HANDLER, **(files or {})}
        )
        return import_manifests()

    return run


def tools(era: str) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in Wire().request(era, "tools/list").result["tools"]}


def test_an_empty_php_array_is_an_object_on_the_wire(publish: Any, era: str) -> None:
    publish(entry("demo-noargs", {"type": "object", "properties": []}), entry("healthy"))
    listed = tools(era)
    assert listed["demo-noargs"]["inputSchema"]["properties"] == {}
    assert "healthy" in listed
    assert Wire().call(era, "demo-noargs", {}).result["isError"] is False


def test_a_schema_that_is_no_object_takes_only_its_own_tool_down(publish: Any, era: str) -> None:
    publish(entry("bad-string", {"type": "string"}), entry("bad-array", {"type": "array"}), entry("healthy"))
    assert {"bad-string", "bad-array", "healthy"} & set(tools(era)) == {"healthy"}
    assert Wire().call(era, "bad-string", {}).code == -32602


def test_a_schema_may_refer_to_itself(publish: Any, era: str) -> None:
    node = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    publish(entry("demo-tree", response="module://demo/schema/t.json", method="tree"), files={"schema/t.json": schema})
    assert tools(era)["demo-tree"]["outputSchema"] == schema
    assert Wire().call(era, "demo-tree").result["isError"] is False


@pytest.mark.parametrize("uri", ["http://169.254.169.254/s.json", "file:///etc/hostname"])
def test_a_reference_out_of_the_module_takes_only_its_own_tool_down(publish: Any, era: str, uri: str) -> None:
    publish(entry("demo-ssrf", {"type": "object", "properties": {"x": {"$ref": uri}}}), entry("healthy"))
    assert {"demo-ssrf", "healthy"} & set(tools(era)) == {"healthy"}
    assert Wire().call(era, "demo-ssrf", {"x": 1}).code == -32602


def test_arguments_are_judged_in_the_schemas_own_dialect(publish: Any, era: str) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "p": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False}
        },
    }
    publish(entry("demo-tuple", schema))
    assert tools(era)["demo-tuple"]["inputSchema"] == schema
    assert Wire().call(era, "demo-tuple", {"p": ["a", 1]}).result["isError"] is False
    refused = Wire().call(era, "demo-tuple", {"p": [1, "a"]})
    assert refused.result["isError"] is True
    assert "/p/0" in refused.text


def test_an_array_is_text_alone_in_the_legacy_era(publish: Any) -> None:
    publish(entry("demo-rows", response={"type": "array", "items": OBJECT}, method="rows"))
    assert "outputSchema" not in tools("legacy")["demo-rows"]
    legacy = Wire().call("legacy", "demo-rows")
    assert "structuredContent" not in legacy.result
    assert json.loads(legacy.text) == [{"id": 1}]
    assert Wire().call("modern", "demo-rows").result["structuredContent"] == [{"id": 1}]


def test_a_response_schema_that_is_null_makes_a_tool_of_content_alone(publish: Any, era: str) -> None:
    report = publish(
        entry("shown", response=None, method="shown"), entry("any", response=None, method="shown", origin=["*"])
    )
    assert report["refused"] == []
    for name in ("shown", "any"):
        assert "outputSchema" not in tools(era)[name]
        result = Wire().call(era, name).result
        assert result["content"] == [{"type": "text", "text": "Hello"}]
        assert "structuredContent" not in result
    publish(entry("shown", method="shown"), entry("any", response=None, method="shown", origin=["*"]))
    assert "outputSchema" in tools(era)["shown"]


def test_null_is_a_type_and_nullable_is_not(publish: Any, era: str) -> None:
    properties = {"q": {"type": ["string", "null"]}, "r": {"type": "string", "nullable": True}}
    publish(entry("demo-null", {"type": "object", "properties": properties}))
    assert tools(era)["demo-null"]["inputSchema"]["properties"] == properties
    assert Wire().call(era, "demo-null", {"q": None}).result["isError"] is False
    assert Wire().call(era, "demo-null", {"r": None}).result["isError"] is True


def test_formats_are_asserted(publish: Any, era: str) -> None:
    publish(entry("demo-day", {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}))
    assert Wire().call(era, "demo-day", {"day": "2026-11-30"}).result["isError"] is False
    refused = Wire().call(era, "demo-day", {"day": "not-a-day"})
    assert refused.result["isError"] is True
    assert "/day" in refused.text


def test_the_listener_of_higher_priority_describes_and_runs_first(publish: Any, era: str) -> None:
    publish(
        entry("dup", description="low", method="low", priority=0.1),
        entry("dup", description="high", method="high", priority=0.9),
    )
    assert tools(era)["dup"]["description"] == "high"
    assert json.loads(Wire().call(era, "dup").text) == {"order": ["high", "low"]}


def test_a_removed_tool_is_unknown_and_comes_back_with_its_settings(publish: Any, era: str) -> None:
    publish(entry("a"), entry("b"))
    assert Wire().call(era, "b").result["isError"] is False
    Tool.objects.get(name="b").required_scopes.add(Scope.objects.get(name="mcp:tools"))
    publish(entry("a"))
    assert "b" not in tools(era)
    assert Wire().call(era, "b").code == -32602
    publish(entry("a"), entry("b"))
    assert Wire().call(era, "b").status == 401


def test_a_schema_that_left_the_disk_is_served_until_the_next_import(
    publish: Any, module_dir: Path, import_manifests: Import, era: str
) -> None:
    schema = {"type": "object", "properties": {"got": OBJECT}}
    publish(entry("demo", response="module://demo/o.json"), entry("other"), files={"o.json": schema})
    (module_dir / "demo" / "o.json").unlink()
    assert tools(era)["demo"]["outputSchema"] == schema
    assert Wire().call(era, "demo").result["isError"] is False
    import_manifests()
    assert "demo" not in tools(era)
    assert Wire().call(era, "demo").code == -32602


def test_only_literal_names_with_the_origin_become_tools(publish: Any, era: str) -> None:
    publish(
        entry("demo-*"),
        entry("mcp:tools/list"),
        entry("any", origin=["*"]),
        entry("text", origin="mcp"),
        entry("nowhere", origin=[]),
        entry("remote", origin=["remote"]),
    )
    names = {"demo-*", "demo-x", "mcp:tools/list", "any", "text", "nowhere", "remote"}
    assert names & set(tools(era)) == {"any", "text"}
    for name in names - {"any", "text"}:
        assert Wire().call(era, name).code == -32602


def test_names_are_neither_changed_nor_merged(publish: Any, era: str) -> None:
    publish(entry("cafe"), entry("a:b"), entry("a-b"), entry("café"), entry("数据"))
    assert {"cafe", "a:b", "a-b", "café", "数据"} & set(tools(era)) == {"cafe", "a:b", "a-b"}
    assert Wire().call(era, "a:b").result["isError"] is False
    # A name that a header cannot carry is sent encoded; it is unknown, not a mismatch.
    assert Wire().call(era, "café", headers={"Mcp-Name": "=?base64?Y2Fmw6k=?="}).code == -32602


def test_a_class_that_is_missing_takes_only_its_own_tool_down(publish: Any, era: str) -> None:
    publish(
        entry("noclass", **{"class": "\\Nope\\Missing"}),
        entry("nomethod", method="missing"),
        entry("private", method="_on"),
        entry("healthy"),
    )
    assert {"noclass", "nomethod", "private", "healthy"} & set(tools(era)) == {"healthy"}
    answer = Wire().call(era, "noclass")
    assert answer.code == -32602
    assert "Missing" not in answer.body.decode()


def test_what_a_listener_says_of_itself_is_passed_on(publish: Any) -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://demo.example/r",
        "type": "object",
        "$comment": "kept",
        "$defs": {"A": {"$anchor": "a", "type": "string"}},
        "properties": {"p": {"$ref": "#a"}},
        "x-vendor": {"k": 1},
    }
    annotations = {"readOnlyHint": True}
    publish(entry("rich", schema, title="Rich", annotations=annotations, _meta={"com.example/a": 1}))
    for era in ("modern", "legacy"):
        tool = tools(era)["rich"]
        assert tool["inputSchema"] == schema
        assert (tool["title"], tool["annotations"], tool["_meta"]) == ("Rich", annotations, {"com.example/a": 1})
        assert Wire().call(era, "rich", {"p": "x"}).result["isError"] is False
        assert Wire().call(era, "rich", {"p": 1}).result["isError"] is True


def test_a_modules_own_mcp_module_shadows_nothing(publish: Any, era: str) -> None:
    publish(
        entry("tool", **{"class": "\\Demo\\Mcp\\Handler"}),
        files={"mcp.py": HANDLER},
    )
    assert Wire().call(era, "tool").result["isError"] is False
    import mcp

    assert "site-packages" in str(mcp.__file__)
