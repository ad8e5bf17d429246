"""One import is one transaction: it dies without a trace, and of two at once one waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from mcp_gateway import registry
from mcp_gateway.manifest import apply
from mcp_gateway.manifest.rows import Rows
from mcp_gateway.manifest.states import Survey
from mcp_gateway.manifest.survey import survey
from mcp_gateway.models import Generation, ImportRun, Listener, Module, Tool
from tests.manifest.samples import FILES, tool

ROOT = Path(__file__).resolve().parents[2]

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]


def test_an_import_that_dies_half_way_leaves_the_old_state(
    write_module: Write, import_manifests: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_module({"listen": [tool("a")]}, FILES)
    import_manifests()
    before = Generation.current()
    write_module({"name": "Changed", "listen": [tool("b")]}, FILES)

    def die(*arguments: Any) -> None:
        raise RuntimeError("the power went")

    monkeypatch.setattr(apply, "_record", die)
    with pytest.raises(RuntimeError, match="the power went"):
        import_manifests()
    assert Generation.current() == before
    assert Module.objects.get(module_id="demo").name == ""
    assert "a" in registry.snapshot().tools


@pytest.mark.django_db(transaction=True)
def test_of_two_imports_at_once_one_waits_and_sees_the_other(write_module: Write, settings: Any) -> None:
    write_module({"listen": [tool(f"t{number}") for number in range(20)]}, FILES)
    barrier = threading.Barrier(4)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            barrier.wait(timeout=30)
            apply.run_import()
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failures == []
    assert Tool.objects.filter(name__startswith="t", available=True, listener__isnull=False).count() >= 20
    assert Listener.objects.filter(module__module_id="demo").count() == 20
    assert ImportRun.objects.count() == 1


def test_an_import_that_others_always_overtake_reads_the_files_while_they_wait(
    write_module: Write, import_manifests: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    surveys = []

    def overtaken(only: str | None, rows: Rows) -> Survey:
        found = survey(only, rows)
        surveys.append(found)
        # Between reading the files and locking, somebody saves the manifest and imports something else.
        write_module({"listen": [tool("a", title=f"Title {len(surveys)}")]}, FILES)
        Generation.bump()
        return found

    write_module({"listen": [tool("a", title="Title 0")]}, FILES)
    monkeypatch.setattr(apply, "survey", overtaken)
    import_manifests()
    assert len(surveys) == apply.ATTEMPTS + 1
    assert Tool.objects.get(name="a").title == f"Title {apply.ATTEMPTS}"
