"""``tasks/get``, ``tasks/update``, ``tasks/cancel`` of the extension ``io.modelcontextprotocol/tasks``.

There are no more: what the experimental tasks of 2025-11-25 had beside them was taken out of the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from mcp_gateway.models import Tool, ToolTask
from mcp_gateway.protocol.errors import ProtocolError, invalid_params
from mcp_gateway.protocol.methods.asking import Rounds
from mcp_gateway.protocol.methods.call import Call, members, result_fields
from mcp_gateway.protocol.methods.task_creation import declares_tasks, task_fields, tasks_needed
from mcp_gateway.protocol.methods.tool_calls import refused
from mcp_gateway.rights import decide
from mcp_gateway.tasks import EXTENSION, store


def get_task(call: Call) -> bytes:
    """``GetTaskResult``: the task as it is now, with its questions, its result or its error."""
    task, task_id = _own(call)
    detail = b""
    if task.status == ToolTask.Status.INPUT_REQUIRED:
        detail = b',"inputRequests":' + json.dumps(store.open_questions(task)).encode()
    elif task.status == ToolTask.Status.COMPLETED:
        detail = b',"result":' + task.outcome.encode()
    elif task.status == ToolTask.Status.FAILED:
        detail = b',"error":' + task.outcome.encode()
    return b"{%b%b%b}" % (members(result_fields(call)), members(task_fields(task, task_id))[:-1], detail)


def update_task(call: Call) -> bytes:
    """``UpdateTaskResult``: an acknowledgement; what it led to, ``tasks/get`` tells.

    Raises `ProtocolError` -32602 for answers that are none to the questions asked; those may be given again.
    """
    task, _id = _own(call)
    answers = call.params.get("inputResponses")
    if not isinstance(answers, dict) or not all(isinstance(answer, dict) for answer in answers.values()):
        raise invalid_params('tasks/update needs the object "inputResponses" in its params, with an object per key.')
    store.answer(task, answers, _pages_opened)
    return _acknowledgement(call)


def _pages_opened(answers: Mapping[str, Any]) -> list[str]:
    known = Rounds()
    known.resume(**answers)
    return known.awaited


def cancel_task(call: Call) -> bytes:
    """``CancelTaskResult``: an acknowledgement, also for a task that is over, or whose tool is served no more."""
    task, _id = _own(call, tells=False)
    store.tasks().filter(pk=task.pk).cancel()
    return _acknowledgement(call)


def _own(call: Call, *, tells: bool = True) -> tuple[ToolTask, str]:
    """The caller's task of the request, and its id; rights are judged anew each time.

    ``tells`` is whether the answer tells of the task, or takes what it asked for.
    """
    if not declares_tasks(call):
        raise tasks_needed(f"Tasks are for clients that declare the extension {EXTENSION} in the request's _meta.")
    task_id = call.params.get("taskId")
    if not isinstance(task_id, str):
        raise invalid_params('The method needs the string "taskId" in its params.')
    task = store.find(task_id, call.principal, call.endpoint.slug)
    if task is None:
        raise _unknown()
    tool = call.snapshot.tools.get(task.tool)
    if tool is None:
        # Nobody can say any more who may see what it did. That it failed, or was cancelled, tells nothing.
        if tells and task.status in (ToolTask.Status.COMPLETED, ToolTask.Status.INPUT_REQUIRED):
            raise invalid_params("The tool of this task is not served any more.")
        return task, task_id
    decision = decide(tool.rights, call.principal, call.snapshot, baseline=call.endpoint.baseline)
    if not decision.allowed:
        raise _unknown() if tool.visibility == Tool.Visibility.AUTHORIZED else refused(decision)
    return task, task_id


def _unknown() -> ProtocolError:
    return invalid_params("There is no such task: its id is unknown, or its time is over.")


def _acknowledgement(call: Call) -> bytes:
    return orjson.dumps(result_fields(call))
