"""Tasks from the call that makes them to their end (ext-tasks, “Task Creation” to “Error Handling”)."""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from mcp_gateway.events import CallEvent, Status
from mcp_gateway.models import Tool, ToolTask
from mcp_gateway.models.tool_task import LOST_AFTER
from tests.demo import Demo
from tests.tasks.conftest import CAPABILITIES, EXTENSION, Tasker
from tests.wire import CLIENT_META, Wire

Work = Callable[[], None]

AT_ONCE = {"default": {"BACKEND": "django.tasks.backends.immediate.ImmediateBackend"}}


class Panic(BaseException):
    """What no server is made for."""


def test_a_tool_that_may_be_a_task_is_one_and_its_result_is_what_the_call_would_have_given(
    tasker: Tasker, work: Work
) -> None:
    task_id = tasker.start("slow", {"n": 10**30, "text": "ž\0"})
    working = tasker.get(task_id)
    assert (working["status"], working["taskId"]) == ("working", task_id)
    work()
    done = tasker.get(task_id)
    assert done["status"] == "completed"
    assert done["result"]["structuredContent"] == {"got": {"n": 10**30, "text": "ž\0"}}
    assert (done["result"]["isError"], done["result"]["resultType"]) == (False, "complete")
    assert json.loads(done["result"]["content"][0]["text"]) == {"got": {"n": 10**30, "text": "ž\0"}}
    assert "pollIntervalMs" not in done


def test_a_tool_that_is_no_task_is_answered_at_once_also_with_the_legacy_hint(tasker: Tasker) -> None:
    params = {"name": "demo-echo", "arguments": {"message": "hi"}, "task": {"ttl": 60000}}
    assert tasker.modern("tools/call", params).result["structuredContent"] == {"echo": "hi"}
    assert not ToolTask.objects.exists()


def test_ids_are_random_and_stored_nowhere(tasker: Tasker) -> None:
    ids = {tasker.start("slow") for _ in range(3)}
    assert len(ids) == 3
    assert all(len(task_id) >= 43 for task_id in ids)
    for row in ToolTask.objects.values():
        assert not ids & {str(value) for value in row.values()}


def test_without_the_extension_an_optional_tool_runs_at_once(tasker: Tasker, wire: Wire, era: str) -> None:
    answer = wire.call(era, "slow", {"n": 1})
    assert answer.structured == {"got": {"n": 1}}
    assert not ToolTask.objects.exists()


@pytest.mark.parametrize("declared", [{}, {"extensions": {}}, {"extensions": {EXTENSION: None}}, {"extensions": []}])
def test_without_the_extension_a_required_tool_names_what_is_missing(
    tasker: Tasker, demo: Demo, declared: dict[str, Any]
) -> None:
    demo.add("long", lambda event: {}, task="required")
    meta = {**CLIENT_META, CAPABILITIES: declared}
    answer = tasker.modern("tools/call", {"name": "long"}, meta=meta)
    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
    assert demo.calls == []


def test_in_the_legacy_era_a_required_tool_says_why_it_cannot_run(wire: Wire, demo: Demo) -> None:
    demo.add("long", lambda event: {}, task="required")
    answer = wire.call("legacy", "long")
    assert "only as a task" in answer.failure
    assert demo.calls == []


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_methods_are_for_clients_that_declare_the_extension(tasker: Tasker, method: str) -> None:
    params = {"taskId": tasker.start("slow"), "inputResponses": {}}
    answer = tasker.modern(method, params, meta=CLIENT_META)
    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


@pytest.mark.parametrize("method", ["tasks/list", "tasks/result"])
def test_what_the_extension_has_left_out_does_not_exist(tasker: Tasker, method: str) -> None:
    answer = tasker.modern(method, {"taskId": "x"})
    assert (answer.status, answer.code) == (404, -32601)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_an_unknown_id_is_refused_and_so_is_none(tasker: Tasker, method: str) -> None:
    answer = tasker.modern(method, {"taskId": "x" * 43, "inputResponses": {}})
    assert (answer.status, answer.code) == (400, -32602)
    assert tasker.modern(method, {"inputResponses": {}}).code == -32602


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_the_name_header_repeats_the_id(tasker: Tasker, method: str) -> None:
    params = {"taskId": tasker.start("slow"), "inputResponses": {}}
    assert tasker.modern(method, params, headers={"Mcp-Name": "other"}).code == -32020
    missing = tasker.modern(method, params, headers={"Mcp-Name": None})
    assert missing.code == -32020
    assert "Mcp-Name is missing; it repeats params.taskId" in missing.error["message"]


def test_the_extension_is_advertised_to_the_modern_era_alone(tasker: Tasker, wire: Wire) -> None:
    capabilities = tasker.modern("server/discover").result["capabilities"]
    assert capabilities["extensions"][EXTENSION] == {}
    assert "tasks" not in capabilities
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    legacy = wire.legacy("initialize", params).result["capabilities"]
    assert not {"extensions", "tasks"} & set(legacy)


