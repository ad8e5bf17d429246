"""From what a manifest says to the schema text that is stored."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from mcp_gateway.schemas import Prepared, Refused, Role, SchemaRefused, prepare, validator

MANIFEST = "module://demo/zolinga.json"
AT = "/listen/0/schema/response"


def prepared(value: Any, files: dict[str, Any] | None = None, role: Role = Role.RESPONSE) -> Prepared:
    """Prepare a schema as an import does; ``files`` are the module's, by URI."""

    def read(uri: str) -> tuple[str, bytes]:
        try:
            content = (files or {})[uri]
        except KeyError:
            raise Refused(f"{uri} does not exist.") from None
        return uri, content if isinstance(content, bytes) else json.dumps(content).encode()

    return prepare(value, role, manifest=MANIFEST, pointer=AT, read=read)


def refusal(value: Any, files: dict[str, Any] | None = None, role: Role = Role.RESPONSE) -> tuple[str, str, str]:
    """File, pointer and message of the one problem a schema is refused for."""
    with pytest.raises(SchemaRefused) as refused:
        prepared(value, files, role)
    (problem,) = refused.value.problems
    return problem.file, problem.pointer, problem.message


def notes(value: Any, role: Role = Role.RESPONSE) -> dict[str, str]:
    """Remarks by pointer below the schema."""
    found: dict[str, str] = {}
    for note in prepared(value, role=role).notes:
        at = note.pointer.removeprefix(AT)
        found[at] = f"{found.get(at, '')} {note.message}".strip()
    return found


def test_keywords_are_kept_verbatim_and_in_order() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "x-first": {"b": 1, "a": [1.0, 10**30]},
        "type": "object",
        "properties": {"z": {}, "a": {"default": [], "examples": [{"$ref": "http://nowhere.example"}]}, "é": True},
        "$comment": "“kept”",
        "required": [],
        "$defs": {},
    }
    assert list(json.loads(prepared(schema).text).items()) == list(schema.items())
    assert prepared(schema).text == json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def test_empty_php_arrays_become_objects_where_an_object_belongs() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": []},
            "b": [],
            "c": {"type": "array", "items": []},
            "d": {"not": [], "default": [], "enum": [[]], "allOf": [[]]},
        },
        "$defs": [],
        "patternProperties": [],
        "required": [],
    }
    text = prepared(schema).text
    assert json.loads(text) == {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {}},
            "b": {},
            "c": {"type": "array", "items": {}},
            "d": {"not": {}, "default": [], "enum": [[]], "allOf": [{}]},
        },
        "$defs": {},
        "patternProperties": {},
        "required": [],
    }
    assert "/properties/a/properties" in notes(schema)
    assert "/$defs" in notes(schema)


@pytest.mark.parametrize(("schema", "stored"), [(True, "{}"), (False, '{"not":{}}'), ([], "{}")])
def test_a_root_that_is_no_object_is_repaired_with_a_note(schema: Any, stored: str) -> None:
    assert prepared(schema).text == stored
    assert "is kept as" in "".join(notes(schema).values())


