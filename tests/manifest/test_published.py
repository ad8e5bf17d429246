"""Resources and prompts by files: what an import takes, refuses and keeps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.manifest.drift import findings
from mcp_gateway.manifest.watch import counts
from mcp_gateway.models import ImportRun, Prompt, Resource, Scope
from tests.manifest.samples import messages, of

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]

SAYS = [{"role": "user", "content": {"type": "text", "text": "x"}}]
GOOD = {"mcp/resources/good.md": "g", "mcp/resources/good.md.meta.json": {}}
URI = "mcp-system:demo:good.md"


def resource(meta: Any, name: str = "bad") -> dict[str, Any]:
    """A meta file beside a sound one."""
    return {**GOOD, f"mcp/resources/{name}.meta.json": meta}


def prompt(meta: Any) -> dict[str, Any]:
    """A prompt beside a sound resource."""
    return {**GOOD, "mcp/prompts/bad.meta.json": meta}


def says(content: Any) -> dict[str, Any]:
    """A prompt of one message."""
    return prompt({"messages": [{"role": "user", "content": content}]})


HANDLER = "class Handler:\n    def on(self, event):\n        return None\n"


def listener(event: str, right: str = "") -> dict[str, Any]:
    """An entry that provides."""
    return {"event": event, "class": "\\Demo\\Handler", "method": "on", "origin": ["mcp"], "right": right}


@pytest.mark.parametrize(
    ("files", "pointer", "cure"),
    [
        (resource("no json"), "", "no JSON"),
        (resource("[]"), "", "must hold an object"),
        (resource('{"title": "a", "title": "b"}'), "", "more than once"),
        (resource({}), "", "does not exist"),
        (resource({"content": {"text": "x"}, "title": 5}), "/title", "must be text"),
        (resource({"content": {"text": "x"}, "mimeType": "text"}), "/mimeType", "no MIME type"),
        (resource({"content": {"text": "x"}, "right": 5}), "/right", "must be text"),
        (resource({"content": {"text": "x"}, "right": 0}), "/right", "must be text"),
        (resource({"content": {"text": "x"}, "zolinga": {"rights": "staff"}}), "/zolinga/rights", "“right” is known"),
        (resource({"content": {"text": "x"}, "rights": "staff"}), "/rights", "Write “right”"),
        (resource({"content": {"text": "x"}, "right": "a", "zolinga": {"right": "b"}}), "/zolinga/right", "two rights"),
        (resource({"content": {"text": "x"}, "visibility": "seen"}), "/visibility", "must be one of"),
        (resource({"content": {"text": "x"}, "tenants": ["admin"]}), "/tenants", "tenant"),
        (resource({"content": {"text": "x"}, "uri": "shop:1"}), "/uri", '"schemes": ["shop"]'),
        (resource({"content": {"text": "x"}, "uri": "file:///etc/passwd"}), "/uri", "never reaches a client"),
        (resource({"content": {"text": "x"}, "uri": "/etc/passwd"}), "/uri", "no URI"),
        (resource({"content": {"text": "x"}, "uri": "C:\\x"}), "/uri", "no URI"),
        (resource({"content": {}}), "/content", "“content” is an object"),
        (resource({"content": {"uri": "../../../outside.md"}}), "/content/uri", "leads out"),
        (resource({"content": {"uri": "module://other/x.md"}}), "/content/uri", "not here"),
        (resource({"uri": "module://demo/none.md"}), "/uri", "does not exist"),
        (resource({"uriTemplate": "mcp-demo:{a}{b}"}), "/uriTemplate", "Put text between"),
        (resource({"uriTemplate": "shop:{a}"}), "/uriTemplate", "does not declare"),
        (resource({"uriTemplate": "{a}:b"}), "/uriTemplate", "no URI"),
        (resource({"uriTemplate": "mcp-demo:{a}", "uri": "mcp-demo:1"}), "/uriTemplate", "not both"),
        (resource({"uriTemplate": "mcp-demo:{a}", "arguments": [{"name": "b"}]}), "/arguments/0", "no variable"),
        (resource({"uriTemplate": "mcp-demo:{a}", "content": {"text": "x"}}), "/content", "no content of its own"),
        (resource({"content": {"text": "x"}, "annotations": {"priority": 2}}), "/annotations/priority", "0 to 1"),
        (resource({"content": {"text": "x"}, "annotations": {"audience": ["x"]}}), "/annotations/audience", "list of"),
        (resource({"content": {"text": "x"}, "icons": [{"src": "file:///x"}]}), "/icons/0/src", "clients refuse"),
        (resource({"content": {"text": "x"}, "_meta": 5}), "/_meta", "object"),
        (prompt({}), "/messages", "“messages” is missing"),
        (prompt({"messages": []}), "/messages", "at least one"),
        (prompt({"messages": ["x"]}), "/messages/0", "“role” and “content”"),
        (prompt({"messages": SAYS, "arguments": [{"title": "x"}]}), "/arguments/0", "“name”"),
        (prompt({"messages": SAYS, "arguments": [{"name": "a"}, {"name": "a"}]}), "/arguments/1", "twice"),
        (prompt({"messages": SAYS, "arguments": [{"name": "a", "enum": [1]}]}), "/arguments/0/enum", "list of texts"),
        (prompt({"messages": SAYS, "name": "a\nb"}), "/name", "control characters"),
        (says("text"), "/messages/0/content", "one object"),
        (says({"type": "video"}), "/messages/0/content", "one object"),
        (says({"type": "text"}), "/messages/0/content/text", "needs a “text”"),
        (says({"type": "text", "uri": "none.md"}), "/messages/0/content/uri", "does not exist"),
        (says({"type": "text", "uri": "/etc/passwd"}), "/messages/0/content/uri", "does not exist"),
        (says({"type": "image", "data": "%", "mimeType": "image/png"}), "/messages/0/content/data", "base64"),
        (says({"type": "image", "data": "eA=="}), "/messages/0/content/mimeType", "mimeType"),
        (
            says({"type": "resource", "resource": {"uri": "module://demo/x", "text": "x"}}),
            "/messages/0/content/resource/uri",
            "never see module://",
        ),
        (
            says({"type": "resource", "uri": "module://demo/mcp/resources/good.md"}),
            "/messages/0/content/resource",
            '"resource": {"uri": "mcp-system:',
        ),
        (
            says({"type": "resource_link", "uri": "file:///x", "name": "x"}),
            "/messages/0/content/uri",
            "does not declare",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_cure_and_spoils_only_itself(
    write_module: Write, import_manifests: Import, files: dict[str, Any], pointer: str, cure: str
) -> None:
    folder = write_module({}, {**files, "../outside.md": "secret"})
    report = import_manifests()
    (refused,) = of(report["refused"])
    assert refused["pointer"] == pointer
    assert cure in refused["message"]
    assert refused["file"] in files
    assert str(folder) not in refused["message"]
    assert [row.uri for row in Resource.objects.filter(available=True, module__module_id="demo")] == [URI]
    assert not Prompt.objects.filter(available=True, module__module_id="demo").exists()
    # Nothing lost: the row is there, with its problem.
    rows = [*Resource.objects.filter(available=False), *Prompt.objects.filter(available=False)]
    assert [cure in row.problem for row in rows] == [True]
    again = import_manifests()
    assert (of(again["added"]), of(again["changed"])) == ([], [])


def test_a_second_import_writes_nothing(write_module: Write, import_manifests: Import) -> None:
    write_module({}, {**GOOD, "mcp/prompts/p.meta.json": {"messages": SAYS}})
    first = import_manifests()
    assert {(one["kind"], one["name"]) for one in of(first["added"])} >= {
        ("resource", URI), ("prompt", "mcp-system:demo:p"),
    }  # fmt: skip
    runs = ImportRun.objects.count()
    second = import_manifests()
    assert {(one["kind"], one["name"]) for one in of(second["unchanged"])} >= {
        ("resource", URI), ("prompt", "mcp-system:demo:p"),
    }  # fmt: skip
    assert ImportRun.objects.count() == runs


def test_changed_content_is_a_change_and_comes_whole(write_module: Write, import_manifests: Import) -> None:
    folder = write_module({}, GOOD)
    import_manifests()
    (folder / "mcp/resources/good.md").write_text("changed")
    (changed,) = of(import_manifests()["changed"], kind="resource")
    assert "content_digest" in changed["message"]
    assert bytes(Resource.objects.get(uri=URI).content or b"") == b"changed"


def test_what_is_gone_is_retired_and_comes_back_with_its_settings(
    write_module: Write, import_manifests: Import
) -> None:
    folder = write_module({}, GOOD)
    import_manifests()
    Resource.objects.get(uri=URI).required_scopes.add(Scope.objects.get(name="mcp:tools"))
    meta = folder / "mcp/resources/good.md.meta.json"
    kept = meta.read_text()
    meta.unlink()
    (removed,) = of(import_manifests()["removed"], kind="resource")
    assert "its settings are kept" in removed["message"]
    assert not Resource.objects.get(uri=URI).available
    meta.write_text(kept)
    import_manifests()
    row = Resource.objects.get(uri=URI)
    assert row.available
    assert row.required_scopes.exists()


def test_a_file_that_breaks_keeps_its_row_also_where_it_had_a_name_of_its_own(
    write_module: Write, import_manifests: Import
) -> None:
    folder = write_module({"schemes": ["shop"]}, resource({"uri": "shop:1", "content": {"text": "x"}}, "own"))
    import_manifests()
    (folder / "mcp/resources/own.meta.json").write_text("{")
    import_manifests()
    row = Resource.objects.get(uri="shop:1")
    assert (row.available, "no JSON" in row.problem) == (False, True)
    assert Resource.objects.filter(module__module_id="demo").count() == 2


def test_two_files_of_one_name_are_told_and_the_first_serves(write_module: Write, import_manifests: Import) -> None:
    meta = {"uri": "mcp-shop:1", "content": {"text": "x"}}
    write_module({}, {"mcp/resources/a.meta.json": meta, "mcp/resources/b.meta.json": meta})
    write_module({}, {"mcp/resources/c.meta.json": meta}, module="other")
    report = import_manifests()
    assert "demo/mcp/resources/a.meta.json publishes the same" in messages(report["refused"])
    assert "publishes the same" in messages(report["refused"], module="other")
    assert Resource.objects.get(uri="mcp-shop:1").file == "mcp/resources/a.meta.json"
    again = import_manifests("--module", "other")
    assert Resource.objects.get(uri="mcp-shop:1").module.module_id == "demo"
    assert of(again["changed"], module="other") == []


@pytest.mark.parametrize("broken", [False, True])
def test_no_other_file_takes_over_what_one_publishes_and_guards(
    write_module: Write, import_manifests: Import, broken: bool
) -> None:
    meta = {"uri": "mcp-shop:1", "content": {"text": "x"}}
    folder = write_module({}, {"mcp/resources/b.meta.json": {**meta, "right": "staff"}})
    import_manifests()
    if broken:
        (folder / "mcp/resources/b.meta.json").write_text("{")
    (folder / "mcp/resources/a.meta.json").write_text(json.dumps(meta))
    write_module({}, {"mcp/resources/c.meta.json": meta}, module="another")
    report = import_manifests()
    for module in ("demo", "another"):
        assert "demo/mcp/resources/b.meta.json publishes the same" in messages(report["refused"], module=module)
    row = Resource.objects.get(uri="mcp-shop:1")
    assert (row.file, row.right, row.available) == ("mcp/resources/b.meta.json", "staff", not broken)


def test_a_link_out_of_the_module_is_not_followed(
    write_module: Write, import_manifests: Import, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("secret")
    folder = write_module({}, {"mcp/resources/leak.md.meta.json": {}})
    (folder / "mcp/resources/leak.md").symlink_to(tmp_path / "secret.md")
    os.symlink(tmp_path / "secret.md", folder / "mcp/resources/meta.meta.json")
    assert messages(import_manifests()["refused"]).count("leads out of its module") == 2


def test_content_has_a_limit_and_text_is_utf8(write_module: Write, import_manifests: Import, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_RESULT_BYTES": 10}
    write_module(
        {},
        {
            "mcp/resources/big.md": "x" * 11, "mcp/resources/big.md.meta.json": {},
            "mcp/resources/latin.md": b"\xe9", "mcp/resources/latin.md.meta.json": {},
        },
    )  # fmt: skip
    said = messages(import_manifests()["refused"])
    assert "more than 10 bytes" in said
    assert "not UTF-8" in said


def test_a_file_that_is_being_written_is_not_taken_half(
    write_module: Write, import_manifests: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_module({}, GOOD)
    real = os.fstat
    sizes = iter(range(1000))

    def changing(descriptor: int) -> Any:
        found = real(descriptor)
        return os.stat_result((*found[:6], next(sizes), *found[7:10]))

    monkeypatch.setattr(os, "fstat", changing)
    assert "is being written" in messages(import_manifests()["refused"])


def test_a_right_makes_its_scopes_and_a_strange_one_is_told(write_module: Write, import_manifests: Import) -> None:
    write_module(
        {},
        {
            "mcp/resources/a.meta.json": {"content": {"text": "x"}, "right": "oauth2:scope shop:read"},
            "mcp/prompts/b.meta.json": {"messages": SAYS, "right": "wizard"},
        },
    )
    report = import_manifests()
    assert Scope.objects.filter(name="shop:read").exists()
    assert "held by nobody" in messages(report["warnings"], kind="prompt")


@pytest.mark.parametrize(
    ("right", "others", "told"),
    [
        ("oauth2:scope a", [""], True),
        ("oauth2:scope a b", ["oauth2:scope a"], True),
        ("oauth2:scope a", ["oauth2:scope a|b"], True),
        ("staff", ["authenticated"], True),
        ("oauth2:scope a", ["oauth2:scope a b"], False),
        ("oauth2:scope a b", ["oauth2:scope a", "oauth2:scope b"], False),
        ("oauth2:scope a|b", ["oauth2:scope a"], False),
        ("staff", ["", " staff "], False),
        ("", [""], False),
    ],
)
@pytest.mark.parametrize(
    ("file", "meta", "event"),
    [
        ("mcp/resources/day.meta.json", {"uriTemplate": "shop:log/{day}"}, "mcp:resources/read:shop"),
        ("mcp/resources/day.meta.json", {"uri": "shop:log"}, "mcp:resources/read:*"),
        ("mcp/prompts/day.meta.json", {"name": "daily"}, "mcp:prompts/get:daily"),
    ],
)
def test_a_listener_that_needs_less_than_the_file_is_told(
    write_module: Write,
    import_manifests: Import,
    file: str,
    meta: dict[str, str],
    event: str,
    right: str,
    others: list[str],
    told: bool,
) -> None:
    write_module({"schemes": ["shop"], "listen": [listener(event, right) for right in others]}, {
        "handler.py": HANDLER, file: {**meta, "right": right},
    })  # fmt: skip
    remarks = [one for one in of(import_manifests()["warnings"]) if "needs less" in one["message"]]
    assert len(remarks) == told
    for remark in remarks:
        assert (remark["file"], remark["pointer"]) == (file, "/right")
        assert f"The listener of {event.replace('*', 'shop')} needs less" in remark["message"]
        assert f'put "right": "{right}" on that listener in zolinga.json' in remark["message"]


def test_a_key_that_looks_misspelt_is_told_and_passed_on(write_module: Write, import_manifests: Import) -> None:
    meta = {"mimeTyp": "text/plain", "annotation": {}, "vendor": 1, "content": {"text": "x"}}
    write_module({}, {
        "mcp/resources/a.meta.json": meta,
        "mcp/prompts/p.meta.json": {"messages": SAYS, "arguments": [{"name": "a", "requird": True}]},
    })  # fmt: skip
    told = {one["pointer"]: one["message"] for one in of(import_manifests()["warnings"])}
    assert {pointer: message.rpartition("Is ")[2] for pointer, message in told.items()} == {
        "/mimeTyp": '"mimeType" meant?',
        "/annotation": '"annotations" meant?',
        "/arguments/0/requird": '"required" meant?',
    }
    assert '"mimeTyp"' in Resource.objects.get(name="a", module__module_id="demo").extras


@pytest.mark.parametrize(
    ("event", "meant"),
    [
        ("mcp:resource/read:shop", "mcp:resources/read:shop"),
        ("mcp:prompts/get", "mcp:prompts/get:<scheme>"),
        ("mcp:prompt/list", "mcp:prompts/list"),
        ("mcp:completion/completion", "mcp:completion/complete"),
        ("mcp:tools/call", ""),
        ("mcp:resources/subscribe", ""),
        ("mcp:ping", ""),
    ],
)
def test_a_misspelt_provider_is_told_what_it_means(
    write_module: Write, import_manifests: Import, event: str, meant: str
) -> None:
    write_module({"listen": [listener(event)]}, {"handler.py": HANDLER})
    (message,) = (one["message"] for one in of(import_manifests()["warnings"]) if one["pointer"].endswith("/event"))
    assert message.partition("Did you mean ")[2] == (f'"{meant}"? That provides.' if meant else "")


def test_what_looks_like_an_argument_and_is_none_is_told(write_module: Write, import_manifests: Import) -> None:
    block = {"type": "text", "text": "{{a}} {{ b }}"}
    write_module({}, {"mcp/prompts/p.meta.json": {"arguments": [{"name": "a"}], "messages": [{"content": block}]}})
    said = messages(import_manifests()["warnings"], kind="prompt")
    assert 'No argument is called "b"' in said
    assert "it counts as user" in said


def test_schemes_are_declared_by_the_manifest_and_by_reading_listeners(
    write_module: Write, import_manifests: Import
) -> None:
    write_module({"schemes": ["Shop", "file", 5]}, resource({"uri": "SHOP:1", "content": {"text": "x"}}, "s"))
    report = import_manifests()
    assert [one["pointer"] for one in of(report["refused"])] == ["/schemes/1", "/schemes/2"]
    assert Resource.objects.filter(uri="SHOP:1", available=True).exists()


def test_a_dry_run_writes_no_resource(write_module: Write, import_manifests: Import) -> None:
    write_module({}, GOOD)
    assert of(import_manifests("--dry-run")["added"], kind="resource")
    assert not Resource.objects.exists()


def test_drift_tells_of_what_nothing_answers_for(write_module: Write, import_manifests: Import) -> None:
    files = {
        "mcp/resources/lost.meta.json": {"uriTemplate": "mcp-lost:{id}"},
        "mcp/resources/off.meta.json": {"uriTemplate": "mcp-off:{id}", "visibility": "off"},
        "mcp/resources/read.meta.json": {"uriTemplate": "mcp-read:{id}"},
        "mcp/resources/web.meta.json": {"uri": "https://shop.example.com/prices"},
    }
    write_module({"listen": [listener("mcp:resources/read:mcp-read")]}, {"handler.py": HANDLER, **GOOD, **files})
    import_manifests()
    assert [(one.subject, one.message) for one in findings() if one.kind.number == 30] == [
        ("resource mcp-lost:{id}", "No listener answers to mcp:resources/read:mcp-lost; every read fails.")
    ]


def test_drift_tells_of_changed_and_refused_files(write_module: Write, import_manifests: Import) -> None:
    folder = write_module({}, resource("{"))
    import_manifests()

    def said() -> str:
        return "\n".join(f"{found.subject}: {found.message}" for found in findings())

    assert "mcp-system:demo:bad" in said()
    assert "Files changed" not in said()
    (folder / "mcp/resources/good.md").write_text("changed")
    assert 'Files changed since their import: "mcp/resources/good.md.meta.json"' in said()


@pytest.mark.parametrize(
    ("path", "expected"),
    [("m/zolinga.json", True), ("m/mcp/resources/a.md", True), ("m/mcp/prompts/x/a.png", True), ("m/docs/a.md", False)],
)
def test_watching_sees_what_an_import_reads(path: str, expected: bool) -> None:
    assert counts(Path(path)) is expected
