"""The worker for tasks that stops: what it has taken it brings to an end, and if it cannot, another begins it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.utils import timezone
from django_tasks_db.management.commands.db_worker import Worker
from django_tasks_db.models import DBTaskResult

from mcp_gateway.models import ToolTask
from mcp_gateway.models.tool_task import LOST_AFTER
from mcp_gateway.tasks import framework
from tests.tasks.conftest import Tasker, worker
from zolinga_site.task_worker import patient


@pytest.fixture
def told(tasker: Tasker, work: Callable[[], None]) -> Any:
    """A worker that gets two signals when it has just taken a task, as from the server and the end of its input."""
    told = worker(patient(Worker), batch=False)
    run_task = told.run_task

    def run_after_signals(job: Any) -> None:
        told.shutdown(signal.SIGTERM, None)
        told.shutdown(signal.SIGTERM, None)
        run_task(job)

    told.run_task = run_after_signals
    return told


def test_a_task_that_was_taken_is_done_and_the_next_one_is_left_to_others(
    tasker: Tasker, told: Any, work: Callable[[], None]
) -> None:
    taken, following = tasker.start("slow", {"n": 1}), tasker.start("slow", {"n": 2})
    told.run()
    assert tasker.get(taken)["status"] == "completed"
    assert tasker.get(following)["status"] == "working"
    work()
    assert tasker.get(following)["status"] == "completed"


def long_ago(**of_the_job: Any) -> None:
    """Let the only task wait for more than a minute, its job taken by a worker."""
    then = timezone.now() - LOST_AFTER - timedelta(seconds=1)
    DBTaskResult.objects.update(**of_the_job, started_at=then)
    ToolTask.objects.update(created_at=then, updated_at=then)


@pytest.mark.parametrize("status", ["RUNNING", "FAILED"])
def test_a_task_that_a_worker_took_and_did_not_begin_is_begun_by_another(
    tasker: Tasker, work: Callable[[], None], status: str
) -> None:
    task_id = tasker.start("slow")
    long_ago(status=status)
    assert [tasker.get(task_id)["status"] for _ in range(2)] == ["working", "working"]
    assert DBTaskResult.objects.filter(status="READY").count() == 1
    work()
    assert tasker.get(task_id)["status"] == "completed"


def test_a_task_that_waits_for_a_worker_is_not_queued_twice(tasker: Tasker) -> None:
    task_id = tasker.start("slow")
    long_ago()
    assert tasker.get(task_id)["status"] == "working"
    assert DBTaskResult.objects.count() == 1


def test_a_task_that_cannot_be_queued_again_is_when_its_client_next_asks(
    tasker: Tasker, work: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = tasker.start("slow")
    long_ago(status="RUNNING")
    with monkeypatch.context() as broken:
        broken.setattr(framework, "enqueue", Mock(side_effect=ConnectionError))
        assert tasker.get(task_id)["status"] == "working"
    assert tasker.get(task_id)["status"] == "working"
    work()
    assert tasker.get(task_id)["status"] == "completed"
