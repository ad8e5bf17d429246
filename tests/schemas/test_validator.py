"""What a compiled schema says of a value."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from mcp_gateway.schemas import Fault, validator
from mcp_gateway.schemas.validator import MAX_MEMBERS, larger_than


def faults(schema: Any, value: Any) -> list[Fault]:
    """What the schema finds wrong with the value."""
    return validator(json.dumps(schema)).faults(value)


def test_an_empty_text_accepts_everything() -> None:
    values: list[Any] = [None, 5, "x", [], {}, {"a": [1e300]}]
    assert [validator("").faults(value) for value in values] == [[]] * len(values)


def test_a_schema_is_compiled_once() -> None:
    assert validator('{"type": "object"}') is validator('{"type": "object"}')


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("integer", 5, True),
        ("integer", 5.0, True),
        ("integer", 10**40, True),
        ("integer", 5.5, False),
        ("integer", True, False),
        ("integer", "5", False),
        ("number", True, False),
        ("number", 10**40, True),
        ("number", "5", False),
        ("string", 5, False),
        ("string", None, False),
        ("boolean", 1, False),
        ("boolean", "true", False),
        ("null", 0, False),
        ("object", [], False),
        ("array", {}, False),
    ],
)
def test_nothing_is_coerced(kind: str, value: Any, fits: bool) -> None:
    assert (faults({"type": kind}, value) == []) is fits


def test_every_fault_is_told_with_its_pointer_in_reading_order() -> None:
    schema = {
        "type": "object",
        "required": ["z"],
        "properties": {
            "list": {"type": "array", "items": {"type": "integer"}},
            "a/b~c": {"type": "string"},
            "n": {"minimum": 3},
        },
        "additionalProperties": False,
    }
    value = {"n": 1, "x": 1, "y": 2, "a/b~c": 5, "list": ["a", *range(9), "b"]}
    assert faults(schema, value) == [
        Fault("", 'has properties that are not allowed: "x", "y"; known are "a/b~c", "list", "n"'),
        Fault("", 'lacks the required property "z"'),
        Fault("/a~1b~0c", "must be string, not integer"),
        Fault("/list/0", "must be integer, not string"),
        Fault("/list/10", "must be integer, not string"),
        Fault("/n", "must be 3 or more"),
    ]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": ["string", "null"]}, 5, "must be null or string, not integer"),
        ({"enum": ["a", 1, None]}, "b", 'must be one of "a", 1, null'),
        ({"const": {"a": 1}}, 5, 'must be exactly {"a": 1}'),
        ({"minLength": 1}, "", "must have at least 1 character"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters"),
        ({"minItems": 2}, [1], "must have at least 2 items"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 item"),
        ({"minProperties": 2}, {}, "must have at least 2 properties"),
        ({"maxProperties": 1}, {"a": 1, "b": 1}, "must have at most 1 property"),
        ({"maximum": 3}, 4, "must be 3 or less"),
        ({"exclusiveMinimum": 3}, 3, "must be more than 3"),
        ({"exclusiveMaximum": 3}, 3, "must be less than 3"),
        ({"multipleOf": 0.5}, 0.3, "must be a multiple of 0.5"),
        ({"uniqueItems": True}, [1, 1], "must not hold the same item twice"),
        ({"pattern": "^a"}, "b", 'must match the pattern "^a"'),
        ({"format": "date"}, "not-a-day", "must be a valid “date”"),
        ({"format": "date-time"}, "2020-01-01", "must be a valid “date-time”"),
        ({"format": "uri"}, "no uri", "must be a valid “uri”"),
        ({"format": "email"}, "nobody", "must be a valid “email”"),
        ({"not": {"type": "null"}}, None, 'must not fit {"type": "null"}'),
        ({"contains": {"type": "null"}}, [1], "must contain an item that fits the schema's “contains”"),
        ({"additionalProperties": False}, {"k": 1}, 'has properties that are not allowed: "k"'),
        ({"unevaluatedProperties": False}, {"k": 1}, 'has properties that are not allowed: "k"'),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, 'lacks the property "b", which another'),
        ({"propertyNames": {"pattern": "^a"}}, {"b": 1}, "a name must match the pattern"),
        ({"oneOf": [{}, True]}, 1, "fits more than one of the schema's alternatives"),
        (
            {"anyOf": [{"type": "string"}, {"required": ["a"], "type": "object"}]},
            {},
            '(1) must be string, not object; (2) lacks the required property "a"',
        ),
    ],
)
def test_a_message_says_what_is_needed(schema: Any, value: Any, message: str) -> None:
    (fault,) = faults(schema, value)
    assert message in fault.message


def test_no_message_repeats_what_was_sent() -> None:
    secret = "s3cr3t" * 1000
    schema = {
        "properties": {
            "a": {"type": "integer"},
            "b": {"enum": ["x"]},
            "c": {"pattern": "^y$"},
            "d": {"anyOf": [{"type": "null"}, {"maxLength": 3}]},
            "e": {"const": 1},
        }
    }
    text = "".join(fault.message for fault in faults(schema, dict.fromkeys("abcde", secret)))
    assert "s3cr3t" not in text
    assert len(text) < 1000


def test_long_lists_of_options_are_cut() -> None:
    (fault,) = faults({"enum": [f"option-{number}" for number in range(1000)]}, 1)
    assert fault.message.endswith("and 980 more")
    (fault,) = faults({"additionalProperties": False}, {f"k{number}": 1 for number in range(100)})
    assert fault.message.endswith("and 80 more")


def test_of_a_large_value_the_first_fault_is_told_quickly() -> None:
    started = time.process_time()
    found = faults({"items": {"type": "string"}}, list(range(1_000_000)))
    assert time.process_time() - started < 3
    assert found[0] == Fault("/0", "must be string, not integer")
    assert "not looked for" in found[-1].message


def test_all_faults_of_a_moderate_value_are_told() -> None:
    assert len(faults({"items": {"type": "string"}}, list(range(MAX_MEMBERS)))) == MAX_MEMBERS
    assert not larger_than([0] * MAX_MEMBERS, MAX_MEMBERS)
    assert larger_than({"a": [0] * MAX_MEMBERS}, MAX_MEMBERS)


@pytest.mark.parametrize("long", ["x" * 2_000_000, [1e308] * 9_000, {"x" * 1_000_000: 1, "y" * 1_000_000: 2}])
def test_a_value_of_long_members_is_large_too(long: Any) -> None:
    found = faults({"required": [f"r{number}" for number in range(200)]}, {"long": long})
    assert [fault.pointer for fault in found] == ["", ""]
    assert "lacks the required property" in found[0].message
    assert "not looked for" in found[1].message


@pytest.mark.parametrize(
    "allowed", [{"enum": [f"choice {number}" for number in range(5_000)]}, {"const": "x" * 50_000}]
)
def test_of_a_long_list_of_what_is_allowed_no_fault_has_a_copy_of_its_own(allowed: dict[str, Any]) -> None:
    assert len(faults({"items": allowed}, ["no"] * 200)) == 200
    found = faults({"items": allowed}, ["no"] * 9_000)
    assert [fault.pointer for fault in found] == ["/0", ""]
    assert "not looked for" in found[1].message


def test_a_pattern_that_would_backtrack_for_ever_does_not() -> None:
    started = time.process_time()
    assert faults({"pattern": "^(a+)+$"}, "a" * 50 + "!")
    assert faults({"pattern": "^(?=a)(a+)+$"}, "a" * 50 + "!")
    assert time.process_time() - started < 3


@pytest.mark.parametrize("value", [{"a": "\ud800"}, {"\ud800": 1}, ["\ud800"], {1: 2}, {"a": {1, 2}}, b"x"])
def test_what_is_no_json_is_a_fault_and_never_an_exception(value: Any) -> None:
    schema = {"additionalProperties": {"enum": ["x"]}, "items": {"pattern": "^x"}, "type": ["object", "array"]}
    assert all(isinstance(fault, Fault) for fault in faults(schema, value))


@pytest.mark.parametrize(
    ("dialect", "schema", "good", "bad"),
    [
        ("http://json-schema.org/draft-07/schema#", {"items": [{"type": "string"}]}, ["a"], [1]),
        ("https://json-schema.org/draft-07/schema", {"items": [{"type": "string"}]}, ["a"], [1]),
        ("http://json-schema.org/draft-06/schema#", {"exclusiveMinimum": 3}, 4, 3),
        ("http://json-schema.org/draft-04/schema#", {"minimum": 3, "exclusiveMinimum": True}, 4, 3),
        ("https://json-schema.org/draft/2019-09/schema", {"items": [{"type": "string"}]}, ["a"], [1]),
        ("https://json-schema.org/draft/2020-12/schema", {"prefixItems": [{"type": "string"}]}, ["a"], [1]),
    ],
)
def test_a_schema_is_judged_by_the_dialect_it_names(dialect: str, schema: dict[str, Any], good: Any, bad: Any) -> None:
    whole = {"$schema": dialect, **schema}
    assert faults(whole, good) == []
    assert faults(whole, bad)


def test_bundled_meta_schemas_can_be_referred_to_from_every_dialect() -> None:
    for uri in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        assert faults({"$ref": uri}, {"type": "object"}) == []
        assert faults({"$ref": uri}, {"type": 5})


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "https://nobody.example/schema"},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "http://169.254.169.254/s.json"},
        {"$ref": "file:///etc/hostname"},
        {"type": "strin"},
        {"pattern": "("},
    ],
)
def test_what_is_no_schema_is_refused_with_a_reason(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        validator(json.dumps(schema))


def test_a_text_that_a_pattern_cannot_be_tried_on_in_time_is_told_so() -> None:
    judge = validator('{"type": "string", "pattern": "^(a*)*\\\\1b$"}')
    assert [fault.message for fault in judge.faults("c")] == ['must match the pattern "^(a*)*\\\\1b$"']
    (fault,) = judge.faults("a" * 60)
    assert "too hard to check" in fault.message
