"""Tools in the background of a live site: two processes that serve, one that works, and each of them restarted."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import httpx

from tests.live import PATIENCE, Site
from tests.tasks.conftest import DECLARED
from tests.tasks.probe import site
from tests.wire import MODERN

__all__ = ["site"]


def send(site: Site, method: str, **params: Any) -> Any:
    """A request on a connection of its own, so that any of the processes may get it."""
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": params.get("taskId") or params["name"]}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": DECLARED}}
    with site.client() as client:
        answer: httpx.Response = client.post("/mcp", json=body, headers=headers)
    return answer.json()["result"]


def start(site: Site, until: Path, tool: str = "wait", **further: Any) -> str:
    """Begin a task that is done once the file is there."""
    result = send(site, "tools/call", name=tool, arguments={"until": str(until), **further})
    assert result["resultType"] == "task", result
    task_id: str = result["taskId"]
    return task_id


def wait_for(site: Site, task_id: str, status: str, message: str = "") -> Any:
    """Ask until the task has that status and message."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        task = send(site, "tasks/get", taskId=task_id)
        if task["status"] == status and re.search(message, task.get("statusMessage", "")):
            return task
        assert task["status"] == "working", task
        time.sleep(0.1)
    raise AssertionError(task)


def test_a_task_is_run_beside_the_server_and_known_to_every_process(site: Site, tmp_path: Path) -> None:
    with site.up("--workers", "2", task_workers=1) as process:
        task_id = start(site, tmp_path / "done")
        assert [send(site, "tasks/get", taskId=task_id)["taskId"] for _ in range(16)] == [task_id] * 16
        working = wait_for(site, task_id, "working", "at it")
        (tmp_path / "done").touch()
        result = wait_for(site, task_id, "completed")["result"]
        assert not result["isError"]
        assert working["statusMessage"].startswith(f"process {result['structuredContent']['pid']} ")

        cancelled = start(site, tmp_path / "never")
        wait_for(site, cancelled, "working", "at it")
        send(site, "tasks/cancel", taskId=cancelled)
        wait_for(site, cancelled, "cancelled")
    # Nobody holds the output any more: the worker has ended with the server.
    assert process.returncode == 0, site.output
    assert "Traceback" not in site.output


def test_a_task_that_wrote_and_still_works_keeps_nobody_from_the_database(site: Site, tmp_path: Path) -> None:
    with site.up(task_workers=1):
        task_id = start(site, tmp_path / "done", tool="write")
        wait_for(site, task_id, "working", "at it")
        found = site.manage("shell", "-v0", "-c", WRITE_AND_READ)
        assert found.stdout.strip() == "['of another', 'of the task']"
        (tmp_path / "done").touch()
        wait_for(site, task_id, "completed")


WRITE_AND_READ = """
from django.contrib.auth.models import Group
Group.objects.create(name="of another")
print(list(Group.objects.filter(name__startswith="of ").order_by("name").values_list("name", flat=True)))
"""


def test_what_was_asked_for_survives_the_restart_of_server_and_worker(site: Site, tmp_path: Path) -> None:
    (tmp_path / "done").touch()
    with site.up():
        task_id = start(site, tmp_path / "done")
    with site.up(task_workers=1):
        result = wait_for(site, task_id, "completed")["result"]
    with site.up():
        assert send(site, "tasks/get", taskId=task_id)["result"] == result


def test_a_worker_that_dies_is_replaced_and_its_task_has_failed(site: Site, tmp_path: Path) -> None:
    with site.up(task_workers=1):
        lost = start(site, tmp_path / "done")
        found = re.search(r"process (\d+)", wait_for(site, lost, "working", "at it")["statusMessage"])
        assert found is not None
        os.kill(int(found[1]), signal.SIGKILL)
        (tmp_path / "done").touch()
        following = wait_for(site, start(site, tmp_path / "done"), "completed")
        assert following["result"]["structuredContent"]["pid"] != int(found[1])
        # As if a minute had passed.
        site.manage(
            "shell",
            "-c",
            "from datetime import timedelta; from django.db.models import F; from mcp_gateway.models import ToolTask; "
            "ToolTask.objects.running().update(beat_at=F('beat_at') - timedelta(minutes=2))",
        )
        task = wait_for(site, lost, "failed")
        assert task["error"]["code"] == -32603
        assert "worker" in task["error"]["message"]
    assert "ended with code -9" in site.output


def test_a_worker_that_is_told_to_stop_finishes_its_task(site: Site, tmp_path: Path) -> None:
    with site.up(task_workers=1):
        task_id = start(site, tmp_path / "done")
        found = re.search(r"process (\d+)", wait_for(site, task_id, "working", "at it")["statusMessage"])
        assert found is not None
        os.kill(int(found[1]), signal.SIGTERM)
        os.kill(int(found[1]), signal.SIGTERM)
        (tmp_path / "done").touch()
        assert wait_for(site, task_id, "completed")["result"]["structuredContent"]["pid"] == int(found[1])
        wait_for(site, start(site, tmp_path / "done"), "completed")
    assert "ended with code" not in site.output
