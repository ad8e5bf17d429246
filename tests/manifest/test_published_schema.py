"""The published JSON Schema of ``zolinga.json`` and the importer say the same: what one takes, the other takes.

The importer takes more than it should be given, with a warning; an editor shows such places too. So a manifest
validates exactly if it is read without a remark.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from mcp_gateway.manifest.document import parse_manifest
from mcp_gateway.schemas.reading import Unreadable
from mcp_gateway.views.manifest_schema import manifest_schema

ROOT = Path(__file__).parent.parent.parent
SCHEMA = json.loads(manifest_schema())
VALIDATOR = Draft7Validator(SCHEMA)

ENTRY: dict[str, Any] = {"event": "hello", "class": "\\Demo\\Hello", "method": "onHello", "origin": ["mcp"]}
SERVICE: dict[str, Any] = {"service": "prices", "class": "\\Demo\\Prices"}
REQUEST: dict[str, Any] = {"request": "prices", "class": "\\Demo\\Prices", "method": "all"}


def remarks(manifest: Any) -> list[str]:
    """What the importer has to say of a manifest's structure."""
    try:
        read = parse_manifest(json.dumps(manifest).encode(), "demo")
    except Unreadable as error:
        return [str(error)]
    found = [remark.message for remark in (*read.refused, *read.warnings)]
    for entry in read.entries:
        found += [message for _where, message in (*entry.faults, *entry.warnings)]
    return found


def agree(manifest: Any) -> bool:
    """Hold both against each other; whether the manifest is sound."""
    said, faults = remarks(manifest), [error.message for error in VALIDATOR.iter_errors(manifest)]
    assert bool(said) == bool(faults), f"{manifest}\nimporter: {said}\nschema: {faults}"
    return not said


def test_it_is_a_schema_itself() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_every_manifest_of_ours_fits_it() -> None:
    found = [*ROOT.glob("modules/*/zolinga.json"), *ROOT.glob("tests/**/zolinga.json")]
    assert found
    for path in found:
        assert agree(json.loads(path.read_text(encoding="utf-8"))), path


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"$schema": "http://127.0.0.1:8000/mcp/zolinga.schema.json", "name": "x", "version": 1.5, "# note": [1]},
        {"listen": {}, "autoload": [], "config": [], "attributes": {"a": 1}, "emit": None},
        {"autoload": {"A\\": "src/", "#A": 5}, "dependencies": ["a", "b@main"]},
        {"listen": [ENTRY, SERVICE, REQUEST, {**ENTRY, "origin": "*", "request": "", "service": None}]},
        {"listen": [{**ENTRY, "right": False, "priority": 0, "schema": [], "icons": {}, "annotations": [], "# x": 1}]},
        {"listen": [{**ENTRY, "needs": ["elicitation.url", "sampling"], "single_use": True}]},
        {"listen": [{**ENTRY, "schema": {"request": "module://demo/a.json", "response": {"type": "object"}}}]},
        {"listen": [{**ENTRY, "schema": {"request": None, "response": None}}]},
        {"listen": [{**ENTRY, "icons": [{"src": "/static/x.svg"}, {"src": "module://demo/x.svg"}]}]},
        {"listen": [{**ENTRY, "task": "optional"}, {**ENTRY, "task": "required"}, {**ENTRY, "task": None}]},
        {"listen": [{**ENTRY, "icons": [{"src": "data:,", "sizes": ["any"], "theme": "dark"}], "_meta": {"a": 1}}]},
    ],
)
def test_what_the_importer_takes_validates(manifest: Any) -> None:
    assert agree(manifest)


