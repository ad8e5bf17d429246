"""Answering ``tools/call`` with a task instead of a result (extension ``io.modelcontextprotocol/tasks``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from django.utils import timezone

from mcp_gateway.models import ToolTask
from mcp_gateway.protocol.errors import MISSING_REQUIRED_CLIENT_CAPABILITY, ProtocolError
from mcp_gateway.protocol.methods.asking import Rounds
from mcp_gateway.protocol.methods.call import Call, result_fields
from mcp_gateway.registry import ToolEntry
from mcp_gateway.tasks import EXTENSION, framework, store

# Milliseconds between two polls: a tenth of a task's age, within these bounds.
POLL_FIRST, POLL_LAST = 1000, 5000

NO_WORKER = "The tool runs only in the background, and this site has no worker for that: its TASKS setting names none."
OTHER_ERA = (
    "The tool runs only as a task, which your version of the protocol does not have. It takes version 2026-07-28 with "
    f"the extension {EXTENSION}."
)


def declares_tasks(call: Call) -> bool:
    """Whether the request itself declares the extension (“Capability Negotiation”); no earlier one counts."""
    extensions = call.capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(EXTENSION), dict)


def tasks_needed(message: str) -> ProtocolError:
    """-32021 for a client that does not declare the extension."""
    required: dict[str, Any] = {"extensions": {EXTENSION: {}}}
    return ProtocolError(MISSING_REQUIRED_CLIENT_CAPABILITY, message, data={"requiredCapabilities": required})


def can_create(call: Call) -> bool:
    """Whether a call may be answered with a task: its client, the site and the caller are ready for one."""
    return call.modern and declares_tasks(call) and framework.offered() and store.can_own(call.principal)


def cannot_create(call: Call) -> str:
    """Why a tool that needs a task cannot be called, as a text for a result with ``isError``.

    Raises `ProtocolError` -32021 where the client lacks the extension alone.
    """
    if not call.modern:
        return OTHER_ERA
    if not framework.offered():
        return NO_WORKER
    if not declares_tasks(call):
        raise tasks_needed(f"The tool runs only as a task; declare the extension {EXTENSION} in the request's _meta.")
    return "The tool runs only as a task, and a task needs a caller that can be recognized: a user or a client."


def create_task(call: Call, tool: ToolEntry, arguments: Mapping[str, Any], known: Rounds | None = None) -> bytes:
    """``CreateTaskResult``, once the task is in the database and in the queue.

    ``known`` is what was asked and answered before the task began.
    """
    task, task_id = store.create(
        call.principal,
        tool=tool.name,
        endpoint=call.endpoint.slug,
        version=call.version,
        capabilities=json.dumps(call.capabilities),
        arguments=json.dumps(arguments),
        answers=json.dumps({"kept": (known or Rounds()).kept(), "given": {}}),
    )
    return orjson.dumps({**result_fields(call), "resultType": "task", **task_fields(task, task_id)})


def task_fields(task: ToolTask, task_id: str) -> dict[str, Any]:
    """The members of ``Task``. Its time to live counts from its creation and grows with all that happens to it."""
    fields: dict[str, Any] = {"taskId": task_id, "status": str(task.status)}
    if task.status_message:
        fields["statusMessage"] = task.status_message
    fields["createdAt"] = _timestamp(task.created_at)
    fields["lastUpdatedAt"] = _timestamp(task.updated_at)
    fields["ttlMs"] = _milliseconds(task.created_at, task.expires_at)
    if not task.over:
        age = _milliseconds(task.created_at, timezone.now())
        fields["pollIntervalMs"] = min(max(age // 10, POLL_FIRST), POLL_LAST)
    return fields


def _timestamp(moment: datetime) -> str:
    aware = moment if timezone.is_aware(moment) else timezone.make_aware(moment)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(start: datetime, end: datetime) -> int:
    return int((end - start).total_seconds() * 1000)
