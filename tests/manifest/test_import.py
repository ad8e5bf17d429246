"""What an import writes, records and reports, and what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mcp_gateway import registry
from mcp_gateway.manifest import apply
from mcp_gateway.manifest.report import render
from mcp_gateway.models import Generation, ImportRun, Listener, Module, Scope, Tool
from mcp_gateway.rights import Principal, decide
from tests.manifest.samples import FILES, messages, of, tool

ROOT = Path(__file__).resolve().parents[2]

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]


def test_the_second_run_writes_nothing(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool("a", right="oauth2:scope new:scope"), tool("b", schema={}), None]}, FILES)
    import_manifests()
    before = Generation.current()
    runs = ImportRun.objects.count()
    with CaptureQueriesContext(connection) as queries:
        report = import_manifests()
    written = [query["sql"] for query in queries if not query["sql"].startswith("SELECT")]
    assert written == []
    assert len(queries) < 10
    assert report["added"] == report["changed"] == report["removed"] == []
    assert {remark["name"] for remark in of(report["unchanged"], kind="listener")} == {"a", "b"}
    assert of(report["refused"])
    assert Generation.current() == before
    assert ImportRun.objects.count() == runs


def test_a_dry_run_reports_the_same_and_writes_nothing(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool("a"), tool("b", schema={})]}, FILES)
    planned = import_manifests("--dry-run")
    assert not Module.objects.exists()
    assert not ImportRun.objects.exists()
    assert import_manifests() == planned


def test_a_run_is_recorded_with_who_where_and_what(
    write_module: Write, import_manifests: Import, module_dir: Path
) -> None:
    write_module({"listen": [tool("a"), tool("b", schema={})]}, FILES)
    report = import_manifests()
    assert set(report) == {"added", "changed", "removed", "unchanged", "refused", "warnings"}
    for remark in (remark for remarks in report.values() for remark in remarks):
        assert set(remark) >= {"module", "kind", "name", "pointer", "message"}
    run = ImportRun.objects.get()
    assert (run.outcome, run.folders) == ("applied", [str(module_dir)])
    assert run.host
    assert run.refused == len(report["refused"]) == 1
    assert json.loads(run.plan) == report


def test_what_an_administrator_decided_is_never_overwritten(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool("a")]}, FILES)
    import_manifests()
    row = Tool.objects.get(name="a")
    row.enabled = False
    row.title_override, row.description_override, row.visibility_override = "T", "D", "unlisted"
    row.rights_from = "manifest"
    row.save()
    row.required_scopes.add(Scope.objects.create(name="a:use"))
    write_module({"listen": [tool("a", title="New", description="New", visibility="off", right="staff")]}, FILES)
    report = import_manifests()
    assert 'description: "x" → "New"' in messages(report["changed"], kind="tool", name="a")
    row = Tool.objects.get(name="a")
    assert (row.enabled, row.title_override, row.description_override) == (False, "T", "D")
    assert (row.visibility_override, row.rights_from) == ("unlisted", "manifest")
    assert [scope.name for scope in row.required_scopes.all()] == ["a:use"]
    assert (row.title, row.description, row.visibility) == ("New", "New", "off")


def test_scopes_that_nobody_defined_are_made_closed_and_pointed_out(
    write_module: Write, import_manifests: Import
) -> None:
    Scope.objects.create(name="known:one", description="Known", enabled=False)
    write_module(
        {"listen": [tool("a", right="oauth2:scope known:one new:one|new:two"), tool("b", right='oauth2:scope bad"x')]},
        FILES,
    )
    report = import_manifests()
    made = Scope.objects.get(name="new:one")
    assert (made.enabled, made.self_service, made.is_default, made.description) == (True, False, False, "")
    assert not Scope.objects.get(name="known:one").enabled
    assert {remark["name"] for remark in of(report["added"], kind="scope")} == {"new:one", "new:two"}
    assert "consent text" in messages(report["warnings"], kind="scope", name="new:one")
    Scope.objects.filter(name="new:one").update(description="Read it")
    assert not messages(import_manifests()["warnings"], kind="scope", name="new:one")


def test_a_word_that_cannot_be_a_scope_is_pointed_out_and_not_made(
    write_module: Write, import_manifests: Import
) -> None:
    write_module({"listen": [tool("a", right="oauth2:scope naïve " + "x" * 300)]}, FILES)
    report = import_manifests()
    said = messages(report["warnings"], kind="scope")
    assert said.count("cannot be a scope") == 2
    assert not Scope.objects.filter(name__startswith="na").exists()


def test_a_retired_tool_says_why_and_keeps_up_with_the_reason(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool("a")]}, FILES)
    import_manifests()
    write_module({"listen": []})
    import_manifests()
    row = Tool.objects.get(name="a")
    assert (row.available, row.problem, row.listener) == (False, "No manifest offers it at present.", None)
    write_module({"listen": [tool("a", schema={"response": {"type": "strin"}})]})
    report = import_manifests()
    assert "→" in messages(report["changed"], module="", kind="tool", name="a")
    row.refresh_from_db()
    assert (row.available, "meta-schema" in row.problem) == (False, True)


FAULTS: list[dict[str, Any]] = [
    {"method": "nowhere"},
    {"right": ["staff"]},
    {"schema": {}},
    {"priority": "high"},
    {"origin": ["moon"]},
    {"icons": "none"},
]


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_nothing_is_left_of_a_fault_that_is_mended(
    write_module: Write, import_manifests: Import, fault: dict[str, Any]
) -> None:
    def held() -> Any:
        return Listener.objects.values(*(field.name for field in Listener._meta.fields if field.name != "id")).get(
            event="a"
        )

    write_module({"listen": [tool("a")]}, FILES)
    import_manifests()
    before = held()
    write_module({"listen": [tool("a", **fault)]}, FILES)
    import_manifests("--allow-removal")
    assert held()["problem"] + held()["tool_problem"]
    write_module({"listen": [tool("a")]}, FILES)
    import_manifests()
    assert held() == before
    assert Tool.objects.get(name="a").available


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
def test_a_fault_in_a_protected_listener_does_not_open_the_tool(
    write_module: Write, import_manifests: Import, fault: dict[str, Any]
) -> None:
    write_module({"listen": [tool("a", **{"right": "staff", **fault}), tool("a")]}, FILES)
    assert import_manifests()["refused"]
    rights = registry.snapshot().tools["a"].rights
    assert not decide(rights, Principal(authenticated=True), registry.snapshot()).allowed


def test_a_right_that_nobody_answers_for_is_a_warning(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool("a", right="friend of mine")]}, FILES)
    assert "held by nobody" in messages(import_manifests()["warnings"], name="a", pointer="/listen/0/right")
    assert registry.snapshot().tools["a"].rights == ("friend of mine",)


def test_the_report_names_file_pointer_reason_and_cure_for_a_person(
    write_module: Write, import_manifests: Import
) -> None:
    write_module(
        {"listen": [tool("a"), tool("b", schema={"response": "module://demo/schema/bad.json"})]},
        {**FILES, "schema/bad.json": {"properties": {"x": {"type": "strin"}}}},
    )
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("import_manifests", stdout=out)
    assert ended.value.code == 1
    text = out.getvalue()
    assert "tool a (demo)" in text
    assert "at demo/schema/bad.json#/properties/x/type" in text
    assert text.rstrip().endswith("refused.")
    assert "Imported: " in text
    write_module({"listen": [tool("a")]}, FILES)
    call_command("import_manifests", stdout=out)
    out = StringIO()
    call_command("import_manifests", stdout=out)
    assert out.getvalue().startswith("Nothing to do: ")


def test_a_name_cannot_steer_the_terminal_that_shows_the_report(write_module: Write, db: None) -> None:
    write_module({"listen": [tool("a\x1b[2J\nImported: fine\u202ex")]}, FILES)
    shown = render(apply.run_import(), dry_run=False)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\nImported: fine" not in shown
    assert "a\\x1b[2J\\nImported: fine\\u202ex" in shown


def test_a_tool_that_runs_only_in_the_background_is_pointed_out_where_nothing_runs_there(
    write_module: Write, import_manifests: Import, settings: Any
) -> None:
    write_module({"listen": [tool("may", task="optional"), tool("must", task="required")]}, FILES)
    settings.TASKS = {}
    warned = [found for found in import_manifests()["warnings"] if found["pointer"].endswith("/task")]
    assert [found["name"] for found in warned] == ["must"]
    assert "nobody can call it" in warned[0]["message"]
    assert Listener.objects.get(event="must").sound
