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
    """Gives a group to one worker, and goes on where one died: of a crash, or because a test took for ever.

    The scheduler of pytest-xdist 3.8 gives the test that ended a worker to the next one, and the next; and a worker
    that comes later waits for ever, since each keeps its last test until it knows of another one or of the end.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)

    def _reschedule(self, node: Any) -> None:
        if node not in self.registered_collections:
            return
        super()._reschedule(node)
        while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            self._assign_work_unit(node)
        if not self.workqueue and not node.shutting_down:
            node.shutdown()

    def remove_node(self, node: Any) -> str | None:
        """Take the work of a worker that has ended back, without the test that ended it, which is returned."""
        work = self.assigned_work.pop(node)
        left = {scope: unit for scope, unit in work.items() if not all(unit.values())}
        fatal: str | None = next((test for unit in left.values() for test, done in unit.items() if not done), None)
        for scope, unit in left.items():
            if fatal in unit:
                unit[fatal] = True
            if not all(unit.values()):
                self.workqueue[scope] = unit
        for other in self.assigned_work:
            self._reschedule(other)
        return fatal


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Answer for ``--dist loadgroup``."""
    return Grouped(config, log) if config.getoption("dist") == "loadgroup" else None
