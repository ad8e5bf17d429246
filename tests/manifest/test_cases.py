"""The handed cases of ``manifest.json`` that are about importing; what goes over HTTP is in ``tests/protocol``."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway import registry
from mcp_gateway.events import CallEvent
from mcp_gateway.events.handlers import load_handler
from mcp_gateway.models import ImportRun, Listener, Module, Scope, Tool
from tests.manifest.samples import FILES, messages, of, tool

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]


def demo_tools() -> set[str]:
    """The callable tools of the module demo."""
    return {
        name
        for name, entry in registry.snapshot().tools.items()
        if any(listener.module.module_id == "demo" for listener in entry.listeners)
    }


def test_MAN_01_a_manifest_with_a_byte_order_mark_is_imported(write_module: Write, import_manifests: Import) -> None:
    write_module(b"\xef\xbb\xbf" + b'{"name":"Demo","version":"1","listen":[]}')
    report = import_manifests()
    assert of(report["added"], kind="module", name="demo")
    assert report["refused"] == []
    assert Module.objects.get(module_id="demo").name == "Demo"


def test_MAN_03_of_two_listeners_the_higher_priority_describes_the_tool(
    write_module: Write, import_manifests: Import
) -> None:
    low = tool("dup", description="low", priority=0.1, schema={"response": {"type": "object", "title": "low"}})
    high = tool("dup", description="high", priority=0.9, schema={"response": {"type": "object", "title": "high"}})
    write_module({"listen": [low, high]}, FILES)
    import_manifests()
    entry = registry.snapshot().tools["dup"]
    assert (entry.description, json.loads(entry.output_schema)["title"]) == ("high", "high")
    assert [listener.priority for listener in entry.listeners] == [0.9, 0.1]


def test_MAN_03_a_listener_without_a_response_schema_does_not_describe_the_tool(
    write_module: Write, import_manifests: Import
) -> None:
    high = tool("dup", description="high", priority=0.9)
    del high["schema"]
    write_module({"listen": [tool("dup", description="low", priority=0.1), high]}, FILES)
    report = import_manifests()
    assert registry.snapshot().tools["dup"].description == "low"
    assert of(report["refused"], kind="tool", name="dup", pointer="/listen/1/schema/response")


def test_MAN_05_a_removed_tool_is_gone_and_comes_back_with_its_settings(
    write_module: Write, import_manifests: Import
) -> None:
    both = {"listen": [tool("a"), tool("b")]}
    write_module(both, FILES)
    import_manifests()
    row = Tool.objects.get(name="b")
    row.title_override = "Mine"
    row.rights_from = "administrator"
    row.save()
    row.required_scopes.add(Scope.objects.create(name="b:use"))

    write_module({"listen": [tool("a")]}, FILES)
    report = import_manifests()
    assert [remark["name"] for remark in report["removed"] if remark["kind"] == "tool"] == ["b"]
    assert demo_tools() == {"a"}
    assert not Listener.objects.filter(event="b").exists()

    write_module(both, FILES)
    import_manifests()
    entry = registry.snapshot().tools["b"]
    assert entry.title == "Mine"
    assert entry.rights == ("oauth2:scope b:use",)


@pytest.mark.parametrize("then", [None, b"{broken", {"type": "strin"}], ids=["deleted", "no JSON", "no schema"])
def test_MAN_07_a_lost_schema_serves_its_last_copy_until_the_next_import(
    write_module: Write, import_manifests: Import, then: Any
) -> None:
    folder = write_module({"listen": [tool("a"), tool("b", schema={"response": {"type": "object"}})]}, FILES)
    import_manifests()
    path = folder / "schema/o.json"
    if then is None:
        path.unlink()
    else:
        path.write_bytes(then if isinstance(then, bytes) else json.dumps(then).encode())
    registry.forget()
    assert registry.snapshot().tools["a"].output_schema == '{"type":"object"}'

    report = import_manifests()
    assert of(report["refused"], kind="tool", name="a")
    assert demo_tools() == {"b"}


def test_MAN_09_wildcards_and_protocol_names_are_no_tools(write_module: Write, import_manifests: Import) -> None:
    write_module(
        {
            "listen": [
                tool("demo-*"),
                tool("mcp:tools/list"),
                tool("any", origin=["*"]),
                tool("bare", origin="*", schema={}),
                tool("str", origin="mcp"),
                tool("none", origin=[]),
                tool("odd", origin=["mcp", "moon"]),
            ]
        },
        FILES,
    )
    report = import_manifests()
    # An origin “*” makes a tool where a response schema says that it is meant to be one.
    assert demo_tools() == {"any", "str"}
    assert Listener.objects.get(event="str").origins == ["mcp"]
    assert "moon" in messages(report["refused"], name="odd", pointer="/listen/6/origin")
    assert "never reached" in messages(report["warnings"], name="none", pointer="/listen/5/origin")
    assert of(report["warnings"], name="demo-*", pointer="/listen/0/event")
    assert of(report["warnings"], name="mcp:tools/list", pointer="/listen/1/event")


def test_MAN_11_names_are_never_changed_and_never_merged(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool(name) for name in ("café", "cafe", "数据", "a:b", "a-b")]}, FILES)
    report = import_manifests()
    assert demo_tools() == {"cafe", "a:b", "a-b"}
    assert {remark["name"] for remark in of(report["refused"])} == {"café", "数据"}
    assert "Some hosts refuse" in messages(report["warnings"], name="a:b")
    assert not messages(report["warnings"], name="a-b")


@pytest.mark.parametrize(
    "uri",
    [
        "module://demo/../../../../etc/passwd",
        "module://demo/%2e%2e/%2e%2e/secret.json",
        "module://demo/..%2Fsecret.json",
        "module://demo/schema/../../secret.json",
        "module://demo//etc/passwd",
        "module://demo/schema/link.json",
        "module://demo/linked/secret.json",
        "module://demo/",
        "module://demo",
        "module://nowhere/o.json",
        "module://demo/schema/o.json%00",
        "module://demo/schema/o.json#/x",
        "module://demo/schema/o.json?x",
        "module://demo/%ff.json",
        "module://demo/schema",
        "file:///etc/passwd",
        "/etc/passwd",
        "schema/o.json",
    ],
)
def test_MAN_13_MAN_15_no_file_outside_the_module_is_read(
    write_module: Write, import_manifests: Import, module_dir: Path, uri: str
) -> None:
    folder = write_module({"listen": [tool("esc", schema={"response": uri}), tool("fine")]}, FILES)
    secret = module_dir / "secret.json"
    secret.write_text('{"type": "object", "title": "TOP SECRET"}')
    (folder / "schema/link.json").symlink_to(secret)
    (folder / "linked").symlink_to(module_dir)
    report = import_manifests()
    assert demo_tools() == {"fine"}
    (refused,) = of(report["refused"], kind="tool", name="esc")
    assert refused["pointer"] == "/listen/0/schema/response"
    assert uri in refused["message"]
    assert "TOP SECRET" not in json.dumps(report)
    assert str(module_dir) not in json.dumps(report)
    assert not Listener.objects.filter(response_schema__contains="SECRET").exists()


def test_MAN_15_a_link_that_stays_inside_the_module_is_followed(write_module: Write, import_manifests: Import) -> None:
    folder = write_module({"listen": [tool("in", schema={"response": "module://demo/schema/link.json"})]}, FILES)
    (folder / "schema/link.json").symlink_to("o.json")
    import_manifests()
    assert demo_tools() == {"in"}


def test_MAN_19_a_broken_class_breaks_only_itself(
    write_module: Write, import_manifests: Import, caplog: pytest.LogCaptureFixture
) -> None:
    broken = {
        "syntax": ("syntax_error.py", "def ("),
        "leaves": ("leaves.py", "raise SystemExit(3)"),
        "raises": ("raises.py", "raise RuntimeError('boom')"),
        "missing import": ("missing_import.py", "import does_not_exist_anywhere"),
    }
    classes = {"syntax": "SyntaxError", "leaves": "Leaves", "raises": "Raises", "missing import": "MissingImport"}
    listen = [tool(name.replace(" ", "-"), **{"class": f"\\Demo\\{classes[name]}"}) for name in broken]
    listen += [
        tool("noclass", **{"class": "\\Nope\\Missing"}),
        tool("nometh", method="missing"),
        tool("private", method="_on"),
        tool("signature", method="no_argument"),
        tool("fine"),
    ]
    handler = FILES["handler.py"] + "\n    def _on(self, event): ...\n    def no_argument(self): ...\n"
    write_module({"listen": listen}, {**FILES, **dict(broken.values()), "handler.py": handler})
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        report = import_manifests()
    assert demo_tools() == {"fine"}
    refused = {remark["name"]: remark["message"] for remark in of(report["refused"], kind="listener")}
    assert set(refused) == {
        "syntax", "leaves", "raises", "missing-import", "noclass", "nometh", "private", "signature",
    }  # fmt: skip
    assert "boom" in refused["raises"]
    assert "does_not_exist_anywhere" in refused["missing-import"]
    assert "autoload" in refused["noclass"]
    places = {remark["name"]: remark["pointer"].rpartition("/")[2] for remark in of(report["refused"], kind="listener")}
    methods = {"nometh", "private", "signature"}
    assert places == {name: "method" if name in methods else "class" for name in refused}
    assert Listener.objects.get(event="nometh").problem == refused["nometh"]
    assert {name for name in refused if f" {name} " in caplog.text} == set(refused)


def test_MAN_21_what_a_listing_passes_through_survives(write_module: Write, import_manifests: Import) -> None:
    request = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://demo.example/r",
        "$comment": "kept",
        "type": "object",
        "$defs": {"A": {"$anchor": "a", "type": "string"}},
        "properties": {"p": {"$ref": "#a"}},
        "x-vendor": {"k": 1},
    }
    extras = {
        "annotations": {"title": "Rich", "readOnlyHint": True},
        "icons": [{"src": "https://x.example/i.png", "sizes": ["48x48"], "theme": "dark"}],
        "_meta": {"example.com/k": [1]},
    }
    schema = {"request": "module://demo/schema/r.json", "response": "module://demo/schema/o.json"}
    write_module(
        {"listen": [tool("rich", title="Rich tool", schema=schema, **extras, **{"x-note": 1})]},
        {**FILES, "schema/r.json": request},
    )
    report = import_manifests()
    entry = registry.snapshot().tools["rich"]
    assert entry.title == "Rich tool"
    assert json.loads(entry.extras) == extras
    assert list(json.loads(entry.input_schema).items()) == list(request.items())
    assert "x-note" in messages(report["warnings"], name="rich")


def test_MAN_23_each_bad_entry_is_reported_by_its_index(write_module: Write, import_manifests: Import) -> None:
    good = json.dumps(tool("good"))
    bad = json.dumps(tool("p"))[:-1]
    write_module(
        f'{{"listen":[null, 5, {{"event":5}}, {bad}, "priority":NaN}}, {bad}, "priority":1e400}}, '
        f'{bad}, "priority":"high"}}, {bad}, "event":"q"}}, {bad}, "title":"\\ud800"}}, {good}]}}',
        FILES,
    )
    report = import_manifests()
    assert demo_tools() == {"good"}
    pointers = {remark["pointer"].split("/")[2] for remark in of(report["refused"])}
    assert pointers == {"0", "1", "2", "3", "4", "5", "6", "7"}
    assert of(report["refused"], pointer="/listen/3/priority")[0]["message"] == "NaN is no JSON number."
    assert "1e400" in messages(report["refused"], pointer="/listen/4/priority")
    assert '"high"' in messages(report["refused"], pointer="/listen/5/priority")
    assert "more than once" in messages(report["refused"], pointer="/listen/6")
    stored = Module.objects.get(module_id="demo").manifest
    assert "NaN" not in stored
    assert "1e400" not in stored
    assert json.loads(ImportRun.objects.get().plan) == report


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"listen": {"a": 1}}', "“listen” must be a list of objects, not an object"),
        (b'{"listen": 5}', "“listen” must be a list of objects, not integer"),
        (b"[]", "its root must be an object, not array"),
        (b"", "it is empty"),
        (b'{"listen": [', "line 1 column 13"),
        (b'{"name": "\xff"}', "not UTF-8 (byte 10)"),
        ('{"name": "x"}'.encode("utf-16"), "not UTF-8"),
        (b'{"name": "a", "name": "b"}', '"name" stands in the object more than once'),
        (b"[" * 100_000, "nests too deep"),
        (b'{"x": "' + b"y" * (4 * 1024 * 1024) + b'"}', "more than 4194304 bytes"),
    ],
    ids=["object", "number", "list", "empty", "cut", "latin-1", "utf-16", "duplicate", "deep", "large"],
)
def test_MAN_23_a_manifest_that_cannot_be_read_leaves_its_module_as_it_was(
    write_module: Write, import_manifests: Import, content: bytes, said: str
) -> None:
    write_module({"name": "Demo", "listen": [tool("a")]}, FILES)
    import_manifests()
    write_module(content)
    report = import_manifests()
    assert said in messages(report["refused"], kind="module")
    row = Module.objects.get(module_id="demo")
    assert (row.name, row.present) == ("Demo", True)
    assert said in row.problem
    handler = registry.snapshot().tools["a"].listeners[0]
    event = CallEvent("a")
    load_handler(handler.module, handler.class_name, handler.method)(event)
    assert event.response == {"handled": "a"}
