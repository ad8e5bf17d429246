"""A validation that would take too long is refused before it begins; ordinary ones are not even counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_gateway.schemas import budget, validator
from mcp_gateway.schemas.compile import own_dialect

TWICE = {"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}], "type": "object"}


def weights(schema: Any) -> tuple[int, ...] | None:
    return budget.weights(schema, json.dumps(schema), own_dialect(schema))


def nested(depth: int, leaf: Any) -> Any:
    value = leaf
    for _level in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"},
        {"allOf": [{"$ref": "#/$defs/base"}], "$defs": {"base": {"properties": {"id": {}}}}, "properties": {"x": {}}},
        {"anyOf": [{"type": "string"}, {"items": {"$ref": "#"}}]},
        {"patternProperties": {"^x-": {"type": "string"}}, "properties": {"a": {"enum": ["a", "b"]}}},
    ],
)
def test_ordinary_schemas_are_never_counted(schema: Any) -> None:
    assert weights(schema) is None


def test_each_level_that_is_judged_twice_doubles_the_work() -> None:
    found = weights(TWICE)
    assert found is not None
    assert found[:4] == (3, 8, 16, 32)
    assert budget.judgments(nested(3, 1), found, 10**9) == 3 + 8 + 16 + 32


def test_what_would_take_hours_is_an_error_of_that_call_alone() -> None:
    check = validator(json.dumps(TWICE))
    (fault,) = check.faults(nested(60, 5))
    assert (fault.pointer, fault.message) == (
        "",
        "is too large or too deep to be checked against this schema; send less",
    )
    assert check.faults(nested(8, {})) == []
    assert [fault.pointer for fault in check.faults(nested(3, 5))] == ["/a/a/a"]


def test_among_many_judgments_only_the_first_fault_is_looked_for() -> None:
    faults = validator(json.dumps(TWICE)).faults(nested(14, 5))
    assert faults[0].pointer == "/a" * 14
    assert "not looked for" in faults[1].message


def test_alternatives_that_nest_too_deep_are_refused_without_their_tree_of_faults() -> None:
    branch = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    schema = {"anyOf": [{**branch, "required": ["v"]}, {**branch, "required": ["w"]}], "type": "object"}
    check = validator(json.dumps(schema))
    (shallow,) = check.faults(nested(2, {"v": 1}))
    assert "/a/a lacks" not in shallow.message
    assert "lacks the required property" in shallow.message
    (deep,) = check.faults(nested(15, {}))
    assert deep.message == "does not fit the schema; it nests too deep to tell in which of the alternatives"
    fits: Any = {"v": 1}
    for _level in range(15):
        fits = {"a": fits, "w": 1}
    assert check.faults(fits) == []


def test_many_members_count_as_much_as_depth() -> None:
    schema = {"items": {"allOf": [{"minimum": number} for number in range(1000)]}}
    check = validator(json.dumps(schema))
    assert check.faults([5000] * 100) == []
    assert "too large" in check.faults([5000] * 20_000)[0].message


def test_a_chain_of_definitions_counts_without_a_circle() -> None:
    link = {
        f"l{number}": {"allOf": [{"properties": {"a": {"$ref": f"#/$defs/l{number + 1}"}}}] * 2} for number in range(40)
    }
    schema = {"$ref": "#/$defs/l0", "$defs": {**link, "l40": {"type": "string"}}}
    check = validator(json.dumps(schema))
    assert "too deep" in check.faults(nested(40, "x"))[0].message
    assert check.faults(nested(5, {})) == []


def test_patterns_that_may_backtrack_and_objects_in_enums_weigh_more() -> None:
    look_ahead = weights({"items": {"pattern": "^(?=a)"}})
    assert look_ahead is not None
    assert look_ahead[1] > budget.BACKTRACKING
    choices = weights({"items": {"enum": [[number] for number in range(100)]}})
    assert choices is not None
    assert choices[1] > 100


@pytest.mark.parametrize("first", [10**20, -(10**20), 2**63])
def test_long_integers_that_would_be_compared_for_hours_are_not(first: int) -> None:
    check = validator(json.dumps({"properties": {"ids": {"type": "array", "uniqueItems": True}}}))
    many = [first + number for number in range(20_000)]
    for ids in (many, [[number] for number in many], [{"id": number} for number in many]):
        (fault,) = check.faults({"ids": ids})
        assert "too large" in fault.message


def test_integers_that_are_compared_in_a_moment_are_checked() -> None:
    check = validator(json.dumps({"uniqueItems": True}))
    assert check.faults([2**63 - 1 - number for number in range(50_000)]) == []
    assert check.faults([10**30 + number for number in range(200)]) == []
    assert check.faults([10**30, 10**30]) != []
