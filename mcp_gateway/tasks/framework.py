"""Which framework runs tasks: ``django.tasks`` of Django 6, the backport ``django-tasks`` before it, or none.

Tasks are offered where the backend of ``ZOLINGA["TASK_BACKEND"]`` runs them elsewhere than in the request: with
Django's own backends, which run them at once or never, the extension is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import router
from django.utils.module_loading import import_string

from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import ToolTask

# What a worker runs, by its dotted name, as backends store it.
RUN = "mcp_gateway.protocol.methods.task_runs.run"

DATABASE_APP = "django_tasks_db"

_NAMES = ("django.tasks", "django_tasks")
_AT_ONCE_OR_NEVER = ("immediate.ImmediateBackend", "dummy.DummyBackend")


@cache
def framework() -> Any | None:
    """The framework's module; None where neither Django nor the backport brings one."""
    name = next((name for name in _NAMES if find_spec(name) is not None), None)
    return import_module(name) if name else None


def background() -> Any | None:
    """The backend that runs tasks in the background; None where there is none.

    Raises ``ImproperlyConfigured`` where ``ZOLINGA["TASK_BACKEND"]`` or its entry in ``TASKS`` cannot be used.
    """
    module = framework()
    if module is None:
        return None
    alias = gateway_settings.task_backend
    try:
        backend = module.task_backends[alias]
    except Exception as error:
        raise ImproperlyConfigured(f'ZOLINGA["TASK_BACKEND"]: TASKS[{alias!r}] cannot be used ({error}).') from error
    path = f"{type(backend).__module__}.{type(backend).__qualname__}"
    return None if path.endswith(_AT_ONCE_OR_NEVER) else backend


def offered() -> bool:
    """Whether this site has tasks at all."""
    try:
        return background() is not None
    except ImproperlyConfigured:
        # A system check says so.
        return False


def has_database_backend() -> bool:
    """Whether the queue is a table, whose worker is ``manage.py db_worker``."""
    backend = background()
    return backend is not None and type(backend).__module__.partition(".")[0] == DATABASE_APP


def shares_transaction(using: str) -> bool:
    """Whether putting a task into the queue is part of a transaction on that database."""
    if not has_database_backend():
        return False
    return bool(router.db_for_write(apps.get_model("django_tasks_database", "DBTaskResult")) == using)


def in_background(function: Callable[..., None]) -> Any:
    """Decorator: make a function of a module's top level a task; without a framework it stays what it is."""
    module = framework()
    if module is None:
        return function
    return module.task(backend=gateway_settings.task_backend, queue_name=gateway_settings.task_queue)(function)


def enqueue(task: ToolTask) -> None:
    """Let a worker run a task; raises what the backend raises."""
    run = import_string(RUN)
    run.using(backend=gateway_settings.task_backend, queue_name=gateway_settings.task_queue).enqueue(task.pk)
