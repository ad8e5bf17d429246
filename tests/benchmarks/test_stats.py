"""What the harness makes of its numbers: no times are asserted here."""

from __future__ import annotations

import pytest

from tests.benchmarks.goals import Goal, goals
from tests.benchmarks.instructions import compare
from tests.benchmarks.report import table
from tests.benchmarks.rounds import Results, interleave
from tests.benchmarks.stats import orders, ratio_of_medians


def _goal(bound: float, *, at_least: bool, peer: str = "peer") -> Goal:
    return Goal("wire", "a row", "ours", peer, "per_second", bound, at_least)


def _results(ours: list[float], peers: list[float]) -> Results:
    results = Results()
    for value in ours:
        results.add("ours", {"per_second": value})
    for value in peers:
        results.add("peer", {"per_second": value})
    return results


def test_the_ratio_is_that_of_the_medians_and_lies_in_its_interval() -> None:
    ratio = ratio_of_medians([30, 10, 20], [5, 4, 100])

    assert ratio.value == 4
    assert ratio.low <= ratio.value <= ratio.high


def test_a_slow_round_of_both_sides_widens_nothing() -> None:
    ratio = ratio_of_medians([40, 4, 400, 40, 40], [10, 1, 100, 10, 10])

    assert (ratio.low, ratio.high) == (4, 4)


@pytest.mark.parametrize(("ours", "peers"), [([], []), ([1.0], []), ([1.0, 2.0], [1.0])])
def test_series_that_are_not_paired_are_refused(ours: list[float], peers: list[float]) -> None:
    with pytest.raises(ValueError, match="Paired rounds"):
        ratio_of_medians(ours, peers)


def test_every_second_round_runs_in_reverse() -> None:
    results, seen = Results(), []

    def case(name: str) -> dict[str, float]:
        seen.append(name)
        return {"per_second": 1.0}

    interleave(results, {"a": lambda: case("a"), "b": lambda: case("b")}, 3)

    assert orders(3) == [False, True, False]
    assert "".join(seen) == "abbaab"
    assert results.series["a"]["per_second"] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("bound", "at_least", "met"), [(4, True, True), (4.1, True, False), (4, False, True), (3.9, False, False)]
)
def test_a_goal_is_met_at_its_bound_and_not_beyond(bound: float, at_least: bool, met: bool) -> None:
    verdict = _goal(bound, at_least=at_least).judge(_results([8, 8], [2, 2]))

    assert verdict.met is met
    assert ("not met" in table([verdict])) is not met


def test_a_goal_without_a_peer_is_held_against_the_number_itself() -> None:
    verdict = _goal(500, at_least=True, peer="").judge(_results([700, 600, 650], []))

    assert verdict.met
    assert "650" in table([verdict])


def test_what_was_not_measured_is_not_met() -> None:
    verdict = _goal(1, at_least=True).judge(_results([8], []))

    assert not verdict.met
    assert "not measured" in table([verdict])


def test_no_two_rows_have_the_same_name() -> None:
    names = [goal.name for goal in goals()]

    assert len(set(names)) == len(names)


def test_instructions_may_rise_by_five_percent_and_fall_by_any() -> None:
    stored = {"tools/list": 2.0, "tools/call": 3.0, "401": 1.5}

    assert compare({"tools/list": 2.1, "tools/call": 3.16, "401": 0.5}, stored) == ["tools/call"]
