"""An entry more in a manifest, and not one other character different."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_gateway.authoring.manifest_text import add_entries

ENTRY: dict[str, Any] = {"event": "new", "origin": ["mcp"], "schema": {"response": "module://demo/r.json"}}


def test_the_rest_of_the_file_keeps_its_form() -> None:
    before = """{
    "# what": "a comment",
    "name":   "Demo",
    "listen": [
        {"event": "old", "class": "\\\\Demo\\\\H",   "method": "x", "origin": ["remote", "cli"]}
    ],

    "version": 1.0
}
"""
    after = add_entries(before.encode(), [ENTRY]).decode()
    assert (
        after
        == """{
    "# what": "a comment",
    "name":   "Demo",
    "listen": [
        {"event": "old", "class": "\\\\Demo\\\\H",   "method": "x", "origin": ["remote", "cli"]},
        {
            "event": "new",
            "origin": ["mcp"],
            "schema": {
                "response": "module://demo/r.json"
            }
        }
    ],

    "version": 1.0
}
"""
    )


def test_tabs_line_ends_and_the_byte_order_mark_are_kept() -> None:
    before = b'\xef\xbb\xbf{\r\n\t"listen": [\r\n\t\t{"event": "\xc3\xa4"}\r\n\t]\r\n}\r\n'
    after = add_entries(before, [ENTRY])
    assert after.startswith(before[: before.index(b"}\r\n\t]") + 1] + b",\r\n\t\t{\r\n\t\t\t")
    assert after.count(b"\n") == after.count(b"\r\n")
    assert json.loads(after.decode("utf-8-sig"))["listen"] == [{"event": "ä"}, ENTRY]


@pytest.mark.parametrize("empty", ["{}", '{"name": "x"}', '{"listen": []}', '{"listen": {}}', '{"listen": null}'])
def test_a_list_is_made_where_there_is_none(empty: str) -> None:
    before = json.loads(empty)
    after = json.loads(add_entries(empty.encode(), [ENTRY, ENTRY]))
    assert after == {**before, "listen": [ENTRY, ENTRY]}
    assert next(iter(after)) == next(iter(before), "listen")


def test_what_stands_in_one_line_is_spread_over_several() -> None:
    before = (
        '{"name":"De: {mo}","version":1.50,"emit":[],"config":{"a":{}},"listen":[{"event":"old","origin":["mcp"]}]}'
    )
    after = add_entries(before.encode(), [{"event": "new"}]).decode()
    assert (
        after
        == """{
  "name": "De: {mo}",
  "version": 1.50,
  "emit": [],
  "config": {
    "a": {}
  },
  "listen": [
    {
      "event": "old",
      "origin": [
        "mcp"
      ]
    },
    {
      "event": "new"
    }
  ]
}
"""
    )


def test_text_that_looks_like_structure_is_text() -> None:
    manifest = {"description": '"listen": [ ] } \\', "config": {"listen": [1]}, "listen": [{"event": "]}"}]}
    after = json.loads(add_entries(json.dumps(manifest).encode(), [ENTRY]))
    assert after == {**manifest, "listen": [{"event": "]}"}, ENTRY]}


KEYS = st.sampled_from(["name", "#", "config", "listen2", "autoload", 'a"b\\'])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.just("listen"), inner, max_size=3),
    max_leaves=8,
)
LISTEN = st.lists(st.dictionaries(KEYS, JSON, max_size=3), max_size=3)


@given(
    before=st.dictionaries(KEYS, JSON, max_size=3),
    listen=LISTEN,
    after=st.dictionaries(KEYS.map(lambda name: name + "2"), JSON, max_size=2),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    ascii_only=st.booleans(),
)
def test_whatever_the_manifest_exactly_the_entry_is_added(
    before: dict[str, Any], listen: list[Any], after: dict[str, Any], indent: Any, ascii_only: bool
) -> None:
    manifest = {**before, "listen": listen, **after}
    text = json.dumps(manifest, indent=indent, ensure_ascii=ascii_only)
    made = json.loads(add_entries(text.encode(), [ENTRY]))
    assert made == {**manifest, "listen": [*listen, ENTRY]}
    assert list(made) == list(manifest)
