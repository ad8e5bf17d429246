"""The handed cases of ``json-schema.json`` on the import's side; what goes over HTTP is in ``tests/protocol``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway import registry
from mcp_gateway.registry import ToolEntry
from mcp_gateway.schemas import validator
from tests.manifest.samples import FILES, messages, of, tool

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]
Listed = Callable[..., tuple[dict[str, ToolEntry], dict[str, Any]]]


@pytest.fixture
def listed(write_module: Write, import_manifests: Import) -> Listed:
    """Import tools with these request schemas (and a healthy one) and give back what is callable, and the report."""

    def run(**requests: Any) -> tuple[dict[str, ToolEntry], dict[str, Any]]:
        schemas = {f"schema/{name}.json": schema for name, schema in requests.items()}
        listen = [tool("healthy")] + [
            tool(
                name,
                schema={"request": f"module://demo/schema/{name}.json", "response": "module://demo/schema/o.json"},
            )
            for name in requests
        ]
        write_module({"listen": listen}, {**FILES, **schemas})
        report = import_manifests()
        tools = dict(registry.snapshot().tools)
        assert "healthy" in tools
        return tools, report

    return run


def test_SCH_01_an_empty_list_of_properties_is_an_object(listed: Listed) -> None:
    tools, report = listed(noargs={"type": "object", "properties": []})
    assert json.loads(tools["noargs"].input_schema) == {"type": "object", "properties": {}}
    assert "is kept as {}" in messages(report["warnings"], name="noargs", file="schema/noargs.json")


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "array", "items": {"type": "string"}}])
def test_SCH_03_arguments_are_always_an_object(listed: Listed, schema: dict[str, Any]) -> None:
    tools, report = listed(bad=schema)
    assert "bad" not in tools
    (refused,) = of(report["refused"], kind="tool", name="bad")
    assert (refused["file"], refused["pointer"]) == ("schema/bad.json", "/type")


def test_SCH_05_a_schema_may_refer_to_itself(write_module: Write, import_manifests: Import) -> None:
    node = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    tree = {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    write_module({"listen": [tool("tree", schema={"response": tree})]}, FILES)
    import_manifests()
    stored = registry.snapshot().tools["tree"].output_schema
    assert json.loads(stored) == tree
    assert validator(stored).faults({"root": {"kids": [{"kids": [{}]}]}}) == []


@pytest.mark.parametrize("uri", ["http://169.254.169.254/s.json", "file:///etc/hostname"])
def test_SCH_07_no_reference_leaves_the_modules(listed: Listed, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*arguments: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    tools, report = listed(away={"type": "object", "properties": {"x": {"$ref": uri}}})
    assert "away" not in tools
    (refused,) = of(report["refused"], name="away", file="schema/away.json", pointer="/properties/x/$ref")
    assert "not local" in refused["message"]


def test_SCH_09_a_draft_07_schema_stays_draft_07(listed: Listed) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "p": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False}
        },
    }
    tools, report = listed(tuple=schema)
    stored = tools["tuple"].input_schema
    assert json.loads(stored) == schema
    assert validator(stored).faults({"p": ["a", 1]}) == []
    assert {fault.pointer for fault in validator(stored).faults({"p": [1, "a"]})} == {"/p/0", "/p/1"}
    assert "draft-07" in messages(report["warnings"], name="tuple", pointer="/$schema")


def test_SCH_13_nullable_is_pointed_out_and_means_nothing(listed: Listed) -> None:
    schema = {
        "type": "object",
        "properties": {"q": {"type": ["string", "null"]}, "r": {"type": "string", "nullable": True}},
    }
    tools, report = listed(null=schema)
    stored = tools["null"].input_schema
    assert json.loads(stored) == schema
    assert validator(stored).faults({"q": None}) == []
    assert [fault.pointer for fault in validator(stored).faults({"r": None})] == ["/r"]
    assert "OpenAPI" in messages(report["warnings"], name="null", pointer="/properties/r/nullable")


def test_SCH_15_loose_types_are_listed_unchanged_with_a_warning(listed: Listed) -> None:
    schema = {"type": "object", "properties": {"tags": {"type": "array"}, "opts": {"type": "object"}}}
    tools, report = listed(loose=schema)
    assert json.loads(tools["loose"].input_schema) == schema
    assert of(report["warnings"], name="loose", pointer="/properties/tags")
    assert of(report["warnings"], name="loose", pointer="/properties/opts")


def test_SCH_17_formats_are_asserted(listed: Listed) -> None:
    tools, _report = listed(day={"type": "object", "properties": {"day": {"type": "string", "format": "date"}}})
    (fault,) = validator(tools["day"].input_schema).faults({"day": "not-a-day"})
    assert fault.pointer == "/day"


def test_placeholders_for_no_arguments_stay_objects(listed: Listed) -> None:
    placeholder = {"type": "object", "properties": {"_": {"type": "null"}}, "additionalProperties": False}
    empty: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    tools, _report = listed(placeholder=placeholder, empty=empty)
    assert json.loads(tools["placeholder"].input_schema) == placeholder
    assert tools["empty"].input_schema == '{"type":"object","properties":{},"additionalProperties":false}'