@pytest.mark.parametrize(
    "backends", [AT_ONCE, {"default": {"BACKEND": "django.tasks.backends.dummy.DummyBackend"}}, {}]
)
def test_a_site_without_a_worker_has_no_tasks(
    tasker: Tasker, demo: Demo, settings: Any, backends: dict[str, Any]
) -> None:
    if not _has_framework_of_django():
        backends = json.loads(json.dumps(backends).replace("django.tasks", "django_tasks"))
    settings.TASKS = backends
    demo.add("long", lambda event: {}, task="required")
    assert EXTENSION not in tasker.modern("server/discover").result["capabilities"].get("extensions", {})
    assert tasker.modern("tools/call", {"name": "slow"}).structured == {"got": {}}
    assert "no worker" in tasker.modern("tools/call", {"name": "long"}).failure
    assert tasker.modern("tasks/get", {"taskId": "x"}).code == -32601


def _has_framework_of_django() -> bool:
    import django

    return django.VERSION >= (6, 0)


def test_a_tool_that_says_no_has_completed_with_its_message(tasker: Tasker, demo: Demo, work: Work) -> None:
    demo.play("slow", lambda event: event.set_status(Status.CONFLICT, "It is taken."))
    task_id = tasker.start("slow")
    work()
    task = tasker.get(task_id)
    assert task["status"] == "completed"
    assert task["result"]["isError"] is True
    assert task["result"]["content"][0]["text"] == "It is taken."


def test_a_result_that_does_not_fit_its_schema_is_judged_as_in_a_call(tasker: Tasker, demo: Demo, work: Work) -> None:
    demo.play("slow", lambda event: [1])
    task_id = tasker.start("slow")
    work()
    task = tasker.get(task_id)
    assert (task["status"], task["result"]["isError"]) == ("completed", True)
    assert "response schema" in task["result"]["content"][0]["text"]


def test_arguments_that_do_not_fit_make_no_task(tasker: Tasker, demo: Demo) -> None:
    Tool.objects.filter(name="slow").update(input_schema='{"type": "object", "required": ["n"]}')
    assert "input schema" in tasker.modern("tools/call", {"name": "slow"}).failure
    assert not ToolTask.objects.exists()


