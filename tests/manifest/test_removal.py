"""Modules that go, come twice or come alone, and the guard against losing most tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from mcp_gateway import registry
from mcp_gateway.models import ImportRun, Listener, Module, Tool
from tests.manifest.samples import FILES, messages, of, tool

ROOT = Path(__file__).resolve().parents[2]

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]


def test_a_folder_that_is_gone_retires_its_tools(write_module: Write, import_manifests: Import) -> None:
    folder = write_module({"listen": [tool("a")]}, FILES)
    import_manifests()
    folder.rename(folder.with_name("demo.disabled"))
    report = import_manifests()
    assert of(report["removed"], kind="module", name="demo")
    assert "a" not in registry.snapshot().tools
    assert registry.snapshot().matching("a", "mcp") == ()
    assert Listener.objects.filter(event="a").exists()
    folder.with_name("demo.disabled").rename(folder)
    import_manifests()
    assert "a" in registry.snapshot().tools


def test_two_modules_that_offer_one_tool_are_both_named(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool("same")]}, FILES)
    write_module({"listen": [tool("same", **{"class": "\\Other\\Handler"})]}, FILES, module="other")
    report = import_manifests()
    for module in ("demo", "other"):
        said = messages(report["warnings"], module=module, name="same")
        assert "demo" in said
        assert "other" in said


def test_two_modules_with_one_id_are_both_refused_with_both_paths(
    write_module: Write, import_manifests: Import, module_dir: Path
) -> None:
    write_module({"listen": [tool("a", **{"class": "\\MyMod\\Handler"})]}, FILES, module="my-mod")
    import_manifests()
    write_module({}, module="my_mod")
    report = import_manifests()
    for module in ("my-mod", "my_mod"):
        (refused,) = of(report["refused"], module=module, kind="module")
        assert str(module_dir / "my-mod") in refused["message"]
        assert str(module_dir / "my_mod") in refused["message"]
    assert "share the id" in Module.objects.get(module_id="my-mod").problem


def test_one_module_can_be_imported_alone(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool("a")]}, FILES)
    write_module({"listen": [tool("b", **{"class": "\\Other\\Handler"})]}, FILES, module="other")
    import_manifests("--module", "demo")
    assert set(Module.objects.values_list("module_id", flat=True)) == {"demo"}
    import_manifests("--module", "other")
    assert {"a", "b"} <= set(registry.snapshot().tools)
    with pytest.raises(CommandError, match="no module 'nope'"):
        call_command("import_manifests", "--module", "nope")


def test_a_missing_folder_stops_the_import_until_removal_is_allowed(
    write_module: Write, import_manifests: Import, module_dir: Path
) -> None:
    write_module({"listen": [tool("a")]}, FILES)
    import_manifests()
    moved = module_dir.rename(module_dir.with_name("elsewhere"))
    report = import_manifests()
    (refused,) = of(report["refused"], module="", kind="import")
    assert "--allow-removal" in refused["message"]
    assert report["removed"] == []
    assert "a" in registry.snapshot().tools
    assert ImportRun.objects.latest("pk").outcome == "refused"
    import_manifests("--allow-removal")
    assert "a" not in registry.snapshot().tools
    assert moved.exists()


@pytest.mark.parametrize(("before", "after", "stops"), [(12, 6, False), (12, 5, True), (10, 4, True), (9, 0, False)])
def test_the_loss_of_most_tools_stops_the_import(
    write_module: Write, import_manifests: Import, settings: Any, before: int, after: int, stops: bool
) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if not app.startswith("modules.")]
    write_module({"listen": [tool(f"t{number}") for number in range(before)]}, FILES)
    import_manifests()
    write_module({"listen": [tool(f"t{number}") for number in range(after)]}, FILES)
    report = import_manifests()
    assert bool(of(report["refused"], module="", kind="import")) is stops
    assert Tool.objects.filter(available=True).count() == (before if stops else after)
    if stops:
        import_manifests("--allow-removal")
        assert Tool.objects.filter(available=True).count() == after
