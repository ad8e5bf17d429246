"""Each entry of a manifest: every form is imported, and a faulty one is refused by itself."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway import registry
from mcp_gateway.models import Listener, Module
from tests.manifest.samples import FILES, of, tool

ROOT = Path(__file__).resolve().parents[2]

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]


def test_every_form_of_entry_is_imported(write_module: Write, import_manifests: Import) -> None:
    write_module(
        {
            "#": "a comment",
            "name": "Demo",
            "version": 1.5,
            "description": "Everything",
            "authors": ["A <a@b.example>"],
            "attributes": {},
            "config": {"demo": {"#why": "x", "limit": 3}},
            "webComponents": [{"tag": "x-y", "module": "x.js"}],
            "dependencies": ["example@main"],
            "emit": [{"event": "demo:*", "class": "\\X", "origin": ["internal"]}],
            "autoload": {"Other\\Space\\": "src/", "Whole\\Name": "src/whole.py", "Whole\\Folder": "src"},
            "listen": [
                {"#note": 1, "service": "clock", "class": "\\Demo\\Handler", "origin": ["*"]},
                {"request": "ping", "class": "Demo\\Handler", "method": "on"},
                {"event": "a", "class": "\\Other\\Space\\Thing", "method": "onCamelCase", "origin": "cli"},
                {"event": "b", "class": "Whole\\Name", "method": "on", "origin": ["internal", "remote", "internal"]},
                {"event": "c", "class": "Whole\\Folder", "method": "on", "origin": "custom", "priority": 0.001},
                {"event": "d:*", "class": "\\Demo\\Handler", "method": "on", "origin": ["*"], "priority": 0},
                tool("e", right=False, schema={"request": {"#c": 1, "type": "object"}, "response": {"type": "object"}}),
                tool("f", right="", atomic=False, visibility="unlisted", needs=["x"], title="F", priority=1),
                tool(
                    "g",
                    right=None,
                    description=None,
                    single_use=True,
                    schema={"response": "module://demo/schema/o.json"},
                ),
                tool("h", task="optional"),
                tool("i", task="required", atomic=True),
            ],
        },
        {
            **FILES,
            "src/thing.py": FILES["handler.py"].replace("Handler", "Thing"),
            "src/whole.py": FILES["handler.py"].replace("Handler", "Name"),
            "src/folder.py": FILES["handler.py"].replace("Handler", "Folder"),
        },
    )
    report = import_manifests()
    assert of(report["refused"]) == []
    rows = {row.event: row for row in Listener.objects.filter(module__module_id="demo")}
    assert {event: row.origins for event, row in rows.items()} == {
        "system:service:clock": ["internal"],
        "system:request:ping": ["remote"],
        "a": ["cli"],
        "b": ["internal", "remote"],
        "c": ["custom"],
        "d:*": ["*"],
        "e": ["mcp"],
        "f": ["mcp"],
        "h": ["mcp"],
        "i": ["mcp"],
        "g": ["mcp"],
    }
    assert {event: rows[event].priority for event in ("a", "c", "d:*", "f")} == {"a": 0.5, "c": 0.001, "d:*": 0, "f": 1}
    assert (rows["f"].atomic, rows["f"].visibility, rows["f"].title) == (False, "unlisted", "F")
    assert (rows["f"].needs, rows["f"].single_use, rows["g"].single_use) == (["x"], False, True)
    assert [(rows[event].task, rows[event].atomic) for event in "ghi"] == [
        ("", None),
        ("optional", None),
        ("required", True),
    ]
    assert rows["e"].request_schema == '{"type":"object"}'
    module = Module.objects.get(module_id="demo")
    assert (module.name, module.version, module.description) == ("Demo", "1.5", "Everything")
    stored = json.loads(module.manifest)
    assert list(stored)[:3] == ["#", "name", "version"]
    assert stored["emit"][0]["event"] == "demo:*"
    assert json.loads(module.autoload)["Other\\Space\\"] == "src/"


@pytest.mark.parametrize(
    ("keys", "pointer", "said"),
    [
        ({"event": None}, "/event", "needs an “event”"),
        ({"event": 5}, "/event", "must be text, not integer"),
        ({"event": "x" * 600}, "/event", "at most"),
        ({"event": "a\0b"}, "/event", "NUL"),
        ({"class": None}, "/class", "needs a “class”"),
        ({"method": None}, "/method", "needs a “method”"),
        ({"method": 5}, "/method", "must be text"),
        ({"origin": ["moon"]}, "/origin", '"moon" is unknown'),
        ({"origin": [["mcp"]]}, "/origin", "is unknown"),
        ({"priority": True}, "/priority", "must be a number"),
        ({"priority": "0.7"}, "/priority", "must be a number"),
        ({"priority": 10**400}, "/priority", "must be a number"),
        ({"right": ["x"]}, "/right", "must be text"),
        ({"right": True}, "/right", "must be text"),
        ({"schema": "module://demo/schema/o.json"}, "/schema", "must be an object"),
        ({"visibility": "secret"}, "/visibility", "must be one of"),
        ({"atomic": "no"}, "/atomic", "true or false"),
        ({"single_use": 1}, "/single_use", "true or false"),
        ({"needs": ["roots", 1]}, "/needs", "list of capabilities"),
        ({"task": True}, "/task", "must be one of optional, required"),
        ({"task": "always"}, "/task", "must be one of"),
        ({"title": "x" * 501}, "/title", "at most 500"),
        ({"description": ["x"]}, "/description", "must be text"),
        ({"annotations": {"readOnlyHint": "yes"}}, "/annotations/readOnlyHint", "true or false"),
        ({"annotations": []}, None, ""),
        ({"annotations": 3}, "/annotations", "object"),
        ({"icons": {"src": "x"}}, "/icons", "list"),
        ({"icons": [{"src": "javascript:alert(1)"}]}, "/icons/0/src", "https:"),
        ({"icons": [{"src": "https://x/y", "sizes": "48x48"}]}, "/icons/0/sizes", "list"),
        ({"_meta": "x"}, "/_meta", "object"),
    ],
)
def test_a_faulty_entry_is_refused_with_its_pointer_and_the_rest_is_imported(
    write_module: Write, import_manifests: Import, keys: dict[str, Any], pointer: str | None, said: str
) -> None:
    write_module({"listen": [tool("odd", **keys), tool("fine")]}, FILES)
    report = import_manifests()
    refused = of(report["refused"])
    if pointer is None:
        assert refused == []
        return
    assert [remark["pointer"] for remark in refused] == [f"/listen/0{pointer}"]
    assert said in refused[0]["message"]
    assert set(registry.snapshot().tools) >= {"fine"}
    assert not {"odd", ""} & set(registry.snapshot().tools)


def test_a_tool_without_a_response_schema_is_reported_logged_and_not_callable(
    write_module: Write, import_manifests: Import, caplog: pytest.LogCaptureFixture
) -> None:
    write_module({"listen": [tool("silent", schema={"request": {"type": "object"}}), tool("fine")]}, FILES)
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        report = import_manifests()
    assert of(report["refused"], kind="tool", name="silent", pointer="/listen/0/schema/response")
    lines = [record.getMessage() for record in caplog.records if record.name == "mcp_gateway.imports"]
    assert len([line for line in lines if "silent" in line]) == 1
    snapshot = registry.snapshot()
    assert "silent" not in snapshot.tools
    assert snapshot.matching("silent", "mcp") == ()
    assert "schema.response" in Listener.objects.get(event="silent").problem


def test_a_name_cannot_forge_a_line_of_the_log(
    write_module: Write, import_manifests: Import, caplog: pytest.LogCaptureFixture
) -> None:
    write_module({"listen": [tool("x\nERROR mcp_gateway: all is lost", schema={})]}, FILES)
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        import_manifests()
    lines = [record.getMessage() for record in caplog.records if "all is lost" in record.getMessage()]
    assert lines
    assert not any("\n" in line for line in lines)


@pytest.mark.parametrize(
    ("origins", "others"), [(["mcp", "remote", "cli"], ["remote", "cli"]), (["*"], ["remote", "cli", "internal"])]
)
def test_a_listener_refused_as_a_tool_goes_on_serving_its_other_origins(
    write_module: Write, import_manifests: Import, origins: list[str], others: list[str]
) -> None:
    write_module({"listen": [tool("both", origin=origins, schema={"response": {"type": "strin"}})]}, FILES)
    import_manifests()
    snapshot = registry.snapshot()
    assert all(snapshot.matching("both", origin) for origin in others)
    assert snapshot.matching("both", "mcp") == ()
    assert "both" not in snapshot.tools
    row = Listener.objects.get(event="both")
    assert row.problem == ""
    assert "response schema" in row.tool_problem


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\u2066", "\U000e0041", "\x1b"])
def test_characters_that_people_do_not_see_are_pointed_out(
    write_module: Write, import_manifests: Import, hidden: str
) -> None:
    text = f"Adds{hidden} numbers."
    schema = {"response": {"type": "object", "description": f"Adds{hidden if ord(hidden) > 31 else ''} numbers."}}
    write_module({"listen": [tool("add", description=text, title=text, schema=schema)]}, FILES)
    report = import_manifests()
    assert not report["refused"]
    places = {entry["pointer"] for entry in report["warnings"] if f"U+{ord(hidden):04X}" in entry["message"]}
    seen = {"/listen/0/description", "/listen/0/title"}
    assert places == (seen | {"/listen/0/schema/response"} if ord(hidden) > 31 else seen)
    assert registry.snapshot().tools["add"].description == text


def test_what_scripts_and_emoji_need_is_no_hidden_text(write_module: Write, import_manifests: Import) -> None:
    text = "Line one\n\tmit Ümläut, نمی‌خواهم, 👩‍💻, \u05d0\u200e."
    write_module({"listen": [tool("add", description=text)]}, FILES)
    assert not [entry for entry in import_manifests()["warnings"] if "U+" in entry["message"]]


@pytest.mark.parametrize(
    ("key", "value", "guard"),
    [
        ("rigth", "staff", "right"),
        ("Right", "staff", "right"),
        ("rights", ["staff"], "right"),
        ("scope", "mcp:tools", "right"),
        ("permissions", "shop.view_order", "right"),
        ("visiblity", "off", "visibility"),
    ],
)
def test_a_tool_whose_guard_is_misspelt_is_refused_and_not_open_to_everyone(
    key: str, value: Any, guard: str, write_module: Write, import_manifests: Import
) -> None:
    write_module({"listen": [tool("a", **{key: value}), tool("b")]}, FILES)
    (refused,) = of(import_manifests()["refused"])
    assert (refused["name"], refused["pointer"]) == ("a", f"/listen/0/{key}")
    assert refused["message"] == f'The key "{key}" is unknown and guards nothing. Write “{guard}”.'
    assert {"a", "b"} & set(registry.snapshot().tools) == {"b"}


def test_an_unknown_key_is_told_with_the_one_that_it_looks_like(write_module: Write, import_manifests: Import) -> None:
    entry = tool("a", descripton="x", vendor=1, annotations={"readonlyHint": True, "title": "A"})
    write_module({"listen": [entry], "emits": [], "x": 1}, FILES)
    told = {one["pointer"]: one["message"].partition(" is unknown")[2] for one in of(
        import_manifests()["warnings"]
    )}  # fmt: skip
    assert told == {
        "/listen/0/descripton": ' and does nothing. Is "description" meant?',
        "/listen/0/vendor": " and does nothing.",
        "/listen/0/annotations/readonlyHint": '. Is "readOnlyHint" meant?',
        "/emits": ' and does nothing. Is "emit" meant?',
        "/x": " and does nothing.",
    }


def test_a_handler_that_would_run_twice_for_one_event_is_pointed_out(
    write_module: Write, import_manifests: Import
) -> None:
    page = {key: value for key, value in tool("a").items() if key != "schema"} | {"origin": ["remote"]}
    other = page | {"origin": ["*"], "method": "onOther"}
    write_module(
        {"listen": [tool("a"), page, tool("b"), tool("a"), page | {"origin": ["cli", "remote"]}, other]}, FILES
    )
    told = {one["pointer"]: one["message"] for one in of(import_manifests()["warnings"])}
    assert told["/listen/3"] == "/listen/0 has the same handler for the same event, so it runs twice."
    assert told["/listen/4"] == "/listen/1 has the same handler for the same event, so it runs twice."
    assert not told.keys() & {"/listen/0", "/listen/1", "/listen/2", "/listen/5"}
