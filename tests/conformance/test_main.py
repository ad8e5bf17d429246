from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance import __main__ as runner
from tests.conformance.floors import read_floors, write_floors
from tests.conformance.suite import Result, Suite
from tests.conformance.toolchain import CannotRun, Node

Run = Callable[..., int]


@pytest.fixture
def floors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A floors file that says: of the set ``all``, ping and tools-list pass."""
    path = tmp_path / "floors.json"
    write_floors({"all": ["ping", "tools-list"]}, path)
    monkeypatch.setattr(runner, "read_floors", lambda: read_floors(path))
    monkeypatch.setattr(runner, "write_floors", lambda floors: write_floors(floors, path))
    return path


@pytest.fixture
def run(floors: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the set ``all`` with results that are given: scenario → first failure."""

    def run(results: dict[str, str], *arguments: str, log: str = "") -> int:
        @contextmanager
        def serving(folder: Path) -> Iterator[str]:
            (folder / "server.log").write_text(log, encoding="utf-8")
            yield "http://127.0.0.1:1/mcp"

        def results_of(self: Suite, name: str, url: str, folder: Path) -> list[Result]:
            return [Result(scenario, failure, proved=not failure) for scenario, failure in results.items()]

        monkeypatch.setattr(runner, "find_node", lambda cache: Node("node", ("npm",)))
        monkeypatch.setattr(runner, "find_suite", lambda node, cache: Path("index.js"))
        monkeypatch.setattr(runner, "serving", serving)
        monkeypatch.setattr(Suite, "run", results_of)
        monkeypatch.setattr("sys.argv", ["conformance", "--set", "all", *arguments])
        return runner.main()

    return run


def test_lost_scenario_fails_the_run_and_is_named(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run({"ping": "", "tools-list": "tools-list: no tools", "caching": ""}) == 1
    out = capsys.readouterr().out
    assert "all: 2/3" in out
    assert "✗ tools-list: tools-list: no tools" in out
    assert "LOST tools-list" in out


def test_won_scenario_asks_for_a_higher_floor_and_leaves_the_file(
    run: Run, floors: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run({"ping": "", "tools-list": "", "caching": ""}) == 0
    assert "Won: caching. Run with --raise-floors" in capsys.readouterr().out
    assert read_floors(floors) == {"all": ["ping", "tools-list"]}


def test_floors_are_raised_on_demand_and_never_lowered(run: Run, floors: Path) -> None:
    assert run({"ping": "", "tools-list": "tools-list: no tools", "caching": ""}, "--raise-floors") == 1
    assert read_floors(floors) == {"all": ["caching", "ping", "tools-list"]}


def test_run_that_cannot_start_says_why(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(cache: Path) -> Node:
        raise CannotRun("Node 22 is not on PATH.")

    run({"ping": "", "tools-list": ""})
    monkeypatch.setattr(runner, "find_node", none)
    assert runner.main() == 2
    assert "could not be run. Node 22 is not on PATH." in capsys.readouterr().err


def test_error_of_the_gateway_in_the_log_is_shown(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    log = (
        "2026-11-30 11:33:08,577 ERROR mcp_gateway: A request to /mcp failed\nTraceback\n… WARNING mcp_gateway: late\n"
    )
    assert run({"ping": "", "tools-list": ""}, log=log) == 0
    out = capsys.readouterr().out
    assert "The server failed: 2026-11-30 11:33:08,577 ERROR mcp_gateway: A request to /mcp failed" in out
    assert "late" not in out


def test_records_are_kept_where_they_are_asked_for(run: Run, tmp_path: Path) -> None:
    run({"ping": "", "tools-list": ""}, "--keep", str(tmp_path / "kept"), log="started")
    (kept,) = (tmp_path / "kept").iterdir()
    assert (kept / "server.log").read_text(encoding="utf-8") == "started"
