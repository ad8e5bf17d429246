"""Tasks of a client that acts for itself: what an administrator changes before their turn comes counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from oauth2_provider.models import get_application_model

from mcp_gateway.models import Client, ToolTask
from mcp_gateway.testing.tokens import issue_token
from tests.demo import Demo
from tests.tasks.conftest import Tasker

Work = Callable[[], None]


@pytest.fixture
def machine(tasker: Tasker, demo: Demo) -> Client:
    """The client, owned by ann, with a token of its own, that acts as the user robot."""
    demo.add("who", lambda event: {"for": event.user and event.user.username}, right="authenticated", task="required")
    tasker.token = issue_token(None)
    users = get_user_model().objects
    application = get_application_model().objects.get()
    application.user = users.create_user("ann")
    application.save()
    return Client.objects.create(application=application, service_user=users.create_user("robot"))


def test_a_task_is_run_for_the_service_user(tasker: Tasker, machine: Client, work: Work) -> None:
    task_id = tasker.start("who")
    work()
    assert tasker.get(task_id)["result"]["structuredContent"] == {"for": "robot"}


def another(machine: Client) -> None:
    machine.service_user = get_user_model().objects.create_user("other robot")
    machine.save()


def no_more(machine: Client) -> None:
    machine.service_user = None
    machine.save()


def disable(machine: Client) -> None:
    machine.enabled = False
    machine.save()


def disable_owner(machine: Client) -> None:
    get_user_model().objects.filter(username="ann").update(is_active=False)


def disable_service_user(machine: Client) -> None:
    get_user_model().objects.filter(username="robot").update(is_active=False)


@pytest.mark.parametrize("happens", [another, no_more, disable, disable_owner, disable_service_user])
def test_it_is_not_run_for_whom_the_client_may_not_act_any_more(
    tasker: Tasker, demo: Demo, machine: Client, work: Work, happens: Callable[[Client], None]
) -> None:
    tasker.start("who")
    happens(machine)
    work()
    task = ToolTask.objects.get()
    assert task.status == "failed"
    assert '"code": 403' in task.outcome
    assert demo.calls == []


@pytest.mark.parametrize("happens", [another, no_more])
def test_nor_for_nobody(
    tasker: Tasker, demo: Demo, machine: Client, work: Work, happens: Callable[[Client], None]
) -> None:
    demo.add("anyone", lambda event: {}, task="required")
    tasker.start("anyone")
    # As tasks were that clients without a service user made once.
    ToolTask.objects.update(user=None)
    happens(machine)
    work()
    assert ToolTask.objects.get().status == "failed"
    assert demo.calls == []


@pytest.mark.parametrize("happens", [another, no_more, disable_owner])
def test_a_task_that_a_person_made_through_the_client_is_run_all_the_same(
    tasker: Tasker, machine: Client, work: Work, happens: Callable[[Client], None]
) -> None:
    person: Any = get_user_model().objects.get(username="robot")
    tasker.token = issue_token(person)
    task_id = tasker.start("who")
    happens(machine)
    work()
    assert tasker.get(task_id)["result"]["structuredContent"] == {"for": "robot"}
