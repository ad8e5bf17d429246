"""Interleaved measuring: every case once per round, the order reversed in every second one."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.stats import orders

#: One round of one case: its numbers by name (``per_second``, ``p50``, ``cpu``, …).
Numbers = dict[str, float]


@dataclass(frozen=True, slots=True)
class Options:
    """How long to measure. ``seconds`` is the time of load per case and round; ``folder`` is for databases."""

    rounds: int
    seconds: float
    folder: Path
    postgres: str


@dataclass(slots=True)
class Results:
    """What was measured, by case and number, one value per round; and facts worth keeping beside it."""

    series: dict[str, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    facts: dict[str, object] = field(default_factory=dict)

    def add(self, case: str, numbers: Numbers) -> None:
        for name, value in numbers.items():
            self.series[case][name].append(value)


def interleave(results: Results, cases: Mapping[str, Callable[[], Numbers]], rounds: int) -> None:
    """Measure all cases in each of ``rounds`` rounds, in order and in reverse by turns."""
    for number, backwards in enumerate(orders(rounds), 1):
        began = time.monotonic()
        for name in reversed(list(cases)) if backwards else list(cases):
            results.add(name, cases[name]())
        print(f"  round {number} of {rounds}: {time.monotonic() - began:.0f} s", file=sys.stderr)
