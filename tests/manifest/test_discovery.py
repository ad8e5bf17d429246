"""Where modules are found, and what keeps one from being taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from mcp_gateway.manifest import discovery
from mcp_gateway.manifest.discovery import find_modules, locate

Write = Callable[..., Path]

ROOT = Path(__file__).resolve().parents[2]


def folder_modules() -> set[str]:
    """The ids of the modules that are no installed apps."""
    return {source.module_id for source in find_modules()[0] if not source.app_label}


def test_every_sub_folder_with_a_manifest_is_a_module(write_module: Write, module_dir: Path) -> None:
    write_module({}, module="one")
    write_module({}, module="two-three")
    (module_dir / "no-manifest").mkdir()
    (module_dir / "file.txt").write_text("x")
    assert folder_modules() == {"one", "two-three"}
    found = locate("two_three")
    assert found is not None
    assert (found.module_id, found.package) == ("two-three", "mcp_gateway_modules.two_three")


@pytest.mark.parametrize("suffix", [".example", ".bak", ".old", ".disabled"])
def test_folders_that_are_put_aside_are_skipped(write_module: Write, suffix: str) -> None:
    write_module({}, module=f"one{suffix}")
    assert folder_modules() == set()
    assert find_modules()[1] == []


@pytest.mark.parametrize("name", ["has space", "naïve", "a.b", "-x", "x" * 201, "data\udcff"])
def test_a_folder_whose_name_is_no_id_is_told(write_module: Write, name: str) -> None:
    write_module({}, module=name)
    assert folder_modules() == set()
    (problem,) = find_modules()[1]
    assert "Rename the folder" in problem.message
    problem.message.encode()


def test_an_installed_app_with_a_manifest_is_a_module_by_its_label() -> None:
    found = locate("example")
    assert found is not None
    assert (found.app_label, found.package, found.folder) == (
        "example",
        "modules.example",
        ROOT / "modules" / "example",
    )


def test_an_installed_app_inside_a_module_folder_is_one_module_the_app(settings: Any, tmp_path: Path) -> None:
    link = tmp_path / "linked"
    link.symlink_to(ROOT / "modules")
    settings.ZOLINGA = {**settings.ZOLINGA, "MODULE_DIRS": [ROOT / "modules", link]}
    modules, problems = find_modules()
    assert [source.app_label for source in modules if source.folder.name == "example"] == ["example"]
    assert problems == []


def test_two_modules_with_one_id_are_both_left_out(write_module: Write, settings: Any, tmp_path: Path) -> None:
    first = write_module({}, module="same")
    other = tmp_path / "more" / "same"
    other.mkdir(parents=True)
    (other / "zolinga.json").write_text("{}")
    settings.ZOLINGA = {**settings.ZOLINGA, "MODULE_DIRS": [first.parent, other.parent]}
    modules, problems = find_modules()
    assert "same" not in {source.module_id for source in modules}
    (problem,) = problems
    assert str(first) in problem.message
    assert str(other) in problem.message
    assert locate("same") is None


def test_a_missing_folder_is_a_problem_with_its_cure(settings: Any, tmp_path: Path) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MODULE_DIRS": [tmp_path / "nowhere"]}
    (problem,) = find_modules()[1]
    assert problem.folder == tmp_path / "nowhere"
    assert "--allow-removal" in problem.message


def test_modules_are_found_once_per_process_until_an_unknown_one_is_asked_for(
    write_module: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_module({}, module="one")
    assert locate("one") is not None
    looked: list[int] = []
    real = discovery.find_modules

    def counted() -> Any:
        looked.append(1)
        return real()

    monkeypatch.setattr(discovery, "find_modules", counted)
    assert locate("one") is not None
    assert looked == []
    write_module({}, module="two")
    assert locate("two") is not None
    assert looked == [1]


def test_the_example_modules_import_without_a_refusal(db: None, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MODULE_DIRS": [ROOT / "modules"]}
    call_command("import_manifests", verbosity=0)
