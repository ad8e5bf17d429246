"""Questions on a page of the site in a task: while the user is there, no worker is (elicitation, URL mode)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client as Browser
from django.utils import timezone

from mcp_gateway.models import PageQuestion, ToolTask
from mcp_gateway.protocol.methods import waiting
from mcp_gateway.tasks import framework
from mcp_gateway.testing.tokens import issue_token
from tests.demo import Demo
from tests.tasks.conftest import CAPABILITIES, DECLARED, EXTENSION, Tasker

Work = Callable[[], None]

FORM = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
META = {**DECLARED, CAPABILITIES: {"elicitation": {"form": {}, "url": {}}, "extensions": {EXTENSION: {}}}}
OPENED = {"action": "accept"}


@pytest.fixture
def page(tasker: Tasker, demo: Demo, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch) -> Page:
    """The user ann, whose task asks her on a page."""

    def nobody(*args: Any) -> bool:
        raise AssertionError("a worker was kept waiting")

    monkeypatch.setattr(waiting, "until", nobody)
    user = get_user_model().objects.create_user("ann")
    tasker.token = issue_token(user)
    browser = Browser()
    browser.force_login(user)
    demo.add("connect", lambda event: event.ask("key", "Key?", FORM, mode="url").content, task="required")
    task_id = tasker.modern("tools/call", {"name": "connect"}, meta=META).result["taskId"]
    return Page(tasker, browser, task_id, django_capture_on_commit_callbacks)


class Page:
    """The task, its client and the browser of its user."""

    def __init__(self, tasker: Tasker, browser: Browser, task_id: str, commits: Any) -> None:
        self.tasker, self.browser, self.task_id, self.commits = tasker, browser, task_id, commits
        self.path = ""

    @property
    def task(self) -> Any:
        return self.tasker.modern("tasks/get", {"taskId": self.task_id}, meta=META).result

    def question(self) -> str:
        """The key of the question that is open; its page's address is in ``path``."""
        ((key, request),) = self.task["inputRequests"].items()
        assert request["params"]["mode"] == "url"
        self.path = urlsplit(request["params"]["url"]).path
        return str(key)

    def agree(self) -> None:
        """The user lets the client open the page."""
        params = {"taskId": self.task_id, "inputResponses": {self.question(): OPENED}}
        self.tasker.modern("tasks/update", params, meta=META)

    def fill_in(self) -> None:
        """The user answers."""
        with self.commits(execute=True):
            assert self.browser.post(self.path, {"field0": "s3cret"}).status_code == 200


def test_the_task_works_on_once_the_page_is_answered(page: Page, demo: Demo, work: Work) -> None:
    work()
    page.agree()
    for _ in range(2):
        work()
        waiting_task = page.task
        assert (waiting_task["status"], len(demo.calls)) == ("working", 1)
        assert "the user" in waiting_task["statusMessage"]
    page.fill_in()
    assert "statusMessage" not in page.task
    work()
    assert page.task["result"]["structuredContent"] == {"key": "s3cret"}
    assert "s3cret" not in str(list(ToolTask.objects.values_list("answers", "questions", "arguments")))


def test_the_user_may_be_quicker_than_the_client(page: Page, work: Work) -> None:
    work()
    page.question()
    page.fill_in()
    assert page.task["status"] == "input_required"
    page.agree()
    work()
    assert page.task["status"] == "completed"


def test_a_no_on_the_page_is_an_answer(page: Page, demo: Demo, work: Work) -> None:
    demo.play("connect", lambda event: {"said": event.ask("key", "Key?", FORM, mode="url").action})
    work()
    page.agree()
    with page.commits(execute=True):
        page.browser.post(page.path, {"decline": ""})
    work()
    assert page.task["result"]["structuredContent"] == {"said": "decline"}


def test_a_page_is_open_as_long_as_its_task_is_kept(page: Page, work: Work) -> None:
    work()
    page.question()
    assert page_and_task_end_together()
    PageQuestion.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    page.agree()
    assert page_and_task_end_together()


def page_and_task_end_together() -> bool:
    apart: timedelta = PageQuestion.objects.get().expires_at - ToolTask.objects.get().expires_at
    return abs(apart) < timedelta(seconds=60)


def test_one_that_is_too_old_is_asked_again_on_another(page: Page, work: Work) -> None:
    work()
    page.agree()
    first = page.path
    PageQuestion.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert page.task["status"] == "working"
    work()
    page.agree()
    assert page.path != first
    page.fill_in()
    work()
    assert page.task["status"] == "completed"


def test_a_task_that_waits_for_a_page_can_be_cancelled(page: Page, demo: Demo, work: Work) -> None:
    work()
    page.agree()
    page.tasker.cancel(page.task_id)
    page.fill_in()
    work()
    assert page.task["status"] == "cancelled"
    assert len(demo.calls) == 1


def test_where_the_queue_is_away_it_is_queued_when_its_client_asks(
    page: Page, work: Work, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(task: ToolTask) -> None:
        raise OSError("the queue is away")

    work()
    page.agree()
    with monkeypatch.context() as broken:
        broken.setattr(framework, "shares_transaction", lambda using: False)
        broken.setattr(framework, "enqueue", refuse)
        page.fill_in()
        assert "the user" in page.task["statusMessage"]
    assert page.task["status"] == "working"
    work()
    assert page.task["status"] == "completed"


def test_admin_says_what_it_waits_for(page: Page, work: Work, admin_client: Browser) -> None:
    work()
    page.agree()
    assert "waits for the user" in admin_client.get("/admin/mcp_gateway/tooltask/").content.decode()