def test_an_input_schema_without_a_type_gets_one() -> None:
    result = prepared({"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {}}, role=Role.REQUEST)
    assert list(json.loads(result.text)) == ["$schema", "type", "properties"]
    assert json.loads(result.text)["type"] == "object"
    assert "was added" in result.notes[0].message


@pytest.mark.parametrize("kind", ["string", "array", ["object"], ["object", "null"]])
def test_an_input_schema_whose_root_is_not_literally_an_object_is_refused(kind: Any) -> None:
    assert refusal({"type": kind}, role=Role.REQUEST)[1] == f"{AT}/type"


@pytest.mark.parametrize(
    ("schema", "pointer", "said"),
    [
        (5, "", "is an object, not 5"),
        (["x"], "", "is an object"),
        ("schema/o.json", "", "Write a module:// URI such as module://demo/schema/response.json"),
        ({"$schema": "https://x.example/"}, "/$schema", "unknown"),
        ({"$schema": 7}, "/$schema", "unknown"),
        ({"properties": {"a": {"type": "strin"}}}, "/properties/a/type", "meta-schema of 2020-12"),
        ({"properties": {"a": 3}}, "/properties/a", "must be boolean or object"),
        ({"required": "a"}, "/required", "must be array"),
        ({"items": [{"type": "string"}]}, "/items", "not array. Write “prefixItems”"),
        ({"properties": {"a": {"required": True}}}, "/properties/a/required", "in the list “required”"),
        ({"exclusiveMinimum": True}, "/exclusiveMinimum", "in place of “minimum”"),
        ({"exclusiveMaximum": False}, "/exclusiveMaximum", "in place of “maximum”"),
        ({"properties": {"items": [1]}}, "/properties/items", "not array."),
        ({"properties": {"a/b": {"pattern": "("}}}, "/properties/a~1b/pattern", "regex"),
        ({"$ref": "#/$defs/x"}, "/$ref", "leads nowhere"),
        ({"$ref": "#anchor"}, "/$ref", "leads nowhere"),
        ({"allOf": [{"$ref": "#/allOf/1"}]}, "/allOf/0/$ref", "leads nowhere"),
        ({"$ref": "#/x", "x": 5}, "/x", "no schema"),
        ({"properties": {"a": {"$ref": "http://x.example/s.json"}}}, "/properties/a/$ref", "never fetched"),
        ({"properties": {"a": {"$ref": "file:///etc/hostname"}}}, "/properties/a/$ref", "never fetched"),
        ({"properties": {"a": {"$ref": "//x.example/s"}}}, "/properties/a/$ref", "cannot be followed"),
        ({"$id": "https://x.example/s", "$ref": "t.json"}, "/$ref", "module://demo/t.json does not exist"),
        ({"$ref": "../../etc/passwd"}, "/$ref", "cannot be followed"),
        ({"$ref": "gone.json"}, "/$ref", "module://demo/gone.json does not exist"),
        ({"$ref": "#"}, "", "never ends"),
        ({"allOf": [{"anyOf": [{"$ref": "#/allOf/0"}]}]}, "/allOf/0", "never ends"),
        ({"if": {"$ref": "#"}}, "", "never ends"),
        ({"$ref": "#/x/y", "x": {"y": {"$ref": "#/x/y"}}}, "/x/y", "never ends"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "/$defs/a", "never ends"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_its_pointer(schema: Any, pointer: str, said: str) -> None:
    file, at, message = refusal(schema)
    assert (file, at) == (MANIFEST, AT + pointer)
    assert said in message
    assert ("prefixItems" in message) is ("prefixItems" in said)


@pytest.mark.parametrize(
    ("content", "pointer", "said"),
    [
        (b"{broken", "", "line 1 column 2"),
        (b"", "", "it is empty"),
        (b'{"type": "object", "type": "array"}', "", "more than once"),
        (b'{"maximum": NaN}', "/maximum", "NaN"),
        (b'{"maximum": 1e400}', "/maximum", "out of range"),
        (b'{"title": "\\ud800"}', "/title", "surrogate"),
        (b'{"type": "\xff"}', "", "UTF-8"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "/a" * 100, "too deep"),
        (b'{"title": "' + b"x" * 1024 * 1024 + b'"}', "", "at most 1048576"),
    ],
    ids=["broken", "empty", "duplicate", "NaN", "infinite", "surrogate", "latin-1", "deep", "large"],
)
def test_a_schema_file_is_read_strictly(content: bytes, pointer: str, said: str) -> None:
    uri = "module://demo/schema/o.json"
    file, at, message = refusal(uri, {uri: content})
    assert (file, at) == (uri, pointer)
    assert said in message


def test_a_schema_that_multiplies_work_is_refused() -> None:
    links = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**links, "d30": {}}}
    assert "judge one and the same value" in refusal(schema)[2]


def test_a_chain_of_references_without_end_is_refused() -> None:
    links = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(5000)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**links, "d5000": {}}}
    with pytest.raises(SchemaRefused):
        prepared(schema)


def test_a_large_schema_full_of_references_is_prepared_in_reasonable_time() -> None:
    properties = {f"p{n}": {"$ref": f"#/x/t{n % 500}" if n % 2 else f"#/$defs/t{n % 500}"} for n in range(8000)}
    types = {f"t{n}": {"type": "integer", "minimum": n} for n in range(500)}
    started = time.process_time()
    text = prepared({"type": "object", "properties": properties, "$defs": types, "x": types}).text
    assert time.process_time() - started < 10
    assert [fault.pointer for fault in validator(text).faults({"p499": 0, "p2": 5})] == ["/p499"]


def test_recursion_over_the_parts_of_a_value_is_fine() -> None:
    node = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    text = prepared(schema).text
    assert json.loads(text) == schema
    assert validator(text).faults({"root": {"kids": [{"kids": [{"kids": []}]}]}}) == []
    (fault,) = validator(text).faults({"root": {"kids": [{"kids": [{"kids": 5}]}]}})
    assert fault.pointer == "/root/kids/0/kids/0/kids"


FILES = {
    "module://demo/schema/o.json": {
        "type": "object",
        "properties": {
            "price": {"$ref": "common/money.json#/definitions/Amount"},
            "also": {"$ref": "module://other/types.json"},
            "tree": {"$ref": "tree.json"},
            "loose": {"$ref": "#/components/Loose"},
        },
        "components": {"Loose": {"$ref": "common/money.json#coin"}},
        "$defs": {"money": {"title": "taken"}},
    },
    "module://demo/schema/common/money.json": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://x.example/money",
        "definitions": {
            "Amount": {"type": "integer", "minimum": 0},
            "Coin": {"$anchor": "coin", "$ref": "#/definitions/Amount"},
            "Back": {"$ref": "../o.json"},
        },
    },
    "module://demo/schema/tree.json": {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "cost": {"$ref": "common/money.json#coin"}},
    },
    "module://other/types.json": {"enum": ["x", "y"]},
}


