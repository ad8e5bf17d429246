"""``python -m tests.benchmarks``: measure everything, print the table, exit 1 where a goal is not met."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks import report
from tests.benchmarks.goals import GROUPS, Goal, goals
from tests.benchmarks.rounds import Options, Results

POSTGRES = "postgres://postgres@127.0.0.1:5432"


def main() -> int:
    rows = goals()
    options = _parser().parse_args()
    if options.list:
        print("\n".join(f"{goal.group}: {goal.name}" for goal in rows))
        return 0
    chosen = [goal for goal in rows if not options.only or any(_matches(goal, name) for name in options.only)]
    if not chosen:
        print(f"No row is named like {options.only}; --list prints them.", file=sys.stderr)
        return 2
    rounds = options.rounds or (2 if options.quick else 7)
    seconds = options.seconds or (0.5 if options.quick else 2.0)
    results = Results(facts=_facts(rounds, seconds))
    cases: dict[str, set[str]] = defaultdict(set)
    for goal in chosen:
        cases[goal.group] |= goal.cases
    with tempfile.TemporaryDirectory(prefix="zolinga-benchmarks-") as folder:
        for group, measure in GROUPS.items():
            if cases[group]:
                print(f"{group}: {len(cases[group])} cases", file=sys.stderr)
                measure(Options(rounds, seconds, Path(folder), options.postgres), results, cases[group])
    results.facts["load average after"] = os.getloadavg()
    verdicts = [goal.judge(results) for goal in chosen]
    output = options.output or Path(tempfile.gettempdir()) / f"zolinga-benchmarks-{time.strftime('%Y%m%d-%H%M%S')}"
    report.write(output, results, verdicts)
    print(report.table(verdicts))
    for remark in report.remarks(results):
        print(remark)
    judged = [verdict.met for verdict in verdicts if verdict.met is not None]
    unmet = judged.count(False)
    print(f"\n{len(judged) - unmet} of {len(judged)} goals met; numbers and chart in {output}")
    return 1 if unmet else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="a group, or part of a row's name; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="2 rounds of half a second: does everything run?")
    parser.add_argument("--rounds", type=int, help="default 7")
    parser.add_argument("--seconds", type=float, help="load per case and round, default 2")
    parser.add_argument("--output", type=Path, help="folder for numbers.json, table.txt and chart.svg")
    parser.add_argument(
        "--postgres",
        default=os.environ.get("BENCHMARK_POSTGRES", POSTGRES),
        help="a PostgreSQL server on which databases may be made (or BENCHMARK_POSTGRES; default %(default)s)",
    )
    parser.add_argument("--list", action="store_true", help="print the rows and measure nothing")
    return parser


def _matches(goal: Goal, name: str) -> bool:
    return name == goal.group or name.lower() in goal.name.lower()


def _facts(rounds: int, seconds: float) -> dict[str, object]:
    packages = (
        "django-zolinga",
        "Django",
        "djangorestframework",
        "django-oauth-toolkit",
        "granian",
        "jsonschema-rs",
        "orjson",
    )
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version,
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "load average before": os.getloadavg(),
        "rounds": rounds,
        "seconds per case and round": seconds,
        "our packages": {name: version(name) for name in packages},
    }


if __name__ == "__main__":
    sys.exit(main())
