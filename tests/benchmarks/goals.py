"""The rows of the table: which two numbers are compared, and what their ratio has to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.benchmarks import footprint, imports, in_process, slow, tool_counts, wire, workers
from tests.benchmarks.rounds import Options, Results
from tests.benchmarks.stats import Ratio, ratio_of_medians
from tests.benchmarks.workload import LEGACY, MODERN

Measure = Callable[[Options, Results, set[str]], None]

#: Groups of cases that are measured together, interleaved, in this order.
GROUPS: dict[str, Measure] = {
    "wire": wire.measure,
    "tools": tool_counts.measure,
    "bodies": in_process.measure,
    "workers": workers.measure,
    "slow": slow.measure,
    "footprint": footprint.measure,
    "imports": imports.measure,
}


@dataclass(frozen=True, slots=True)
class Goal:
    """One row. ``peer`` empty: our number itself is held against ``bound``; else the ratio of ours to the peer's.

    Without a ``bound`` the row is for comparison.
    """

    group: str
    name: str
    ours: str
    peer: str
    number: str
    bound: float | None
    at_least: bool

    @property
    def cases(self) -> set[str]:
        return {self.ours, self.peer} - {""}

    @property
    def words(self) -> str:
        if self.bound is None:
            return ""
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {self.bound:g}{'x' if self.peer else ''}"

    def judge(self, results: Results) -> Verdict:
        """What came out; a case without numbers makes the row not met."""
        ours = results.series[self.ours][self.number]
        peers = results.series[self.peer][self.number] if self.peer else [1.0] * len(ours)
        if not ours or not peers:
            return Verdict(self, ours, peers, None)
        return Verdict(self, ours, peers, ratio_of_medians(ours, peers))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal with its numbers; ``ratio`` is None where something could not be measured."""

    goal: Goal
    ours: list[float]
    peers: list[float]
    ratio: Ratio | None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached, which it is not where nothing could be measured; None without one."""
        if self.goal.bound is None:
            return None
        if self.ratio is None:
            return False
        return self.ratio.value >= self.goal.bound if self.goal.at_least else self.ratio.value <= self.goal.bound

    @property
    def reach(self) -> float:
        """How much of the goal is reached: 1 and more is met."""
        if self.ratio is None or self.goal.bound is None:
            return 0.0
        return self.ratio.value / self.goal.bound if self.goal.at_least else self.goal.bound / self.ratio.value


def goals() -> list[Goal]:
    """Every row, in the order of the table."""
    return [*_rates(), *_growth(), *_bodies(), *_processes()]


def _rates() -> Iterator[Goal]:
    """Requests per second against the peers, and time to the answer against a bare view.

    Peers that speak both eras are compared in both, with ours in the same one.
    """

    def rate(name: str, ours: str, peer: str, bound: float | None = None) -> Iterator[Goal]:
        for connections in wire.CONNECTIONS:
            suffix = f" @{connections}"
            yield Goal("wire", name + suffix, ours + suffix, peer + suffix, "per_second", bound, at_least=True)

    for era in (LEGACY, MODERN):
        yield from rate(f"call vs fastmcp, {era}", f"gateway {era} call", f"fastmcp {era} call", 4)
        yield from rate(f"call vs official, {era}", f"gateway {era} call", f"official {era} call", 2.5)
    yield from rate("call vs django-mcp-server", f"gateway {LEGACY} call", "django-mcp-server call", 10)
    yield from rate("call vs django-mcpz with tokens", f"gateway {MODERN} call", "django-mcpz token call", 3)
    yield from rate("open call vs django-mcpz", f"gateway open {MODERN} call", "django-mcpz open call", 1)
    yield from rate("open list vs django-mcpz", f"gateway open {MODERN} list", "django-mcpz open list", 1)
    for era in (LEGACY, MODERN):
        yield from rate(
            f"call on PostgreSQL vs fastmcp, {era}", f"gateway postgresql {era} call", f"fastmcp {era} call", 2
        )
    for database, bound in (("", 2.5), ("postgresql ", 5.0)):
        ours = f"gateway {database}{MODERN} call @1"
        name = f"p50 of a call on {'PostgreSQL' if database else 'SQLite'} vs a bare Django view @1"
        bare = f"bare Django view{', crowded' if database else ''} @1"
        yield Goal("wire", name, ours, bare, "p50", bound, at_least=False)
    for era in (LEGACY, MODERN):
        yield from rate(f"list vs fastmcp, {era}", f"gateway {era} list", f"fastmcp {era} list", 20)
        yield from rate(f"list vs official, {era}", f"gateway {era} list", f"official {era} list", 12)
    for era in (LEGACY, MODERN):
        for peer in ("fastmcp", "official"):
            for what in ("call", "list"):
                yield from rate(f"{what} vs tuned {peer}, {era}", f"gateway {era} {what}", f"tuned {peer} {era} {what}")


def _growth() -> Iterator[Goal]:
    yield Goal(
        "tools", "CPU of a list, 1000 vs 10 tools", "tools 1000 list", "tools 10 list", "cpu", 1.6, at_least=False
    )
    yield Goal(
        "tools", "CPU of a call, 10 000 vs 10 tools", "tools 10000 call", "tools 10 call", "cpu", 1.1, at_least=False
    )


def _bodies() -> Iterator[Goal]:
    for what in ("invalid token", "token required"):
        name = f"CPU of a 401 ({what}), 2 MB vs small body"
        yield Goal("bodies", name, f"body {what} 2 MB", f"body {what} small", "cpu", 1.05, at_least=False)
    yield Goal(
        "bodies",
        "CPU of a 401 (open endpoint, 2 MB) vs read + json.loads",
        "body open endpoint 2 MB",
        "body read and parsed",
        "cpu",
        1.2,
        at_least=False,
    )
    yield Goal(
        "bodies",
        "CPU of validating 1 MB vs orjson.dumps",
        "result validated",
        "result encoded",
        "cpu",
        6,
        at_least=False,
    )


def _processes() -> Iterator[Goal]:
    yield Goal("workers", "two workers vs one @16", "workers 2", "workers 1", "per_second", 1.6, at_least=True)
    yield Goal(
        "slow",
        "p50 beside 64 slow clients vs alone",
        "fast beside slow",
        "fast alone",
        "p50",
        2,
        at_least=False,
    )
    yield Goal(
        "footprint", "memory of a worker vs fastmcp", "memory gateway", "memory fastmcp", "rss", 1.2, at_least=False
    )
    yield Goal(
        "footprint", "CPU of importing vs fastmcp", "import gateway", "import fastmcp", "cpu", 0.7, at_least=False
    )
    yield Goal(
        "imports", "tools/s, 1000 modules x 10 tools", "import first", "", "tools_per_second", 500, at_least=True
    )
    yield Goal(
        "imports",
        "CPU of an import with nothing changed vs first",
        "import again",
        "import first",
        "cpu",
        0.1,
        at_least=False,
    )
