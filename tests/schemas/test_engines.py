"""jsonschema, the fallback, agrees with jsonschema-rs on what is supported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_gateway.schemas import pure, rust
from mcp_gateway.schemas.dialects import DIALECTS, DRAFT_2020_12, Dialect
from mcp_gateway.schemas.faults import describe, order

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([0.5, 2.0, -1.5]),
    st.sampled_from(["", "a", "abc", "é"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(SCALARS, min_size=1, max_size=3),
            "const": SCALARS,
            "minimum": st.integers(-3, 3),
            "exclusiveMaximum": st.integers(-3, 3),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "minLength": st.integers(0, 3),
            "pattern": st.sampled_from(["^a", "b", "c$"]),
            "minItems": st.integers(0, 2),
            "uniqueItems": st.booleans(),
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "contains": inner,
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": inner,
            "maxProperties": st.integers(0, 2),
            "propertyNames": st.sampled_from([{"pattern": "^a"}, {"maxLength": 0}]),
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=1), max_size=1),
            "not": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
        },
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(st.booleans() | st.just({}), _keywords, max_leaves=6)


@settings(max_examples=150, deadline=None)
@given(schema=SCHEMAS, value=VALUES)
def test_both_engines_give_the_same_verdict_and_can_describe_it(schema: Any, value: Any) -> None:
    fast = rust.compile_checker(schema, DRAFT_2020_12)
    slow = pure.compile_checker(schema, DRAFT_2020_12)
    assert fast.is_valid(value) == slow.is_valid(value)
    if not fast.is_valid(value):
        for checker in (fast, slow):
            found = checker.violations(value)
            assert found
            assert all(describe(violation) for violation in (*found, checker.first(value)))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_both_engines_tell_the_same_faults(dialect: Dialect) -> None:
    schema = {
        "type": "object",
        "required": ["z", "y"],
        "properties": {
            "a": {"type": "integer"},
            "b": {"enum": ["x"]},
            "c": {"minLength": 3, "pattern": "^x"},
            "d": {"items": {"type": "string"}},
            "e": {"format": "date-time"},
        },
        "additionalProperties": False,
    }
    value = {"a": "x", "b": 1, "c": "a", "d": ["x", 1, 2], "e": "2020-01-01T00:00", "k": 1}
    told = [
        sorted((order(violation.path), describe(violation)) for violation in checker.violations(value))
        for checker in (rust.compile_checker(schema, dialect), pure.compile_checker(schema, dialect))
    ]
    assert told[0] == told[1]
    assert len(told[0]) == 10


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["2024-02-29"], ["2023-02-29", "20240229", "2024-2-9", "x"]),
        ("date-time", ["2024-02-29T12:00:00Z", "2024-02-29t12:00:00.5+02:00"], ["2024-02-29", "2024-02-29T12:00:00"]),
        ("time", ["12:00:00Z", "12:00:00.25-01:00"], ["12:00:00", "25:00:00Z", "12:00Z"]),
        ("duration", ["P1D", "PT5M", "P2W"], ["P", "1D", "PT"]),
        ("email", ["a@b.example"], ["nobody"]),
        ("ipv4", ["127.0.0.1"], ["127.0.0.256"]),
        ("ipv6", ["::1"], ["::1::"]),
        ("uuid", ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380", "x"]),
        ("uri", ["https://x.example/a?b#c", "urn:a:b"], ["no scheme", "/a", "//x"]),
        ("uri-reference", ["/a", "a?b"], ["a b"]),
    ],
)
def test_both_engines_check_the_common_formats_alike(name: str, good: list[str], bad: list[str]) -> None:
    for engine in (rust, pure):
        checker = engine.compile_checker({"format": name}, DRAFT_2020_12)
        assert [text for text in good if not checker.is_valid(text)] == []
        assert [text for text in bad if checker.is_valid(text)] == []
        assert checker.is_valid(5)


def test_the_fallback_is_used_where_the_fast_engine_cannot_be_imported() -> None:
    import subprocess
    import sys

    script = (
        "import sys; sys.modules['jsonschema_rs'] = None\n"
        "from mcp_gateway.schemas import validator\n"
        "from mcp_gateway.schemas.compile import engine\n"
        "import json\n"
        "print(engine.__name__)\n"
        'print([f.pointer for f in validator(\'{"properties": {"a": {"type": "integer"}}}\').faults({\'a\': \'x\'})])\n'
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["mcp_gateway.schemas.pure", json.dumps(["/a"]).replace('"', "'")]