@pytest.mark.parametrize(
    "manifest",
    [
        [],
        None,
        {"listen": {"a": 1}},
        {"listen": "x"},
        {"listen": [5]},
        {"listen": [{}]},
        {"listen": [{**ENTRY, "class": ""}]},
        {"listen": [{**ENTRY, "method": None}]},
        {"listen": [{**SERVICE, "request": "x"}]},
        {"listen": [{**ENTRY, "origin": ["web"]}]},
        {"listen": [{**ENTRY, "origin": []}]},
        {"listen": [{**ENTRY, "event": "a\0b"}]},
        {"listen": [{**ENTRY, "event": "x" * 486}]},
        {"listen": [{**ENTRY, "priority": "high"}]},
        {"listen": [{**ENTRY, "priority": True}]},
        {"listen": [{**ENTRY, "right": True}]},
        {"listen": [{**ENTRY, "right": ["a"]}]},
        {"listen": [{**ENTRY, "schema": "module://demo/a.json"}]},
        {"listen": [{**ENTRY, "schema": {"reponse": {}}}]},
        {"listen": [{**ENTRY, "visibility": "hidden"}]},
        {"listen": [{**ENTRY, "atomic": 1}]},
        {"listen": [{**ENTRY, "single_use": "yes"}]},
        {"listen": [{**ENTRY, "needs": ["telepathy"]}]},
        {"listen": [{**ENTRY, "needs": {"sampling": {}}}]},
        {"listen": [{**ENTRY, "task": "always"}]},
        {"listen": [{**ENTRY, "annotations": {"readOnlyHint": "yes"}}]},
        {"listen": [{**ENTRY, "icons": [{"src": "file:///etc/passwd"}]}]},
        {"listen": [{**ENTRY, "icons": [{"src": "http://x/y"}]}]},
        {"listen": [{**ENTRY, "icons": [{"src": "//x/y"}]}]},
        {"listen": [{**ENTRY, "_meta": "x"}]},
        {"listen": [{**ENTRY, "orgin": "mcp"}]},
        {"listener": []},
        {"name": []},
        {"dependencies": ["@main"]},
        {"autoload": {"A": 1}},
    ],
)
def test_what_the_importer_refuses_or_warns_of_does_not_validate(manifest: Any) -> None:
    assert not agree(manifest)


PLAIN = [None, True, False, 0, 1, 0.5, -1, 2.5, "", "x", "mcp", "module://demo/a.json", "https://x", "a\0", "x" * 501]
LISTS: list[Any] = [[], ["x"], ["mcp"], ["mcp", 5], [None], [[]], ["@x"], ["x@y"], [{"src": "https://x"}], [{"src": 1}]]
OBJECTS = [{}, {"#": 1}, {"x": 1}, {"request": {}}, {"response": None}, {"title": 5}, {"openWorldHint": True}]
WRONG = st.sampled_from([*PLAIN, *LISTS, *OBJECTS]).map(copy.deepcopy)
SOUND: list[dict[str, Any]] = [
    {"name": "Demo", "version": "1", "listen": [ENTRY], "autoload": {"A": "a"}, "dependencies": ["x"]},
    {"listen": [SERVICE, REQUEST], "emit": [], "config": {"a": 1}, "authors": [], "webComponents": []},
    {"listen": [{**ENTRY, "title": "T", "annotations": {"title": "A"}, "icons": [{"src": "data:,"}], "priority": 1}]},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document that a key or an index leads to."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*path, key)
        yield from places(member, (*path, key))


@st.composite
def manifests(draw: st.DrawFn) -> Any:
    """A sound manifest with up to three places changed, added or taken out."""
    manifest = copy.deepcopy(draw(st.sampled_from(SOUND)))
    entry_keys = sorted(SCHEMA["definitions"]["listener"]["properties"])
    for _change in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["set", "drop", "root", "entry"]))
        if kind == "root":
            manifest[draw(st.sampled_from([*SCHEMA["properties"], "x"]))] = draw(WRONG)
        elif kind == "entry" and isinstance(manifest.get("listen"), list) and manifest["listen"]:
            entry = manifest["listen"][0]
            if isinstance(entry, dict):
                entry[draw(st.sampled_from([*entry_keys, "x", "#"]))] = draw(WRONG)
        else:
            found = list(places(manifest))
            if found:
                *path, last = draw(st.sampled_from(found))
                owner = manifest
                for step in path:
                    owner = owner[step]
                if kind == "drop":
                    del owner[last]
                else:
                    owner[last] = draw(WRONG)
    return manifest


def judged_later(manifest: Any) -> bool:
    """Whether a schema is no schema at all: the importer says so when it prepares it, not when it reads the entry."""
    entries = manifest.get("listen") if isinstance(manifest, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        both = entry.get("schema") if isinstance(entry, dict) else None
        for schema in both.values() if isinstance(both, dict) else ():
            if isinstance(schema, str) or not isinstance(schema, (dict, bool, type(None))):
                return True
    return False


@given(manifests())
@example({"listen": [{**ENTRY, "origin": "remote", "event": ""}]})
def test_they_agree_on_whatever_is_written(manifest: Any) -> None:
    if not judged_later(manifest):
        agree(manifest)


def test_the_site_serves_it_to_editors() -> None:
    response = Client().get("/mcp/zolinga.schema.json")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/schema+json"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response.json() == SCHEMA
    assert Client().head("/mcp/zolinga.schema.json").status_code == 200
    assert Client().post("/mcp/zolinga.schema.json").status_code == 405


def test_it_explains_every_key_to_whoever_writes_one() -> None:
    for owner in (SCHEMA, SCHEMA["definitions"]["listener"]):
        for key, member in owner["properties"].items():
            assert member.get("description"), key
