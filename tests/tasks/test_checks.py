"""What ``manage.py check`` says of the queue."""

from __future__ import annotations

from typing import Any

from django.core.checks import Error, run_checks


def _of_the_queue() -> list[Any]:
    return [message for message in run_checks() if message.id == "mcp_gateway.E013"]


def test_a_backend_whose_app_is_not_installed_is_an_error_with_the_cure(settings: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    assert _of_the_queue() == []
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_tasks_db"]
    (message,) = _of_the_queue()
    assert isinstance(message, Error)
    assert "DatabaseBackend" in message.msg
    assert "INSTALLED_APPS" in str(message.hint)
