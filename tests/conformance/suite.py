"""The sets of scenarios, how the suite runs them and what it wrote about them."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.toolchain import CannotRun, Node

#: Name of a set → which scenarios, as options of the suite's ``list`` and ``server``.
SETS: dict[str, tuple[list[str], list[str]]] = {
    "2026-07-28": (["--requirements", "2026-07-28"], ["--requirements", "2026-07-28"]),
    "2025-11-25": (["--requirements", "2025-11-25"], ["--requirements", "2025-11-25"]),
    "2025-06-18": (["--spec-version", "2025-06-18"], ["--suite", "all", "--spec-version", "2025-06-18"]),
    "all": ([], ["--suite", "all"]),
}

# The suite adds this check to every scenario; it is a success as well where the server sent nothing.
ALWAYS_THERE = "wire-schema-valid"

SCENARIO_MILLISECONDS = 15_000
SET_SECONDS = 600

RESULT_FOLDER = re.compile(r"(?:authorization-)?server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@dataclass(frozen=True, slots=True)
class Result:
    """How a scenario went.

    ``failure`` is the first thing that was wrong, empty if nothing was. ``proved`` says whether any check of the
    scenario itself succeeded: a scenario that finds nothing to try passes too.
    """

    scenario: str
    failure: str
    proved: bool

    @property
    def passed(self) -> bool:
        """Whether the suite counts it as passed: no check failed."""
        return not self.failure


class Suite:
    """The suite's program, run by Node."""

    def __init__(self, node: Node, program: Path) -> None:
        self._command = [node.binary, str(program)]

    def scenarios(self, name: str) -> list[str]:
        """The scenarios that count in a set, in the suite's order."""
        done = self._run("list", "--server", *SETS[name][0])
        scenarios = listed(done.stdout)
        if not scenarios:
            raise CannotRun(f"The suite lists no scenarios for {name}: {(done.stderr or done.stdout).strip()[-1000:]}")
        return scenarios

    def run(self, name: str, url: str, folder: Path) -> list[Result]:
        """Run a set against the server at ``url``. The suite's own record of it goes to ``folder``.

        Raises `CannotRun` if the suite wrote no record.
        """
        scenarios = self.scenarios(name)
        options = [*SETS[name][1], "--timeout", str(SCENARIO_MILLISECONDS), "--output-dir", str(folder)]
        done = self._run("server", "--url", url, *options)
        records = read_records(folder)
        if not records:
            raise CannotRun(f"The suite ran nothing for {name}: {(done.stderr or done.stdout).strip()[-2000:]}")
        return [judge(scenario, records.get(scenario)) for scenario in scenarios]

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [*self._command, *arguments], capture_output=True, text=True, timeout=SET_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise CannotRun(f"The suite was still running after {SET_SECONDS} s: {' '.join(arguments)}") from None


def listed(text: str) -> list[str]:
    """The server scenarios in what ``list`` prints: the lines from their heading to the next empty line."""
    scenarios: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("Server scenarios"):
            inside = True
        elif inside and not line.strip():
            break
        elif inside and (match := re.match(r"  - (\S+)", line)):
            scenarios.append(match[1])
    return scenarios


def read_records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Scenario → its checks, from the ``checks.json`` files that the suite wrote."""
    records: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*/checks.json")):
        if match := RESULT_FOLDER.fullmatch(path.parent.name):
            records[match["scenario"]] = json.loads(path.read_text(encoding="utf-8"))
    return records


def judge(scenario: str, checks: list[dict[str, Any]] | None) -> Result:
    """A scenario passes, as in the suite's own summary, when none of its checks failed."""
    if checks is None:
        return Result(scenario, "The suite wrote nothing about it.", False)
    failure = next((_sentence(check) for check in checks if check["status"] == "FAILURE"), "")
    proved = any(check["status"] == "SUCCESS" and check["id"] != ALWAYS_THERE for check in checks)
    return Result(scenario, failure, proved)


def _sentence(check: dict[str, Any]) -> str:
    text = str(check.get("errorMessage") or check.get("description") or "")
    return f"{check['id']}: {' '.join(text.split()) or 'failed, without a reason'}"
