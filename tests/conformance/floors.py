"""What must go on passing: the scenarios of each set, by name, in ``floors.json``.

Names, not only their number: a scenario that is lost while another is won is a loss all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.suite import Result

FLOORS = Path(__file__).parent / "floors.json"

Floors = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """What is different from the floor of a set."""

    lost: tuple[str, ...]
    won: tuple[str, ...]


def read_floors(path: Path = FLOORS) -> Floors:
    """The floors by set; a set that has none yet is not in it."""
    floors: Floors = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return floors


def write_floors(floors: Floors, path: Path = FLOORS) -> None:
    """Write the floors, one scenario a line and sorted, so that a change is easy to review."""
    ordered = {name: sorted(scenarios) for name, scenarios in floors.items()}
    path.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")


def compare(floor: Iterable[str], results: Iterable[Result]) -> Change:
    """A scenario of the floor that is not run any more is lost as well."""
    before, now = set(floor), {result.scenario for result in results if result.passed}
    return Change(tuple(sorted(before - now)), tuple(sorted(now - before)))
