"""The command's modes: checking, watching, importing with ``migrate``; dependencies, versions, config."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command

from mcp_gateway.manifest import apply, watch
from mcp_gateway.manifest.apply import run_import
from mcp_gateway.manifest.config import config, module_config
from mcp_gateway.manifest.dependencies import in_dependency_order
from mcp_gateway.manifest.report import render
from mcp_gateway.models import Generation, ImportRun, Listener, Module, Tool
from tests.manifest.samples import FILES, messages, of, tool

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]


def exit_code(*arguments: str) -> int:
    """What the command would end with."""
    try:
        call_command("import_manifests", *arguments, stdout=StringIO())
    except SystemExit as ended:
        return int(str(ended.code))
    return 0


def test_check_ends_with_1_until_files_and_database_agree_and_writes_nothing(
    write_module: Write, import_manifests: Import
) -> None:
    write_module({"listen": [tool("a")]}, FILES)
    assert exit_code("--check") == 1
    assert not Tool.objects.filter(name="a").exists()
    import_manifests()
    number = Generation.current()
    assert exit_code("--check") == 0
    write_module({"listen": [tool("a", title="New")]}, FILES)
    assert exit_code("--check") == 1
    assert Generation.current() == number


def test_a_listener_of_the_php_original_is_kept_and_spoils_nothing(
    write_module: Write, import_manifests: Import
) -> None:
    php = {"event": "shop:sold", "class": "\\Acme\\Shop\\SoldListener", "method": "onSold", "origin": ["remote"]}
    write_module({"autoload": {"Acme\\Shop\\": "src/"}, "listen": [php, tool("a")]}, FILES)
    report = import_manifests()
    assert of(report["refused"]) == []
    assert exit_code() == 0
    said = messages(report["warnings"], pointer="/listen/0/class")
    assert said.startswith("Class not found: \\Acme\\Shop\\SoldListener.")
    assert "mcp_gateway_modules.demo.src and then mcp_gateway_modules.demo.src.sold_listener" in said
    assert Listener.objects.get(event="shop:sold").problem == said
    assert Tool.objects.get(name="a").available


def test_a_tool_without_its_class_is_refused(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool("a", **{"class": "\\Demo\\Missing"})]}, FILES)
    assert "Class not found" in messages(import_manifests()["refused"], pointer="/listen/0/class")
    assert exit_code() == 1


def test_modules_come_after_what_they_depend_on() -> None:
    order, circles = in_dependency_order(
        {"a": ["b-b", "nowhere"], "b_b": ["c"], "c": [], "d": ["d"], "e": ["f"], "f": ["e"]}
    )
    assert order == ["c", "b_b", "a", "d", "f", "e"]
    assert circles == [["d"], ["e", "f"]]


def test_a_long_chain_of_dependencies_is_no_problem() -> None:
    chain = {f"m{number:05}": [f"m{number + 1:05}"] for number in range(5000)}
    order, circles = in_dependency_order({**chain, "m05000": []})
    assert (order[0], order[-1], circles) == ("m05000", "m00000", [])


def test_missing_and_circular_dependencies_are_pointed_out(write_module: Write, import_manifests: Import) -> None:
    write_module({"dependencies": ["other@main", "absent@v2", 5]})
    write_module({"dependencies": ["demo"]}, module="other")
    report = import_manifests()
    assert "“absent” it depends on is not here".replace("“absent”", '"absent"') in messages(
        report["warnings"], pointer="/dependencies/1"
    )
    assert "“name@branch”" in messages(report["warnings"], pointer="/dependencies/2")
    assert "in a circle: demo → other → demo" in messages(report["warnings"], pointer="/dependencies")


@pytest.mark.parametrize(
    ("before", "after", "changelog", "said"),
    [
        ("1.0", "1.0", None, "its version is still 1.0"),
        ("1.0", "1.1", None, "it has no change log"),
        ("1.9", "1.10", "## 1.9\n## 1.10.2\n", "has no entry for 1.10"),
        ("1.9", "1.10", "## [1.10] - today\n", ""),
        ("1.10", "1.9", "## 1.9", "went back from 1.10 to 1.9"),
        ("", "", None, ""),
        ("", "1.0", None, "It has a version now, 1.0, and it has no change log"),
        ("", "1.0", "## 1.0", ""),
    ],
)
def test_changes_without_a_version_and_versions_without_a_word_are_pointed_out(
    write_module: Write, import_manifests: Import, before: str, after: str, changelog: str | None, said: str
) -> None:
    write_module({"version": before, "listen": [tool("a")]}, FILES)
    import_manifests()
    notes = {} if changelog is None else {"CHANGELOG.md": changelog}
    write_module({"version": after, "listen": [tool("a", title="New")]}, {**FILES, **notes})
    report = import_manifests()
    found = messages(report["warnings"], pointer="/version")
    assert (said in found) if said else not found
    assert Tool.objects.get(name="a").title == "New"


def test_a_changed_schema_file_is_a_change_of_its_module(write_module: Write, import_manifests: Import) -> None:
    write_module({"version": "1", "listen": [tool("a")]}, FILES)
    import_manifests()
    write_module({"version": "1", "listen": [tool("a")]}, {**FILES, "schema/o.json": {"type": "object", "title": "T"}})
    report = import_manifests()
    assert "still 1" in messages(report["warnings"], pointer="/version")
    assert 'response_schema (/title: nothing → "T")' in messages(report["changed"], kind="listener")
    write_module(
        {"# note": "x", "version": "1", "listen": [tool("a")]},
        {**FILES, "schema/o.json": {"type": "object", "title": "T"}},
    )
    assert not messages(import_manifests()["warnings"], pointer="/version"), "a comment is no change"


def test_a_module_imported_alone_is_told_of_others_that_offer_its_tools(
    write_module: Write, import_manifests: Import
) -> None:
    other = tool("same", schema={"response": {"type": "object"}}, **{"class": "\\Other\\Handler"})
    write_module({"listen": [other]}, FILES, module="other")
    import_manifests("--module", "other")
    write_module({"listen": [tool("same"), tool("own")]}, FILES)
    report = import_manifests("--module", "demo")
    assert "The modules demo and other all offer the tool same" in messages(report["warnings"], name="same")
    assert not messages(report["warnings"], name="own")
    assert not of(report["warnings"], module="other"), "it was not asked for"


def test_config_is_one_tree_with_the_site_on_top(write_module: Write, import_manifests: Import, settings: Any) -> None:
    own = {"mailer": {"# retries": "why", "retries": 3, "hosts": ["a", "b"], "tags": ["x"], "from": {"name": "N"}}}
    write_module({"config": own})
    write_module({"dependencies": ["demo"], "config": {"mailer": {"retries": 5}, "more": 1}}, module="a-module")
    import_manifests()
    site = {"mailer": {"hosts": [], "tags": ["y"], "from": {"mail": "m@x.example"}}}
    settings.ZOLINGA = {**settings.ZOLINGA, "CONFIG": site}
    expected = {"retries": 5, "hosts": [], "tags": ["y"], "from": {"name": "N", "mail": "m@x.example"}}
    assert config("mailer") == expected
    assert config()["more"] == 1
    assert config("mailer", "absent", default=7) == 7
    assert module_config("demo") == {"mailer": expected}
    assert module_config("a_module") == {"mailer": expected, "more": 1}
    config("mailer")["hosts"].append("spoiled")
    assert config("mailer", "hosts") == []
    settings.ZOLINGA = {**settings.ZOLINGA, "CONFIG": {}}
    assert config("mailer", "hosts") == ["a", "b"]
    with pytest.raises(LookupError, match="no module 'nowhere'"):
        module_config("nowhere")


def test_an_import_changes_the_config(write_module: Write, import_manifests: Import) -> None:
    write_module({"config": {"limit": 1}})
    import_manifests()
    assert config("limit") == 1
    write_module({"config": {"limit": 2}})
    import_manifests()
    assert config("limit") == 2


@pytest.mark.parametrize(
    "broken",
    [
        {"schema/o.json": "{ not json"},
        {"schema/o.json": {"type": "objekt"}},
        {"handler.py": "def ("},
        {"zolinga.json": {"listen": [tool("a", **{"class": "\\Demo\\Missing"})]}},
        {"zolinga.json": {"listen": [{**tool("a"), "event": 5}]}},
        {"zolinga.json": "{ not json"},
    ],
)
def test_while_watching_a_broken_save_keeps_the_last_good_state_and_says_why(
    write_module: Write, db: None, broken: dict[str, Any]
) -> None:
    manifest = {"listen": [tool("a")]}
    write_module(manifest, FILES)
    write_module(
        {"listen": [tool("b", schema={"response": {"type": "object"}}, **{"class": "\\Other\\Handler"})]},
        FILES,
        "other",
    )
    run_import(hold=True)
    write_module(manifest, {**FILES, **broken})
    write_module(
        {"listen": [tool("b", title="New", schema={"response": {"type": "object"}}, **{"class": "\\Other\\Handler"})]},
        FILES,
        "other",
    )
    plan = run_import(hold=True)
    assert of(remark.as_dict() for remark in plan.refused)
    kept = Tool.objects.get(name="a")
    assert kept.available
    assert kept.output_schema == '{"type":"object"}'
    assert Tool.objects.get(name="b").title == "New", "a fault in one module holds no other one up"
    if "zolinga.json" not in broken or broken["zolinga.json"] != "{ not json":
        assert plan.held == ["demo"]
        assert "Kept as it was" in render(plan, dry_run=False)
    write_module({"listen": [tool("a", title="Mended")]}, FILES)
    assert not of(remark.as_dict() for remark in run_import(hold=True).refused)
    assert Tool.objects.get(name="a").title == "Mended"


def test_while_watching_an_entry_that_never_was_sound_holds_nothing_up(write_module: Write, db: None) -> None:
    broken = tool("x", schema={})
    write_module({"listen": [tool("a"), broken]}, FILES)
    run_import(hold=True)
    write_module({"listen": [tool("a", title="New"), broken]}, FILES)
    assert run_import(hold=True).held == []
    assert Tool.objects.get(name="a").title == "New"
    write_module({"listen": [broken]}, FILES)
    run_import(hold=True)
    assert not Tool.objects.get(name="a").available


def test_while_watching_a_manifest_that_an_editor_moved_away_may_come_back(
    write_module: Write, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = write_module({"listen": [tool("a")]}, FILES) / "zolinga.json"
    run_import(hold=True)
    away = manifest.rename(manifest.with_name("zolinga.json~"))
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        if comes_back and len(waited) == 2:
            away.rename(manifest)

    monkeypatch.setattr(apply, "time", SimpleNamespace(sleep=pause, monotonic=lambda: sum(waited)))
    comes_back = True
    assert not run_import(hold=True).writes
    assert len(waited) == 2
    manifest.unlink()
    comes_back = False
    run_import(hold=True)
    assert not Tool.objects.get(name="a").available
    assert sum(waited) < 1, "whoever means it is obeyed within a second"


@pytest.mark.parametrize("polling", [True, False], ids=["looking", "being told"])
def test_a_change_is_noticed(write_module: Write, module_dir: Path, polling: bool) -> None:
    folder = write_module({"listen": []}, FILES)
    noticed = watch.changes(polling=polling)
    seen: list[bool] = []

    def wait() -> None:
        next(noticed)
        seen.append(True)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    (folder / "notes.txt").write_text("no manifest, no schema")
    (folder / "schema/o.json").write_text("{}")
    waiting.join(30)
    assert seen, "the change was not noticed"


def test_migrate_imports_where_that_is_wanted(write_module: Write, db: None, settings: Any, capsys: Any) -> None:
    write_module({"listen": [tool("a"), tool("x", schema={})]}, FILES)
    call_command("migrate", verbosity=0)
    assert not Module.objects.exists()
    settings.ZOLINGA = {**settings.ZOLINGA, "IMPORT_ON_MIGRATE": True}
    call_command("migrate", verbosity=1, stdout=StringIO())
    assert Tool.objects.get(name="a").available
    printed = capsys.readouterr().out
    assert "tool a (demo)" in printed
    assert "“schema.response” is missing" in printed


def test_a_run_keeps_who_when_host_folders_plan_and_outcome(
    write_module: Write, module_dir: Path, import_manifests: Import
) -> None:
    write_module({"listen": [tool("a")]}, FILES)
    import_manifests()
    run = ImportRun.objects.get()
    assert (run.outcome, run.folders, run.refused) == ("applied", [str(module_dir)], 0)
    assert run.started_by
    assert run.host
    assert run.started_at
    assert {entry["name"] for entry in json.loads(run.plan)["added"]} >= {"demo", "a"}
