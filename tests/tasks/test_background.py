"""`event.background()`: a handler that decides by itself to go on in the background."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mcp_gateway.events import CallEvent
from mcp_gateway.models import Tool, ToolTask
from mcp_gateway.models.tool_task import digest_of
from mcp_gateway.tasks import framework
from tests.demo import Demo
from tests.tasks.conftest import CAPABILITIES, DECLARED, EXTENSION, Tasker
from tests.wire import CLIENT_META, Wire

Work = Callable[[], None]

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def going(event: CallEvent) -> dict[str, Any]:
    """A handler that writes, goes on in the background, and writes again."""
    Group.objects.create(name=f"before {Group.objects.count()}")
    event.background()
    return {"groups": Group.objects.count()}


def test_the_call_becomes_a_task_and_the_handler_begins_anew(tasker: Tasker, demo: Demo, work: Work) -> None:
    demo.add("goes", going)
    task_id = tasker.start("goes")
    # What the first run wrote is rolled back.
    assert Group.objects.filter(name__startswith="before").count() == 0
    before = Group.objects.count()
    work()
    assert tasker.get(task_id)["result"]["structuredContent"] == {"groups": before + 1}


def test_elsewhere_it_just_goes_on(tasker: Tasker, wire: Wire, demo: Demo, era: str) -> None:
    demo.add("goes", lambda event: event.background() or {"done": True})
    assert wire.call(era, "goes").structured == {"done": True}
    assert CallEvent("goes").dispatch().response == {"done": True}
    assert not ToolTask.objects.exists()


def test_where_it_must_be_a_task_other_clients_are_refused(tasker: Tasker, wire: Wire, demo: Demo) -> None:
    demo.add("goes", lambda event: event.background(required=True) or {"done": True})
    answer = tasker.modern("tools/call", {"name": "goes"}, meta=CLIENT_META)
    assert (answer.status, answer.code) == (400, -32021)
    assert "only as a task" in wire.call("legacy", "goes").failure
    assert tasker.modern("tools/call", {"name": "goes"}).result["resultType"] == "task"


def test_a_handler_that_swallows_what_ends_its_run_ends_all_the_same(tasker: Tasker, demo: Demo, work: Work) -> None:
    def stubborn(event: CallEvent) -> dict[str, Any]:
        try:
            event.background()
        except BaseException:
            return {"where": "in the request"}
        return {"where": "in the worker"}

    demo.add("goes", stubborn)
    task_id = tasker.start("goes")
    work()
    assert tasker.get(task_id)["result"]["structuredContent"] == {"where": "in the worker"}


def ask_and_go(event: CallEvent) -> dict[str, Any]:
    """A handler that asks, goes on in the background, and asks again there."""
    first = event.ask("first", "Who?", FORM)
    event.background()
    second = event.ask("second", "And who?", FORM)
    return {"names": [first.get("name"), second.get("name")]}


def accepted(**content: Any) -> dict[str, Any]:
    """An answer to a form."""
    return {"action": "accept", "content": content}


def test_questions_before_it_are_rounds_of_the_call_and_those_after_it_of_the_task(
    tasker: Tasker, demo: Demo, work: Work
) -> None:
    demo.add("asks", ask_and_go)
    first = tasker.modern("tools/call", {"name": "asks"}).result
    assert (first["resultType"], list(first["inputRequests"])) == ("input_required", ["first"])
    retry = {"inputResponses": {"first": accepted(name="Ann")}, "requestState": first["requestState"]}
    made = tasker.modern("tools/call", {"name": "asks", **retry}).result
    assert (made["resultType"], made["status"]) == ("task", "working")
    work()
    waiting = tasker.get(made["taskId"])
    assert (waiting["status"], list(waiting["inputRequests"])) == ("input_required", ["second"])
    assert waiting["inputRequests"]["second"]["method"] == "elicitation/create"
    answer(tasker, made["taskId"], second=accepted(name="Bo"))
    assert tasker.get(made["taskId"])["status"] == "working"
    work()
    assert tasker.get(made["taskId"])["result"]["structuredContent"] == {"names": ["Ann", "Bo"]}


def answer(tasker: Tasker, task_id: str, **responses: Any) -> None:
    """``tasks/update``, which says nothing but that it was taken."""
    result = tasker.modern("tasks/update", {"taskId": task_id, "inputResponses": responses}).result
    assert set(result) == {"resultType", "_meta"}


def test_an_answer_that_does_not_fit_is_asked_again_under_another_key(tasker: Tasker, demo: Demo, work: Work) -> None:
    demo.add("asks", lambda event: {"name": event.ask("who", "Who?", FORM).get("name")}, task="required")
    task_id = tasker.start("asks")
    work()
    answer(tasker, task_id, who=accepted(name=5))
    work()
    (key,) = tasker.get(task_id)["inputRequests"]
    assert key != "who"
    answer(tasker, task_id, who=accepted(name="too late"))
    assert tasker.get(task_id)["status"] == "input_required"
    answer(tasker, task_id, **{key: accepted(name="Ann")})
    work()
    assert tasker.get(task_id)["result"]["structuredContent"] == {"name": "Ann"}


def test_answers_may_come_one_by_one_and_what_was_not_asked_is_ignored(tasker: Tasker, demo: Demo, work: Work) -> None:
    def both(event: CallEvent) -> dict[str, Any]:
        answers = event.ask_all({"a": ("A?", FORM), "b": ("B?", FORM)})
        return {key: given.action for key, given in answers.items()}

    demo.add("asks", both, task="required")
    task_id = tasker.start("asks")
    work()
    assert set(tasker.get(task_id)["inputRequests"]) == {"a", "b"}
    answer(tasker, task_id, a=accepted(name="x"), c=accepted(name="y"))
    left = tasker.get(task_id)
    assert (left["status"], set(left["inputRequests"])) == ("input_required", {"b"})
    answer(tasker, task_id, a={"action": "decline"}, b={"action": "decline"})
    work()
    assert tasker.get(task_id)["result"]["structuredContent"] == {"a": "accept", "b": "decline"}


def test_a_task_that_waits_for_answers_can_be_cancelled(tasker: Tasker, demo: Demo, work: Work) -> None:
    demo.add("asks", lambda event: {"name": event.ask("who", "Who?", FORM).get("name")}, task="required")
    task_id = tasker.start("asks")
    work()
    tasker.cancel(task_id)
    assert tasker.get(task_id)["status"] == "cancelled"
    answer(tasker, task_id, who=accepted(name="Ann"))
    work()
    assert tasker.get(task_id)["status"] == "cancelled"


def test_one_whose_tool_is_switched_off_while_it_waits_can_still_be_cancelled(
    tasker: Tasker, demo: Demo, work: Work
) -> None:
    demo.add("asks", lambda event: {"name": event.ask("who", "Who?", FORM).get("name")}, task="required")
    task_id = tasker.start("asks")
    work()
    Tool.objects.filter(name="asks").update(enabled=False)
    for method, further in (("tasks/get", {}), ("tasks/update", {"inputResponses": {"who": accepted(name="Ann")}})):
        assert "not served" in tasker.modern(method, {"taskId": task_id, **further}).error["message"]
    assert tasker.cancel(task_id).result["resultType"] == "complete"
    assert tasker.get(task_id)["status"] == "cancelled"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("atomic", "task"), [*itertools.product((None, True, False), ("", "optional"))])
def test_in_the_worker_only_a_manifest_that_says_so_has_a_transaction(
    tasker: Tasker, wire: Wire, demo: Demo, work: Work, atomic: bool | None, task: str
) -> None:
    def goes(event: CallEvent) -> dict[str, Any]:
        event.background()
        return {"transaction": connection.in_atomic_block}

    demo.add("goes", goes, atomic=atomic, task=task)
    task_id = tasker.start("goes")
    work()
    assert tasker.get(task_id)["result"]["structuredContent"] == {"transaction": atomic is True}
    while_the_client_waits = not task if atomic is None else atomic
    assert wire.call("modern", "goes").structured == {"transaction": while_the_client_waits}


def test_who_asks_how_far_a_task_is_writes_nothing(tasker: Tasker, work: Work) -> None:
    waiting, running = tasker.start("slow"), tasker.start("slow")
    ToolTask.objects.filter(digest=digest_of(running)).claim()
    with CaptureQueriesContext(connection) as queries:
        assert [tasker.get(task_id)["status"] for task_id in (waiting, running)] == ["working", "working"]
    assert [query["sql"] for query in queries if not query["sql"].startswith("SELECT")] == []


@pytest.mark.parametrize("responses", [None, [], {"who": "Ann"}, {"who": None}])
def test_answers_that_are_none_are_refused(tasker: Tasker, demo: Demo, work: Work, responses: Any) -> None:
    demo.add("asks", lambda event: {"name": event.ask("who", "Who?", FORM).get("name")}, task="required")
    task_id = tasker.start("asks")
    work()
    params = {"taskId": task_id, "inputResponses": responses}
    assert tasker.modern("tasks/update", params).code == -32602
    assert tasker.get(task_id)["status"] == "input_required"


def test_a_client_that_cannot_be_asked_is_not_asked_in_a_task_either(tasker: Tasker, demo: Demo, work: Work) -> None:
    demo.add("asks", lambda event: {"name": event.ask("who", "Who?", FORM).get("name")}, task="required")
    meta = {**DECLARED, CAPABILITIES: {"extensions": {EXTENSION: {}}}}
    task_id = tasker.modern("tools/call", {"name": "asks"}, meta=meta).result["taskId"]
    work()
    task = tasker.get(task_id)
    assert (task["status"], task["error"]["code"]) == ("failed", -32021)
    assert task["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


def test_an_answer_whose_task_cannot_be_queued_may_be_given_again(
    tasker: Tasker, demo: Demo, work: Work, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    demo.add("asks", lambda event: {"name": event.ask("who", "Who?", FORM).get("name")}, task="required")
    task_id = tasker.start("asks")
    work()

    def refuse(task: ToolTask) -> None:
        raise OSError("the queue is away")

    responses = {"inputResponses": {"who": accepted(name="Ann")}}
    with monkeypatch.context() as broken:
        broken.setattr(framework, "shares_transaction", lambda using: False)
        broken.setattr(framework, "enqueue", refuse)
        assert tasker.modern("tasks/update", {"taskId": task_id, **responses}).code == -32603
    assert set(tasker.get(task_id)["inputRequests"]) == {"who"}
    answer(tasker, task_id, who=accepted(name="Bo"))
    work()
    assert tasker.get(task_id)["result"]["structuredContent"] == {"name": "Bo"}
