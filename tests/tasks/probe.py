"""A site whose tools wait in the background until a file is there: ``wait``, and ``write``, which writes before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import Migrated, Site

HANDLER = """
import os
import time
from pathlib import Path

from django.contrib.auth.models import Group

class Handler:
    def on_wait(self, event):
        if event.request.get("ask"):
            event.ask("sure", "Sure?", {"type": "object", "properties": {"sure": {"type": "boolean"}}})
        event.progress(1, message=f"process {os.getpid()} at it")
        while not Path(event.request["until"]).exists():
            if event.cancelled:
                event.set_status(410, "Stopped.")
                return
            time.sleep(0.05)
        event.response = {"pid": os.getpid()}
        event.set_status(200)

    def on_write(self, event):
        event.background()
        Group.objects.create(name="of the task")
        self.on_wait(event)
"""


@pytest.fixture
def site(migrated: Migrated, tmp_path: Path) -> Iterator[Site]:
    """The site, not up."""
    folder = tmp_path / "modules" / "probe"
    folder.mkdir(parents=True)
    wait = {
        "event": "wait",
        "description": "Waits for a file.",
        "class": "\\Probe\\Handler",
        "method": "onWait",
        "origin": ["mcp"],
        "task": "required",
        "schema": {"response": {"type": "object"}},
    }
    write = {key: value for key, value in wait.items() if key != "task"} | {"event": "write", "method": "onWrite"}
    (folder / "__init__.py").write_text(HANDLER)
    (folder / "zolinga.json").write_text(json.dumps({"name": "Probe", "listen": [wait, write]}))
    with migrated.copy(tmp_path / "var", {"ZOLINGA_MODULE_DIRS": str(folder.parent)}) as copied:
        yield copied
