"""Whose a task is: checked at every request, and again before a worker runs it (ext-tasks, “Security”)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import call_command
from oauth2_provider.models import get_access_token_model, get_application_model

from mcp_gateway.models import Client, Endpoint, Scope, ScopeGroup, Tool, ToolTask
from mcp_gateway.testing.tokens import issue_token
from tests.demo import Demo
from tests.tasks.conftest import Tasker

Work = Callable[[], None]

METHODS = ("tasks/get", "tasks/update", "tasks/cancel")


@pytest.fixture
def ann(tasker: Tasker, demo: Demo) -> Any:
    """A user, as whom the client calls the tool ``report``, which needs a scope."""
    Scope.objects.create(name="reports:make")
    demo.add("report", lambda event: {"for": event.user.username}, right="oauth2:scope reports:make", task="required")
    user = get_user_model().objects.create_user("ann")
    tasker.token = issue_token(user, "mcp:tools reports:make")
    return user


def test_a_task_is_run_for_its_caller(tasker: Tasker, ann: Any, work: Work) -> None:
    task_id = tasker.start("report")
    # Tasks take longer than tokens are good for.
    get_access_token_model().objects.all().delete()
    work()
    tasker.token = issue_token(ann, "mcp:tools reports:make")
    assert tasker.get(task_id)["result"]["structuredContent"] == {"for": "ann"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("who", ["another user", "another client", "nobody"])
def test_to_anyone_else_its_id_is_unknown(tasker: Tasker, ann: Any, work: Work, method: str, who: str) -> None:
    task_id = tasker.start("report")
    unknown = tasker.modern(method, {"taskId": "x" * 43, "inputResponses": {}}).error
    if who == "nobody":
        tasker.token = ""
    elif who == "another user":
        tasker.token = issue_token(get_user_model().objects.create_user("bo"), "mcp:tools reports:make")
    else:
        application = get_application_model().objects.get()
        application.pk, application.client_id = None, "other"
        application.save()
        get_access_token_model().objects.update(application=application)
    answer = tasker.modern(method, {"taskId": task_id, "inputResponses": {}})
    assert (answer.status, answer.error) == (400, unknown)
    assert ToolTask.objects.get().status == "working"


def test_it_is_known_at_its_own_endpoint_only(tasker: Tasker) -> None:
    Endpoint.objects.create(slug="other")
    task_id = tasker.start("slow")
    tasker.path = "/mcp/other"
    assert tasker.modern("tasks/get", {"taskId": task_id}).code == -32602
    tasker.path = "/mcp/"
    assert tasker.get(task_id)["status"] == "working"


@pytest.mark.parametrize("method", METHODS)
def test_the_right_of_its_tool_is_needed_each_time(tasker: Tasker, ann: Any, work: Work, method: str) -> None:
    task_id = tasker.start("report")
    tasker.token = issue_token(ann, "mcp:tools")
    answer = tasker.modern(method, {"taskId": task_id, "inputResponses": {}})
    assert answer.status == 403
    assert 'error="insufficient_scope"' in answer.challenge
    assert "reports:make" in answer.challenge
    Tool.objects.filter(name="report").update(visibility_override="authorized")
    assert tasker.modern(method, {"taskId": task_id, "inputResponses": {}}).code == -32602


def disable_user(ann: Any) -> None:
    get_user_model().objects.update(is_active=False)


def disable_client(ann: Any) -> None:
    Client.objects.create(application=get_application_model().objects.get(), enabled=False)


def disable_scope(ann: Any) -> None:
    Scope.objects.filter(name="reports:make").update(enabled=False)


def narrow_client(ann: Any) -> None:
    client = Client.objects.create(application=get_application_model().objects.get())
    client.allowed_scopes.set(Scope.objects.filter(name="mcp:tools"))


def keep_scope_to_a_group(ann: Any) -> None:
    scope = Scope.objects.get(name="reports:make")
    ScopeGroup.objects.create(scope=scope, group=Group.objects.create(name="reporters"))


def demand_more(ann: Any) -> None:
    Tool.objects.get(name="report").required_scopes.add(Scope.objects.create(name="more"))


@pytest.mark.parametrize(
    "happens", [disable_user, disable_client, disable_scope, narrow_client, keep_scope_to_a_group, demand_more]
)
def test_what_has_changed_before_its_turn_comes_counts(
    tasker: Tasker, demo: Demo, ann: Any, work: Work, happens: Callable[[Any], None]
) -> None:
    tasker.start("report")
    happens(ann)
    work()
    task = ToolTask.objects.get()
    assert task.status == "failed"
    assert '"code": 403' in task.outcome
    assert demo.calls == []


def test_tasks_of_a_user_who_is_deleted_are_gone(tasker: Tasker, ann: Any, work: Work, demo: Demo) -> None:
    tasker.start("report")
    ann.delete()
    assert not ToolTask.objects.exists()
    work()
    assert demo.calls == []


def test_from_the_shell_a_tool_that_must_be_a_task_just_runs(ann: Any, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("mcp_call", "report", "--user", "ann")
    assert '"for": "ann"' in capsys.readouterr().out
    assert not ToolTask.objects.exists()
