"""A client that knows the extension for tasks, a tool that is one, and a worker that works when it is told to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django_tasks_db.management.commands import db_worker

from mcp_gateway.testing.client import Answer
from tests.demo import Demo
from tests.wire import CLIENT_META, Wire
from tests.wire_fixtures import demo, era, wire

__all__ = ["demo", "era", "wire"]

EXTENSION = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
DECLARED = {**CLIENT_META, CAPABILITIES: {"elicitation": {}, "extensions": {EXTENSION: {}}}}

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
DETAILS = {"input_required": {"inputRequests"}, "completed": {"result"}, "failed": {"error"}}


@dataclass
class Tasker(Wire):
    """A client that declares the extension in every request, and judges every task that it gets."""

    def modern(self, method: str, params: dict[str, Any] | None = None, **options: Any) -> Answer:
        """A request of 2026-07-28 with the extension."""
        options = {"meta": DECLARED, **options}
        # The official types know nothing of extensions.
        answer = super(Wire, self).modern(method, params, **options)
        if answer.status == 200 and "result" in answer.json:
            check_task(method, answer.result)
        return answer

    def start(self, tool: str, arguments: dict[str, Any] | None = None) -> str:
        """Call a tool that becomes a task; gives the task's id."""
        result = self.modern("tools/call", {"name": tool, "arguments": arguments or {}}).result
        assert result["resultType"] == "task"
        task_id: str = result["taskId"]
        return task_id

    def get(self, task_id: str) -> Any:
        """The task as it is now."""
        return self.modern("tasks/get", {"taskId": task_id}).result

    def cancel(self, task_id: str) -> Answer:
        """Ask a task to stop."""
        return self.modern("tasks/cancel", {"taskId": task_id})


def check_task(method: str, result: dict[str, Any]) -> None:
    """A result has the shape that the extension gives it, and nothing more."""
    if result["resultType"] == "task":
        assert method == "tools/call"
        assert set(result) <= {"resultType", "_meta", *TASK}
    elif method == "tasks/get":
        assert set(result) - {"resultType", "_meta", *TASK} == DETAILS.get(result["status"], set())
    elif method in ("tasks/update", "tasks/cancel"):
        assert set(result) == {"resultType", "_meta"}
        return
    else:
        return
    assert len(result["taskId"]) >= 22
    assert result["status"] in ("working", "input_required", "completed", "failed", "cancelled")
    assert MOMENT.fullmatch(result["createdAt"])
    assert MOMENT.fullmatch(result["lastUpdatedAt"])
    assert result["createdAt"] <= result["lastUpdatedAt"]
    assert isinstance(result["ttlMs"], int)
    assert result["ttlMs"] > 0
    assert isinstance(result.get("pollIntervalMs", 1), int)
    assert result.get("pollIntervalMs", 1) > 0


TASK = ("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs")


@pytest.fixture
def tasker(demo: Demo) -> Tasker:
    """An anonymous client that knows tasks, beside the demo tools and the tool ``slow`` that gives back what it got."""
    demo.add("slow", lambda event: {"got": event.request}, task="optional", atomic=False)
    return Tasker()


@pytest.fixture
def work(db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let a worker of the database backend do all there is to do."""
    # The test's own transaction is on that connection.
    monkeypatch.setattr(db_worker, "close_old_connections", lambda: None)

    return lambda: worker(batch=True).run()


def worker(kind: type[Any] = db_worker.Worker, *, batch: bool) -> Any:
    """A worker of the database backend; with ``batch`` it ends when there is nothing to do any more."""
    return kind(
        queue_names=["default"],
        interval=0,
        batch=batch,
        backend_name="default",
        startup_delay=False,
        max_tasks=None,
        worker_id="of-the-tests",
        excluded_queue_names=[],
    )
