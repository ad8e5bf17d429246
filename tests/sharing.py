"""Which tests stay together where several workers share a run, with ``pytest -n auto --dist loadgroup``.

Those of a file, or of a whole folder, that share something expensive: a live site, an environment. All others go to
whoever is free. The larger the group, the earlier it begins. (The groups that pytest-xdist 3.8 itself makes of its
marker ``xdist_group`` are lost with pytest 9.2.)
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

FOLDERS = ("tests/foreign/",)
FILES = (
    "tests/clients/",
    "tests/management/test_console.py",
    "tests/streams/test_live.py",
    "tests/views/test_live.py",
)


def group(nodeid: str) -> str:
    """What a test belongs to; without a group, itself."""
    file = nodeid.partition("::")[0]
    if file.startswith(FOLDERS):
        return next(folder for folder in FOLDERS if file.startswith(folder))
    return file if file.startswith(FILES) else nodeid


class Grouped(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a group to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Answer for ``--dist loadgroup``."""
    return Grouped(config, log) if config.getoption("dist") == "loadgroup" else None
