"""Switches for tests that need more than Python: a test asks for a service, an environment variable brings it.

=================  ==================================================================================
``DATABASE_URL``   A PostgreSQL URL: the whole run uses that server instead of SQLite. Tests that only mean
                   something there ask for it.
``CHROMIUM``       The path of a Chromium or Chrome binary; ``chromedriver`` is looked for beside it and on ``PATH``.
``REDIS_URL``      The URL of a Redis server, for tests of shared caches.
``NPM_CLIENTS``    ``yes``: the official TypeScript clients. They, and where needed a Node, are downloaded once into
                   a cache folder outside the repository.
=================  ==================================================================================

A test asks with ``@pytest.mark.service("DATABASE_URL")`` or with the fixture ``chromium`` (which asks for
``CHROMIUM``) and is skipped where the variable is not set. With ``--all-services`` such a skip is a failure: a
run that claims to have everything switched on cannot quietly leave something out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

SWITCHES: dict[str, tuple[Callable[[str], bool], str]] = {
    "DATABASE_URL": (
        lambda value: value.partition(":")[0] in ("postgres", "postgresql", "psql", "pgsql"),
        "a PostgreSQL server: DATABASE_URL=postgres://postgres@127.0.0.1:5432/zolinga",
    ),
    "CHROMIUM": (lambda value: Path(value).is_file(), "a browser: CHROMIUM=/usr/bin/chromium"),
    "NPM_CLIENTS": (lambda value: value == "yes", "clients from npm: NPM_CLIENTS=yes"),
    "REDIS_URL": (lambda value: value.startswith("redis"), "a Redis server: REDIS_URL=redis://127.0.0.1:6379/0"),
}

FIXTURES = {"chromium": "CHROMIUM"}


@pytest.fixture
def chromium() -> str:
    """The path of the browser binary."""
    return os.environ["CHROMIUM"]


def missing_service(item: pytest.Item) -> str:
    """What a test needs and does not have, as a sentence; empty if it can run."""
    for marker in item.iter_markers("service"):
        for name in marker.args:
            if name not in SWITCHES:
                raise pytest.UsageError(
                    f"{item.nodeid} asks for the service {name!r}; tests/services.py knows {', '.join(SWITCHES)}."
                )
            usable, cure = SWITCHES[name]
            if not usable(os.environ.get(name, "")):
                return f"needs {cure}"
    return ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--all-services``."""
    parser.addoption(
        "--all-services",
        action="store_true",
        help="fail a test that asks for a service and is skipped, instead of reporting the skip",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the users of service fixtures and skip what has no service."""
    for item in items:
        for fixture, service in FIXTURES.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.service(service))
        reason = missing_service(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under ``--all-services``, turn the skip of a test that asks for a service into a failure."""
    report = yield
    asks = item.get_closest_marker("service") is not None
    if report.skipped and asks and item.config.getoption("all_services") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped in a run with all services: {reason}"
    return report