def test_a_fault_of_the_server_is_a_failed_task_without_a_trace(
    tasker: Tasker, demo: Demo, work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    def panic(event: CallEvent) -> None:
        raise Panic("s3cret")

    demo.play("slow", panic)
    task_id = tasker.start("slow")
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        work()
    task = tasker.get(task_id)
    assert (task["status"], task["error"]["code"]) == ("failed", -32603)
    assert "s3cret" not in json.dumps(task)
    assert task["error"]["message"].split("incident ")[1].rstrip(".") in caplog.text
    assert "s3cret" in caplog.text


def test_a_tool_that_is_gone_when_its_turn_comes_fails_the_task(tasker: Tasker, demo: Demo, work: Work) -> None:
    task_id = tasker.start("slow")
    Tool.objects.filter(name="slow").update(enabled=False)
    work()
    task = tasker.get(task_id)
    assert (task["status"], task["error"]["code"]) == ("failed", -32602)
    assert demo.calls == []


def test_a_result_is_not_given_out_once_its_tool_is_switched_off(tasker: Tasker, work: Work) -> None:
    task_id = tasker.start("slow")
    work()
    Tool.objects.filter(name="slow").update(enabled=False)
    assert tasker.modern("tasks/get", {"taskId": task_id}).code == -32602


def test_what_was_cancelled_in_the_queue_never_runs(tasker: Tasker, demo: Demo, work: Work) -> None:
    task_id = tasker.start("slow")
    assert tasker.cancel(task_id).result["resultType"] == "complete"
    assert tasker.get(task_id)["status"] == "cancelled"
    work()
    assert demo.calls == []
    assert tasker.get(task_id)["status"] == "cancelled"


def test_cancelling_what_is_over_changes_nothing(tasker: Tasker, work: Work) -> None:
    task_id = tasker.start("slow")
    work()
    before = tasker.get(task_id)
    tasker.cancel(task_id)
    tasker.cancel(task_id)
    assert tasker.get(task_id) == before


def test_arguments_are_gone_once_the_task_is_over(tasker: Tasker, demo: Demo, work: Work) -> None:
    demo.play("slow", lambda event: {})
    tasker.start("slow", {"password": "s3cret"})
    cancelled = tasker.start("slow", {"password": "s3cret"})
    assert ToolTask.objects.filter(arguments__contains="s3cret").count() == 2
    tasker.cancel(cancelled)
    work()
    assert all("s3cret" not in str(row) for row in ToolTask.objects.values())


def test_a_task_whose_worker_is_gone_has_failed_and_says_so(tasker: Tasker, work: Work, demo: Demo) -> None:
    task_id = tasker.start("slow")
    assert ToolTask.objects.all().claim()
    assert tasker.get(task_id)["status"] == "working"
    ToolTask.objects.update(beat_at=timezone.now() - LOST_AFTER - datetime.timedelta(seconds=1))
    task = tasker.get(task_id)
    assert (task["status"], task["error"]["code"]) == ("failed", -32603)
    assert "worker" in task["statusMessage"]
    # Its job may be handed out again all the same.
    work()
    assert demo.calls == []


def test_a_task_that_should_have_stopped_when_its_worker_went_is_cancelled(tasker: Tasker) -> None:
    task_id = tasker.start("slow")
    ToolTask.objects.all().claim()
    tasker.cancel(task_id)
    assert tasker.get(task_id)["status"] == "working"
    ToolTask.objects.update(beat_at=timezone.now() - LOST_AFTER - datetime.timedelta(seconds=1))
    assert tasker.get(task_id)["status"] == "cancelled"


def test_a_job_that_is_handed_out_twice_runs_once(tasker: Tasker, demo: Demo, work: Work) -> None:
    from mcp_gateway.tasks import framework

    tasker.start("slow")
    framework.enqueue(ToolTask.objects.get())
    work()
    assert len(demo.calls) == 1


def test_what_has_expired_is_unknown_and_cleared_away_by_the_next_call(tasker: Tasker, work: Work) -> None:
    from django_tasks_db.models import DBTaskResult

    old = tasker.start("slow")
    work()
    past = timezone.now() - datetime.timedelta(hours=2)
    ToolTask.objects.update(expires_at=past)
    DBTaskResult.objects.update(finished_at=past)
    assert tasker.modern("tasks/get", {"taskId": old}).code == -32602
    new = tasker.start("slow")
    assert ToolTask.objects.count() == 1
    assert DBTaskResult.objects.count() == 1
    assert tasker.get(new)["status"] == "working"


def test_its_time_to_live_is_a_setting_and_counts_from_the_last_that_happened(tasker: Tasker, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "TASK_TTL_SECONDS": 600}
    task_id = tasker.start("slow")
    assert tasker.get(task_id)["ttlMs"] == 600_000
    ToolTask.objects.update(created_at=timezone.now() - datetime.timedelta(seconds=590))
    ToolTask.objects.all().claim()
    later = tasker.get(task_id)
    assert later["ttlMs"] >= 1_190_000
    assert later["pollIntervalMs"] == 5000


def test_nothing_is_left_of_a_task_that_cannot_be_queued(
    tasker: Tasker, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "TASK_QUEUE": "missing"}
    answer = tasker.modern("tools/call", {"name": "slow"})
    assert (answer.status, answer.code) == (500, -32603)
    assert not ToolTask.objects.exists()


def test_who_listens_for_tasks_must_declare_them(tasker: Tasker, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "SERVER_THREADS": 16}
    params = {"notifications": {"taskIds": [tasker.start("slow")]}}
    answer = tasker.modern("subscriptions/listen", params, meta=CLIENT_META)
    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


def test_a_handlers_words_are_kept_as_every_database_takes_them(tasker: Tasker) -> None:
    task_id = tasker.start("slow")
    rows = ToolTask.objects.all()
    assert rows.claim()
    assert rows.beat("half \ud800, nul \0.")
    assert tasker.get(task_id)["statusMessage"] == "half ?, nul ."
    assert rows.finish(ToolTask.Status.CANCELLED, message="\ud800\0")
    assert tasker.get(task_id)["statusMessage"] == "?"


def test_the_job_of_a_worker_that_is_gone_does_not_run_for_ever(tasker: Tasker, work: Work) -> None:
    from django_tasks_db.models import DBTaskResult

    expired, lost, alive = tasker.start("slow"), tasker.start("slow"), tasker.start("slow")
    begun = timezone.now() - LOST_AFTER - datetime.timedelta(seconds=1)
    DBTaskResult.objects.update(status="RUNNING", started_at=begun)
    first, second, third = ToolTask.objects.order_by("pk")
    for task in (first, second, third):
        assert ToolTask.objects.filter(pk=task.pk).claim()
    ToolTask.objects.filter(pk__in=(first.pk, second.pk)).update(beat_at=begun)
    assert [tasker.get(task_id)["status"] for task_id in (expired, lost, alive)] == ["failed", "failed", "working"]
    # What has expired is cleared away by the next call, and the jobs with it.
    ToolTask.objects.filter(pk=first.pk).update(expires_at=begun)
    tasker.start("slow")
    status = {row.args_kwargs["args"][0]: row.status for row in DBTaskResult.objects.exclude(status="READY")}
    assert status == {first.pk: "FAILED", second.pk: "FAILED", third.pk: "RUNNING"}
    later = timezone.now() - datetime.timedelta(hours=2)
    DBTaskResult.objects.filter(status="FAILED").update(finished_at=later)
    ToolTask.objects.filter(pk=second.pk).update(expires_at=later)
    tasker.start("slow")
    assert DBTaskResult.objects.exclude(status="READY").get().args_kwargs["args"] == [third.pk]
