"""Run the conformance suite and compare with what passed before.

Exit code 0: everything that passed before passes; 1: something does not any more; 2: the suite could not be run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.conformance.floors import compare, read_floors, write_floors
from tests.conformance.server import LOG_NAME, serving
from tests.conformance.suite import SETS, Result, Suite
from tests.conformance.toolchain import CannotRun, cache_folder, find_node, find_suite

# A message of the suite can hold a whole answer of the server.
MESSAGE_LENGTH = 240


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance", description="Runs the official MCP conformance suite against the server."
    )
    parser.add_argument("--set", nargs="+", choices=SETS, metavar="NAME", default=list(SETS), help=", ".join(SETS))
    parser.add_argument("--raise-floors", action="store_true", help="add what was won to floors.json")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the suite's records and the server's log there")
    options = parser.parse_args()
    try:
        return run(list(dict.fromkeys(options.set)), options.keep, raise_floors=options.raise_floors)
    except CannotRun as problem:
        print(f"The conformance suite could not be run. {problem}", file=sys.stderr)
        return 2


def run(names: list[str], keep: Path | None, *, raise_floors: bool) -> int:
    """Run the sets of those names, print what came out, and say whether something was lost."""
    cache = cache_folder()
    node = find_node(cache)
    suite = Suite(node, find_suite(node, cache))
    floors = read_floors()
    lost = False
    with ExitStack() as stack:
        folder = (
            keep.resolve() if keep else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-")))
        )
        # Records of an earlier run would be read as this one's.
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=_made(folder)))
        url = stack.enter_context(serving(folder))
        for name in names:
            began = time.monotonic()
            results = suite.run(name, url, _made(folder / name))
            change = compare(floors.get(name, []), results)
            report(name, results, time.monotonic() - began)
            for scenario in change.lost:
                lost = True
                print(f"  LOST {scenario}: it passed before.")
            if change.won and not raise_floors:
                print(f"  Won: {', '.join(change.won)}. Run with --raise-floors, so that it stays.")
            # Only ever up: whoever gives a scenario up takes it out of the file by hand.
            floors[name] = [*floors.get(name, []), *change.won]
        for line in failures(folder / LOG_NAME):
            print(f"The server failed: {line}")
        if keep:
            print(f"Records and {LOG_NAME}: {folder}")
    if raise_floors:
        write_floors(floors)
        print("What was won is in floors.json.")
    return 1 if lost else 0


def report(name: str, results: list[Result], seconds: float) -> None:
    """One line for the set, then one for each scenario that failed and one for those that proved nothing."""
    passed = [result for result in results if result.passed]
    print(f"{name}: {len(passed)}/{len(results)} ({seconds:.0f} s)", flush=True)
    for result in results:
        if not result.passed:
            failure = result.failure
            shown = failure if len(failure) <= MESSAGE_LENGTH else f"{failure[:MESSAGE_LENGTH]}…"
            print(f"  ✗ {result.scenario}: {shown}")
    empty = [result.scenario for result in passed if not result.proved]
    if empty:
        print(f"  Passed without a check that succeeded: {', '.join(empty)}")


def failures(log: Path) -> list[str]:
    """What the gateway logged as an error: its own fault, even where the suite was content with the answer."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return [line for line in text.splitlines() if " ERROR mcp_gateway: " in line]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
