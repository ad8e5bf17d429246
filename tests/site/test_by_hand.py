"""The manual's requests for curl do at a live site what the manual says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.authoring.documents import blocks
from tests.live import PATIENCE, ROOT, Site, until

MANUAL = (ROOT / "modules" / "README.md").read_text(encoding="utf-8")
PROGRESS, TASK, CHANGES = (block.text for block in blocks(MANUAL) if block.mark == "sh" and "curl" in block.text)


def manifest(title: str) -> str:
    """The manual's two handlers as tools."""
    common = {"origin": ["mcp"], "title": title, "schema": {"response": {"type": "object"}}}
    recalculate = {"event": "recalculate", "class": "\\Byhand\\PriceHandler", "method": "onRecalculate"}
    report = {"event": "write-report", "class": "\\Byhand\\ReportHandler", "method": "onReport", "task": "optional"}
    return json.dumps({"listen": [{**recalculate, **common}, {**report, **common}]})


@pytest.fixture
def folder(site: Site, tmp_path: Path) -> Path:
    """The module with the two handlers, the only one beside the example."""
    folder = tmp_path / "modules" / "byhand"
    folder.mkdir(parents=True)
    code = [block.text for block in blocks(MANUAL) if block.mark == "python"]
    handlers = [next(text for text in code if f"class {name}" in text) for name in ("PriceHandler", "ReportHandler")]
    (folder / "__init__.py").write_text("\n".join(handlers))
    (folder / "zolinga.json").write_text(manifest("Before"))
    site.environment = {**site.environment, "ZOLINGA_MODULE_DIRS": str(folder.parent)}
    return folder


@contextmanager
def shell(site: Site, text: str) -> Iterator[subprocess.Popen[str]]:
    """Run a block; what still runs at the end is ended as Ctrl-C does."""
    command = ["bash", "-euo", "pipefail", "-c", text.replace("http://127.0.0.1:8000", site.url)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        yield process
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def printed(site: Site, text: str) -> str:
    """What a block prints that comes to an end."""
    with shell(site, text) as process:
        said, _none = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    return said


def events(stream: str) -> list[Any]:
    """The messages of an event stream."""
    return [json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line.startswith("data: ")]


def test_progress_a_task_and_changes(site: Site, folder: Path) -> None:
    with site.up(task_workers=1):
        *before, last = events(printed(site, PROGRESS))
        assert before
        assert {message["params"]["progressToken"] for message in before} == {"p1"}
        assert last["result"]["structuredContent"] == {"prices": 500}

        task = json.loads(printed(site, TASK))
        assert task["taskId"]
        assert task["status"] in ("working", "completed")

        with shell(site, CHANGES) as listening:
            until(listening, "notifications/subscriptions/acknowledged")
            (folder / "zolinga.json").write_text(manifest("After"))
            site.manage("import_manifests")
            until(listening, "notifications/tools/list_changed")
