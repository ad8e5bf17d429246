from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client as Browser
from django.utils import timezone

from mcp_gateway.models import ToolTask

Page = Callable[..., str]
Status = ToolTask.Status


@pytest.fixture
def task(admin_user: User) -> ToolTask:
    return ToolTask.objects.create(
        digest="d" * 64,
        tool="make-report",
        user=admin_user,
        authenticated=True,
        version="2026-07-28",
        arguments='{"password": "s3cret"}',
        answers='{"name": "s3cret"}',
        questions='{"open": {"s3cret": {}}, "used": []}',
        expires_at=timezone.now() + timedelta(hours=1),
    )


def test_a_task_shows_who_and_how_far_and_not_what(admin_client: Browser, page: Page, task: ToolTask) -> None:
    ToolTask.objects.update(outcome='{"content": "s3cret"}', status=Status.COMPLETED)
    for address in (page("tooltask"), page("tooltask", task)):
        text = admin_client.get(address).content.decode()
        assert "make-report" in text
        assert "completed" in text
        assert "admin" in text
        assert "s3cret" not in text


def test_a_failed_task_shows_its_error(admin_client: Browser, page: Page, task: ToolTask) -> None:
    ToolTask.objects.all().finish(Status.FAILED, '{"code": -32603, "message": "It broke."}', "It broke.")
    assert "It broke." in admin_client.get(page("tooltask", task)).content.decode()


@pytest.mark.parametrize(("running", "status", "asked"), [(False, "cancelled", False), (True, "working", True)])
def test_tasks_are_cancelled_from_the_list(
    admin_client: Browser, page: Page, task: ToolTask, running: bool, status: str, asked: bool
) -> None:
    if running:
        assert ToolTask.objects.all().claim()
    sent: dict[str, Any] = {"action": "cancel", "_selected_action": [task.pk]}
    assert "1 task was asked to stop." in admin_client.post(page("tooltask"), sent, follow=True).content.decode()
    task.refresh_from_db()
    assert (task.status, task.cancel_requested) == (status, asked)


def test_nobody_makes_or_changes_a_task_by_hand(admin_client: Browser, page: Page, task: ToolTask) -> None:
    assert admin_client.get(page("tooltask") + "add/").status_code == 403
    admin_client.post(page("tooltask", task), {"tool": "other", "status": "completed"})
    task.refresh_from_db()
    assert (task.tool, task.status) == ("make-report", "working")


def test_a_task_is_cancelled_on_its_page_once_that_is_confirmed(
    admin_client: Browser, page: Page, task: ToolTask
) -> None:
    text = admin_client.get(page("tooltask", task)).content.decode()
    assert "_save" not in text
    assert "_continue" not in text
    cancel = page("tooltask", task, "cancel")
    assert f'href="{cancel}"' in text
    assert "told that it was cancelled" in admin_client.get(cancel).content.decode()
    task.refresh_from_db()
    assert task.status == Status.WORKING
    after = admin_client.post(cancel, follow=True).content.decode()
    assert "1 task was asked to stop." in after
    assert cancel not in after
    task.refresh_from_db()
    assert task.status == Status.CANCELLED


def test_who_may_not_change_tasks_cannot_cancel_one(client: Browser, page: Page, task: ToolTask) -> None:
    viewer = User.objects.create_user("vera", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_tooltask"))
    client.force_login(viewer)
    cancel = page("tooltask", task, "cancel")
    assert cancel not in client.get(page("tooltask", task)).content.decode()
    assert client.post(cancel).status_code == 403
    task.refresh_from_db()
    assert task.status == Status.WORKING


def test_a_task_that_asks_says_no_more_how_far_it_was(task: ToolTask) -> None:
    rows = ToolTask.objects.all()
    assert rows.claim()
    assert rows.beat("Harvest 2 (1 of 2)")
    assert rows.ask("{}", "{}")
    task.refresh_from_db()
    assert (task.status, task.status_message) == (Status.INPUT_REQUIRED, "")
