"""No manifest, however odd, raises out of the importer or reaches a column that cannot hold it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_gateway import registry
from mcp_gateway.manifest.apply import run_import
from mcp_gateway.manifest.document import KEYS, parse_manifest
from mcp_gateway.manifest.entries import KNOWN_KEYS
from mcp_gateway.models import Listener
from mcp_gateway.schemas import Note, Refused, Role, SchemaRefused, prepare
from mcp_gateway.schemas.reading import Unreadable
from tests.manifest.samples import FILES, tool

TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            "mcp", "*", "demo-*", "mcp:x", "\\Demo\\Handler", "Demo", "on", "\0", "x" * 600, "", "#", "oauth2:scope a|",
            "module://demo/schema/o.json", "module://demo/../x", "module://", "object", "http://x.example", "#/a",
        ]
    ),
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
SCHEMA_KEYS = st.sampled_from(
    [
        "type", "properties", "items", "$ref", "$schema", "$defs", "$id", "$anchor", "allOf", "not", "pattern", "enum",
        "required", "additionalProperties", "nullable", "dependencies", "$dynamicRef", "const", "minimum", "if",
    ]
)  # fmt: skip
SCHEMAS = st.recursive(
    VALUES | st.sampled_from(["#", "#/properties/a", "o.json"]),
    lambda inner: st.dictionaries(SCHEMA_KEYS, inner, max_size=4) | st.lists(inner, max_size=2),
    max_leaves=12,
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(sorted(KNOWN_KEYS - {"schema"}), VALUES)
    | {"schema": st.dictionaries(TEXTS, SCHEMAS) | st.fixed_dictionaries({"request": SCHEMAS, "response": SCHEMAS})},
)
NEAR_TOOLS = ENTRIES.map(lambda entry: {**tool("t"), **{key: entry[key] for key in list(entry)[:2]}})
MANIFESTS = st.fixed_dictionaries(
    {},
    optional={key: VALUES for key in KEYS if key != "listen"}
    | {"listen": st.lists(ENTRIES | NEAR_TOOLS, max_size=4) | VALUES},
)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200) | MANIFESTS.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_read_or_refused_with_a_sentence(data: bytes) -> None:
    said = "read"
    try:
        parse_manifest(data, "demo")
    except Unreadable as error:
        said = str(error)
    assert said


@settings(max_examples=300, deadline=None)
@given(schema=SCHEMAS, role=st.sampled_from(Role))
def test_any_schema_is_prepared_or_refused_with_a_place(schema: Any, role: Role) -> None:
    try:
        schema = json.loads(json.dumps(schema, allow_nan=False))
    except ValueError:
        return

    def read(uri: str) -> tuple[str, bytes]:
        if uri == "module://demo/schema/o.json":
            return uri, b'{"type": "object"}'
        raise Refused(f"{uri} does not exist.")

    problems: list[Note] = []
    text = ""
    try:
        text = prepare(schema, role, manifest="module://demo/zolinga.json", pointer="/listen/0", read=read).text
    except SchemaRefused as error:
        problems = error.problems
    assert bool(text) is not bool(problems)
    assert all(problem.message.endswith(".") for problem in problems)
    assert not text or isinstance(json.loads(text), dict)


@pytest.mark.django_db
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(manifest=MANIFESTS, before=MANIFESTS)
def test_any_manifest_is_imported_and_leaves_a_readable_database(
    module_dir: Path, settings: LazySettings, manifest: Any, before: Any
) -> None:
    folder = module_dir / "demo"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    for state in (before, manifest):
        (folder / "zolinga.json").write_text(json.dumps(state))
        json.dumps(run_import(allow_removal=True).as_dict()).encode()
    again = run_import(allow_removal=True)
    assert not again.writes
    registry.forget()
    assert registry.snapshot().generation
    for entry in registry.snapshot().tools.values():
        assert json.loads(entry.output_schema) is not None
        assert entry.listeners
    for row in Listener.objects.all():
        json.loads(row.extras)
