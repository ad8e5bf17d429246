from __future__ import annotations

from pathlib import Path

from tests.conformance.floors import compare, read_floors, write_floors
from tests.conformance.suite import SETS, Result


def passed(scenario: str) -> Result:
    return Result(scenario, "", True)


def failed(scenario: str) -> Result:
    return Result(scenario, "some-check: no", False)


def test_loss_is_a_loss_even_where_another_scenario_is_won() -> None:
    change = compare(["ping", "tools-list"], [passed("ping"), failed("tools-list"), passed("caching")])
    assert change.lost == ("tools-list",)
    assert change.won == ("caching",)


def test_scenario_that_is_no_longer_run_is_lost() -> None:
    assert compare(["ping"], []).lost == ("ping",)


def test_same_scenarios_are_no_change() -> None:
    change = compare(["tools-list", "ping"], [passed("ping"), passed("tools-list"), failed("caching")])
    assert change.lost == change.won == ()


def test_floors_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "floors.json"
    assert read_floors(path) == {}
    write_floors({"all": ["tools-list", "ping"]}, path)
    assert read_floors(path) == {"all": ["ping", "tools-list"]}


def test_every_set_has_a_floor() -> None:
    floors = read_floors()
    assert set(floors) == set(SETS)
    assert all(floors.values())
