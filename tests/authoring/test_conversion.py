"""A tool from a remote event: the same code, one entry more, and schemas from what the code declares."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from mcp_gateway.authoring import NotWritten
from mcp_gateway.authoring.conversion import convert
from mcp_gateway.testing.client import McpClient
from tests.authoring.test_tools import tree

Import = Callable[..., dict[str, Any]]

CODE = (Path(__file__).parent / "shop_code.py").read_text(encoding="utf-8")
STRING = {"type": "string"}


def remote(method: str, **entry: Any) -> dict[str, Any]:
    return {"event": f"shop:{method}", "class": "\\Demo\\Shop", "method": f"on_{method}", "origin": ["remote"], **entry}


@pytest.fixture
def shop(write_module: Callable[..., Path]) -> Path:
    """A module with remote events only."""
    methods = ("typed", "local", "serialized", "saved", "plain", "opaque")
    return write_module({"listen": [remote(method) for method in methods]}, {"shop.py": CODE})


def drafted(folder: Path, name: str, role: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((folder / f"schemas/{name}{role}.json").read_text())
    assert schema.pop("$schema") == "https://json-schema.org/draft/2020-12/schema"
    return schema


def test_the_tool_runs_the_code_of_the_event(
    write_module: Callable[..., Path],
    import_manifests: Import,
    mcp_client: McpClient,
    mcp_token: Callable[..., str],
    admin_user: Any,
) -> None:
    entry = remote(
        "plain", description="Shows a shelf.", right="oauth2:scope mcp:tools", priority=0.7, atomic=False, title="Shelf"
    )
    folder = write_module({"listen": [entry]}, {"shop.py": CODE})
    written = convert("demo", "showShelf", "shop:plain")
    listen = json.loads((folder / "zolinga.json").read_text())["listen"]
    assert listen[0] == entry
    assert listen[1] == {
        **entry,
        "event": "showShelf",
        "origin": ["mcp"],
        "schema": {
            role: f"module://demo/schemas/showShelf{role.capitalize()}.json" for role in ("request", "response")
        },
    }
    assert not any("Anyone" in note for note in written.notes)
    assert import_manifests()["refused"] == []
    assert mcp_client.call_tool("showShelf", {"shelf": "A"}).status == 401
    mcp_client.token = mcp_token(admin_user)
    answer = mcp_client.call_tool("showShelf", {"shelf": "A", "page": 3})
    assert answer.structured == {"title": "Shelf A", "page": 3, "ok": True, "size": 1, "more": {"next": 2}}


def test_every_draft_can_be_imported_and_called(shop: Path, import_manifests: Import, mcp_client: McpClient) -> None:
    calls: dict[str, dict[str, Any]] = {
        "typed": {"text": "tea"},
        "local": {"number": 3},
        "serialized": {"code": "x", "price": "1.50", "unit": None, "raw": [1], "secret": "s"},
        "plain": {"shelf": "A"},
        "opaque": {"any": "thing"},
    }
    for name in calls:
        convert("demo", name, f"shop:{name}")
    assert import_manifests()["refused"] == []
    for name, arguments in calls.items():
        assert mcp_client.call_tool(name, arguments).result["isError"] is False, name


def test_types_are_drafted_as_they_are_encoded(shop: Path) -> None:
    written = convert("demo", "typed", "shop:typed")
    assert drafted(shop, "typed", "Request") == {
        "type": "object",
        "properties": {"text": STRING, "limit": {"type": "integer"}},
        "required": ["text"],
        "additionalProperties": False,
    }
    line = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "price": STRING,
            "since": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "seen": {"type": "string", "format": "date-time"},
            "tags": {"type": "array", "items": STRING},
            "notes": {"type": "object", "additionalProperties": STRING},
            "extra": {},
        },
        "required": ["id", "price", "since", "seen", "tags", "notes", "extra"],
        "additionalProperties": False,
    }
    page = {
        "type": "object",
        "properties": {"lines": {"type": "array", "items": line}, "total": {"type": "integer"}},
        "required": ["lines", "total"],
        "additionalProperties": False,
    }
    assert drafted(shop, "typed", "Response") == page
    assert any("its return type" in note for note in written.notes)
    convert("demo", "local", "shop:local")
    assert drafted(shop, "local", "Response") == page
    assert drafted(shop, "local", "Request") == {
        "type": "object",
        "properties": {
            "number": {"type": "integer"},
            "unit": {"enum": ["piece", "kilo"]},
            "kind": {"enum": ["retail", "trade"]},
        },
        "required": ["number"],
        "additionalProperties": False,
    }


def test_serializers_are_drafted_in_their_direction(shop: Path) -> None:
    written = convert("demo", "serialized", "shop:serialized")
    assert any("drafted from LineSerializer" in note for note in written.notes)
    shared = {
        "code": {"type": "string", "description": "The code.", "maxLength": 8},
        "price": STRING,
        "note": {"type": ["string", "null"]},
        "unit": {"enum": ["piece", "kilo", None]},
        "raw": {},
    }
    assert drafted(shop, "serialized", "Request") == {
        "type": "object",
        "properties": {**shared, "secret": STRING},
        "required": ["code", "price", "unit", "raw", "secret"],
        "additionalProperties": False,
    }
    shown = {
        "type": "object",
        "properties": {
            **shared,
            "added": {"type": "string", "format": "date-time"},
            "shown_as": {},
            "stock": {"type": "integer"},
        },
        "required": ["code", "price", "unit", "raw", "added", "shown_as", "stock"],
        "additionalProperties": False,
    }
    response = drafted(shop, "serialized", "Response")
    assert response["properties"] == {"count": {"type": "integer"}, "lines": {"type": "array", "items": shown}}
    convert("demo", "saved", "shop:saved")
    assert drafted(shop, "saved", "Response") == shown


def test_where_nothing_is_declared_the_keys_are_drafted_and_stay_open(shop: Path) -> None:
    written = convert("demo", "plain", "shop:plain")
    assert drafted(shop, "plain", "Request") == {
        "type": "object",
        "properties": {"page": {}, "only": {}, "shelf": {}},
        "required": ["shelf"],
    }
    assert drafted(shop, "plain", "Response") == {
        "type": "object",
        "properties": {
            "title": STRING,
            "page": {},
            "ok": {"type": "boolean"},
            "size": {"type": "integer"},
            "more": {"type": "object", "properties": {"next": {"type": "integer"}}},
        },
    }
    assert any("types that it lacks are yours" in note for note in written.notes)


def test_nothing_is_invented(shop: Path) -> None:
    written = convert("demo", "opaque", "shop:opaque")
    for role in ("Request", "Response"):
        assert drafted(shop, "opaque", role) == {"type": "object"}
    assert sum("nothing declares it" in note for note in written.notes) == 2


def test_recorded_traffic_is_drafted_where_nothing_is_declared(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "gate.jsonl"
    records = [
        [{"uuid": "1", "type": "shop:opaque", "request": {"a": 1, "b": "x"}}, {"type": "other", "request": {"c": 1}}],
        {"type": "shop:opaque", "status": 200, "response": {"rows": [{"n": 1}, {"n": 2.5, "m": None}]}},
        {"type": "shop:opaque", "status": 404, "response": {"never": "seen"}},
        {"request": {"a": 2}, "response": {"rows": []}},
    ]
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    written = convert("demo", "opaque", "shop:opaque", recorded=str(file))
    assert drafted(shop, "opaque", "Request") == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": STRING},
        "required": ["a"],
    }
    assert drafted(shop, "opaque", "Response") == {
        "type": "object",
        "properties": {
            "rows": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"n": {"type": "number"}, "m": {"type": "null"}},
                    "required": ["n"],
                },
            }
        },
        "required": ["rows"],
    }
    assert any("2 recorded requests" in note for note in written.notes)
    # What is declared comes first, and the records are held against it.
    file.write_text('[{"request": {"text": 5}}]', encoding="utf-8")
    written = convert("demo", "typed", "shop:typed", recorded=str(file))
    assert any("1 of the 1 recorded ones do not fit it" in note and "/text" in note for note in written.notes)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read"),
        ("", "it is empty|no record"),
        ("nothing", "line 1 is no record"),
        ("5", "is no record"),
        ('{"request": {"a": NaN}}', "NaN"),
        ('{"type": "other", "request": {}}', "no record of shop:plain"),
    ],
)
def test_a_file_that_is_no_record_is_refused(shop: Path, tmp_path: Path, content: str | None, reason: str) -> None:
    file = tmp_path / "records.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    before = tree(shop)
    with pytest.raises(NotWritten, match=reason):
        convert("demo", "plain", "shop:plain", recorded=str(file))
    assert tree(shop) == before


def test_schemas_that_the_event_has_are_named_again(
    write_module: Callable[..., Path], import_manifests: Import
) -> None:
    own = {"response": {"type": "object", "properties": {"page": {}}}}
    folder = write_module({"listen": [remote("plain", schema=own)]}, {"shop.py": CODE})
    convert("demo", "plain", "shop:plain")
    made = json.loads((folder / "zolinga.json").read_text())["listen"][1]
    assert made["schema"] == {"request": "module://demo/schemas/plainRequest.json", **own}
    assert not (folder / "schemas/plainResponse.json").exists()
    assert import_manifests()["refused"] == []


def test_every_listener_of_the_event_runs_for_the_tool(
    write_module: Callable[..., Path], import_manifests: Import, mcp_client: McpClient
) -> None:
    more = {
        "second.py": "class Second:\n    def on(self, event):\n        event.response['second'] = True\n",
    }
    late = {"event": "shop:plain", "class": "\\Demo\\Second", "method": "on", "origin": "*", "priority": 0.2}
    folder = write_module({"listen": [late, remote("plain")]}, {"shop.py": CODE, **more})
    convert("demo", "plain", "shop:plain")
    made = json.loads((folder / "zolinga.json").read_text())["listen"][2:]
    assert [(entry["method"], entry.get("priority")) for entry in made] == [("on_plain", None), ("on", 0.2)]
    import_manifests()
    answer = mcp_client.call_tool("plain", {"shelf": "A"}).structured
    assert answer["second"] is True
    assert answer["title"] == "Shelf A"


def test_the_sugar_for_requests_is_an_event_like_others(
    write_module: Callable[..., Path], import_manifests: Import, mcp_client: McpClient
) -> None:
    entry = {"request": "plain", "class": "\\Demo\\Shop", "method": "on_plain"}
    write_module({"listen": [entry]}, {"shop.py": CODE})
    convert("demo", "plain", "plain")
    assert import_manifests()["refused"] == []
    assert mcp_client.call_tool("plain", {"shelf": "A"}).structured["title"] == "Shelf A"


@pytest.mark.parametrize(
    ("entry", "event", "reason"),
    [
        ({}, "shop:nothing", r"no event 'shop:nothing'\. Its remote events are: shop:plain"),
        ({"origin": ["internal"]}, "shop:plain", "not a remote one: its origins are internal"),
        ({"method": "on_nothing"}, "shop:plain", "cannot be used.*on_nothing"),
        ({"class": "\\Demo\\Nowhere"}, "shop:plain", "cannot be used.*Nowhere"),
        ({"priority": "high"}, "shop:plain", "is refused itself"),
        ({"event": "tool", "origin": ["remote", "mcp"]}, "tool", "has a tool 'tool' already"),
    ],
)
def test_what_cannot_be_converted_is_said(
    write_module: Callable[..., Path], entry: dict[str, Any], event: str, reason: str
) -> None:
    folder = write_module({"listen": [{**remote("plain"), **entry}]}, {"shop.py": CODE})
    before = tree(folder)
    with pytest.raises(NotWritten, match=reason):
        convert("demo", "tool", event)
    assert tree(folder) == before


def test_an_event_keeps_its_name_as_a_tool(
    write_module: Callable[..., Path], import_manifests: Import, mcp_client: McpClient
) -> None:
    write_module({"listen": [remote("plain", event="shelf")]}, {"shop.py": CODE})
    call_command("mcp_add_tool", "demo", "shelf", "--from", "shelf")
    assert import_manifests()["refused"] == []
    assert mcp_client.call_tool("shelf", {"shelf": "A"}).structured["size"] == 1
