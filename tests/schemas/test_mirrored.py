"""x-mcp-header at import: a tool that clients would have to leave out is refused (server/tools, “x-mcp-header”)."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gateway.schemas import Role, SchemaRefused, mirrored_parameters
from tests.schemas.test_prepare import AT, notes, prepared, refusal


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def mirrored(name: Any, kind: Any = "string", **more: Any) -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name, **more}


@pytest.mark.parametrize(
    "schema",
    [
        closed(a=mirrored("Region"), b=mirrored("Count", "integer"), c=mirrored("Dry-Run", "boolean")),
        closed(a=closed(b=closed(c=mirrored("Deep")))),
        closed(a=mirrored("!#$%&'*+-.^`|~0Az")),
        # A property of that name, and values of that name, are no annotations.
        closed(
            **{"x-mcp-header": {"type": "object", "default": {"x-mcp-header": "a b"}, "additionalProperties": True}}
        ),
        closed(a={"type": "string", "const": "x", "examples": [{"x-mcp-header": 5}]}),
    ],
)
def test_sound_annotations_pass(schema: Any) -> None:
    assert notes(schema, Role.REQUEST) == {}


@pytest.mark.parametrize(
    ("schema", "pointer", "said"),
    [
        (closed(a=mirrored("")), "/properties/a", "cannot be part of a header's name"),
        (closed(a=mirrored("a b")), "/properties/a", "RFC 9110"),
        (closed(a=mirrored("Région")), "/properties/a", "letters, digits and hyphens"),
        (closed(a=mirrored("a\r\nX-Evil: 1")), "/properties/a", "RFC 9110"),
        (closed(a=mirrored("Region\n")), "/properties/a", "RFC 9110"),
        (closed(a=mirrored("a:b")), "/properties/a", "RFC 9110"),
        (closed(a=mirrored(5)), "/properties/a", "is 5"),
        (closed(a=mirrored(True)), "/properties/a", "is true"),
        (closed(a=mirrored("Price", "number")), "/properties/a", 'the type is "number"'),
        (closed(a=mirrored("A", "array", items={"type": "string"})), "/properties/a", 'the type is "array"'),
        (closed(a=mirrored("A", ["string", "null"])), "/properties/a", "belongs to a string, an integer or a boolean"),
        (closed(a={"x-mcp-header": "A"}), "/properties/a", "it names no type"),
        ({**closed(), "x-mcp-header": "A"}, "", "“properties” alone lead to"),
        (closed(a={"type": "array", "items": mirrored("A")}), "/properties/a/items", "not “items”"),
        (closed(a={"anyOf": [mirrored("A"), {"type": "null"}]}), "/properties/a/anyOf/0", "alternatives"),
        (closed(a={"not": mirrored("A")}), "/properties/a/not", "alternatives"),
        ({**closed(), "additionalProperties": mirrored("A")}, "/additionalProperties", "Move the property"),
        (
            {"type": "object", "if": {"properties": {"a": mirrored("A")}}, "then": {"required": ["a"]}},
            "/if/properties/a",
            "conditions",
        ),
        (
            {**closed(a={"$ref": "#/$defs/region"}), "$defs": {"region": mirrored("Region")}},
            "/$defs/region",
            "“$ref”",
        ),
    ],
)
def test_annotations_that_clients_must_refuse_are_refused_with_their_pointer(
    schema: Any, pointer: str, said: str
) -> None:
    file, at, message = refusal(schema, role=Role.REQUEST)
    assert (file, at) == ("module://demo/zolinga.json", f"{AT}{pointer}/x-mcp-header")
    assert said in message


@pytest.mark.parametrize("other", ["Region", "REGION", "region"])
def test_two_headers_of_one_name_are_refused(other: str) -> None:
    _file, at, message = refusal(closed(a=mirrored("Region"), b=closed(c=mirrored(other))), role=Role.REQUEST)
    assert at == f"{AT}/properties/b/properties/c/x-mcp-header"
    assert "taken by the annotation at /properties/a" in message


def test_a_hyphen_and_an_underscore_are_one_name_to_a_server() -> None:
    assert "taken by" in refusal(closed(a=mirrored("A-B"), b=mirrored("A_B")), role=Role.REQUEST)[2]


def test_every_fault_is_told() -> None:
    with pytest.raises(SchemaRefused) as refused:
        prepared(closed(a=mirrored(""), b=mirrored("B", "number"), c=mirrored("C")), role=Role.REQUEST)
    assert len(refused.value.problems) == 2


def test_an_annotation_of_another_file_is_found() -> None:
    files = {"module://demo/region.json": mirrored("Region")}
    schema = closed(a={"$ref": "module://demo/region.json"})
    assert "“$ref”" in refusal(schema, files, Role.REQUEST)[2]


@pytest.mark.parametrize(
    ("properties", "at", "said"),
    [
        ({"a": mirrored("A_B")}, "/properties/a/x-mcp-header", "Write a hyphen"),
        ({"apiKey": mirrored("A")}, "/properties/apiKey/x-mcp-header", "Do not mirror secrets"),
        ({"a": mirrored("Session-Token")}, "/properties/a/x-mcp-header", "Do not mirror secrets"),
    ],
)
def test_what_is_unwise_is_remarked_on(properties: Any, at: str, said: str) -> None:
    assert said in notes(closed(**properties), Role.REQUEST)[at]


def test_in_a_response_the_keyword_means_nothing() -> None:
    assert notes(closed(a=mirrored("a b", "number")), Role.RESPONSE) == {}


def test_only_sound_annotations_are_mirrored() -> None:
    schema = closed(
        a=mirrored("Region"), b=closed(c=mirrored("Deep", "integer")), d=mirrored("a b"), e=mirrored("E", "number")
    )
    assert mirrored_parameters(schema) == {"Region": ("a",), "Deep": ("b", "c")}