def test_other_files_move_under_the_definitions_and_nothing_points_outside() -> None:
    stored = json.loads(prepared("module://demo/schema/o.json", FILES).text)
    assert list(stored["$defs"]) == ["money", "money_2", "types", "tree"]
    assert stored["$defs"]["money"] == {"title": "taken"}
    assert stored["properties"]["price"] == {"$ref": "#/$defs/money_2/definitions/Amount"}
    assert stored["properties"]["also"] == {"$ref": "#/$defs/types"}
    assert stored["components"]["Loose"] == {"$ref": "#/$defs/money_2/definitions/Coin"}
    assert stored["$defs"]["money_2"]["definitions"]["Back"] == {"$ref": "#"}
    assert stored["$defs"]["tree"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/tree"}
    assert "module:" not in json.dumps(stored)
    assert "x.example" not in json.dumps(stored)
    found = validator(json.dumps(stored)).faults(
        {"price": -1, "also": "z", "tree": {"kids": [{"cost": "much"}]}, "loose": -2}
    )
    assert [fault.pointer for fault in found] == ["/also", "/loose", "/price", "/tree/kids/0/cost"]


def test_the_result_does_not_depend_on_chance() -> None:
    assert len({prepared("module://demo/schema/o.json", FILES).text for _number in range(5)}) == 1


def test_a_problem_in_a_file_that_is_drawn_in_is_told_with_its_own_place() -> None:
    files = {**FILES, "module://other/types.json": {"enum": "x"}}
    assert refusal("module://demo/schema/o.json", files)[:2] == ("module://other/types.json", "/enum")
    files = {**FILES, "module://other/types.json": {"$ref": "#/nowhere"}}
    assert refusal("module://demo/schema/o.json", files)[:2] == ("module://other/types.json", "/$ref")


def test_what_cannot_be_drawn_into_one_schema_is_refused_with_the_cure() -> None:
    dynamic = {**FILES, "module://other/types.json": {"$dynamicAnchor": "n", "type": "object"}}
    assert "Use $ref there" in refusal("module://demo/schema/o.json", dynamic)[2]
    inner = {"$defs": {"b": {"$id": "b.json", "properties": {"x": {"$ref": "schema/tree.json"}}}}}
    file, at, message = refusal(inner, FILES)
    assert (file, at) == (MANIFEST, f"{AT}/$defs/b/properties/x/$ref")
    assert "Drop the inner $id" in message
    many = {f"module://demo/f{number}.json": {"type": "integer"} for number in range(60)}
    assert "more than 50 files" in refusal({"allOf": [{"$ref": f"f{number}.json"} for number in range(60)]}, many)[2]
    large = {f"module://demo/f{number}.json": {"title": "x" * 600_000} for number in range(2)}
    assert "Shorten it" in refusal({"allOf": [{"$ref": "f0.json"}, {"$ref": "f1.json"}]}, large)[2]


def test_files_of_different_dialects_do_not_mix() -> None:
    files = {**FILES, "module://other/types.json": {"$schema": "http://json-schema.org/draft-07/schema#"}}
    assert "Use one dialect" in refusal("module://demo/schema/o.json", files)[2]


def test_a_file_without_a_dialect_takes_that_of_the_schema_that_refers_to_it() -> None:
    seven = "http://json-schema.org/draft-07/schema#"
    root = {"$schema": seven, "type": "object", "properties": {"p": {"$ref": "pair.json"}}}
    pair = {"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False}
    files = {"module://demo/schema/o.json": root, "module://demo/schema/pair.json": pair}
    stored = prepared("module://demo/schema/o.json", files).text
    assert json.loads(stored)["definitions"] == {"pair": pair}
    assert validator(stored).faults({"p": ["a", 1]}) == []
    assert validator(stored).faults({"p": [1, "a"]})


def test_an_inline_schema_refers_to_files_beside_its_manifest() -> None:
    stored = prepared({"$ref": "schema/tree.json"}, FILES).text
    assert json.loads(stored)["$ref"] == "#/$defs/tree"


def test_anchors_and_ids_within_one_file_stay_as_they_are() -> None:
    schema = {
        "$id": "https://demo.example/r",
        "type": "object",
        "$defs": {
            "A": {"$anchor": "a", "type": "string"},
            "B": {"$id": "b.json", "$defs": {"C": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/C"}}},
        },
        "properties": {
            "p": {"$ref": "#a"},
            "q": {"$ref": "b.json"},
            "r": {"$ref": "https://demo.example/b.json#/$defs/C"},
            "s": {"$ref": "https://demo.example/r#a"},
        },
    }
    text = prepared(schema).text
    assert json.loads(text) == schema
    found = validator(text).faults({"p": 1, "q": {"x": "no"}, "r": "no", "s": 1})
    assert [fault.pointer for fault in found] == ["/p", "/q/x", "/r", "/s"]


@pytest.mark.parametrize(
    ("schema", "at", "said"),
    [
        (
            {"type": "object", "properties": {"r": {"type": "string", "nullable": True}}},
            "/properties/r/nullable",
            "null",
        ),
        ({"type": "object", "properties": {"tags": {"type": "array"}}}, "/properties/tags", "no “items”"),
        ({"type": "object", "properties": {"opts": {"type": "object"}}}, "/properties/opts", "no “properties”"),
        ({"type": ["object", "null"]}, "", "admits null"),
        ({}, "", "admits null"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}, "/$schema", "draft-07"),
    ],
)
def test_what_trips_known_clients_is_a_warning(schema: Any, at: str, said: str) -> None:
    assert said in notes(schema)[at]


@pytest.mark.parametrize("at", ["", "/properties/book"])
def test_an_object_that_must_hold_what_it_may_not_hold_is_a_warning(at: str) -> None:
    book = {"type": "object", "properties": {"title": {}}, "required": ["titel"], "additionalProperties": False}
    schema = {"type": "object", "properties": {"book": book}} if at else book
    for role in Role:
        assert "titel" in notes(schema, role)[f"{at}/required"]
    for key, sound in (("additionalProperties", True), ("patternProperties", {"^t": {}}), ("required", ["title"])):
        assert notes({**book, key: sound}) == {}


def test_a_sound_schema_has_no_remarks() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {"type": "integer"}}},
        "additionalProperties": False,
    }
    assert notes(schema) == {}
    assert notes(schema, Role.REQUEST) == {}
