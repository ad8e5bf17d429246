"""Several runs that are one proof: what need not be run in each of them, and that nothing was run in none.

``.ci/run`` runs the tests on several databases and versions, and gives every run the same file:

    pytest --ran=FILE

(With the sign, else pytest takes the file for one of the tests' and looks for its settings nearby.) What ran, and
what was skipped, is added to the file. A test with the marker ``once``, to which neither the database
nor the versions of Django and Python make a difference, is left out where the file says that it ran already.

    python -m tests.stages FILE

tells which tests were skipped by every run; exit code 1 if one of them is marked ``once`` or asks for a service. Others
may be: for a Python that is not here, or a copy that is no clone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

RAN, SKIPPED, NOT_HERE = "ran", "skipped", "not here"


def name_of(location: tuple[str, int | None, str]) -> str:
    """A test's name as the file has it: the same whoever runs it, where pytest-xdist may add a group to its id."""
    path, _, test = location
    return f"{path}::{test}"


def named(file: Path, outcome: str) -> set[str]:
    """The tests with an outcome in any of the runs so far."""
    if not file.exists():
        return set()
    lines = (line.split("\t", 1) for line in file.read_text(encoding="utf-8").splitlines())
    return {name for found, name in lines if found == outcome}


class Recorder:
    """Adds what a run did to the file, when it is over."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a test down when it is known whether it runs."""
        outcome = RAN
        if report.skipped and not hasattr(report, "wasxfail"):
            outcome = SKIPPED if {"once", "service"} & set(report.keywords) else NOT_HERE
        if outcome != RAN or report.when == "call":
            self.lines.append(f"{outcome}\t{name_of(report.location)}\n")

    def pytest_sessionfinish(self) -> None:
        """Write all at once."""
        with self.file.open("a", encoding="utf-8") as file:
            file.writelines(self.lines)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--ran``."""
    parser.addoption(
        "--ran",
        type=Path,
        metavar="FILE",
        help="add the tests that ran to FILE, and leave those marked 'once' out that are in it already",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Record in the process that has all reports, which a worker of pytest-xdist has not."""
    if config.getoption("ran") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config.getoption("ran")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what another run did."""
    file = config.getoption("ran")
    if not file:
        return
    ran = named(file, RAN)
    left_out = [item for item in items if item.get_closest_marker("once") and name_of(item.location) in ran]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def main(file: Path) -> int:
    """Print what was always skipped."""
    ran = named(file, RAN)
    nowhere = named(file, SKIPPED) - ran
    for name in sorted(nowhere | named(file, NOT_HERE) - ran):
        print(f"{name} was skipped by every run.")
    return 1 if nowhere else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
