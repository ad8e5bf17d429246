"""What a worker does with a task: the call again, with the rights and schemas that hold now, and its result kept."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp_gateway import registry
from mcp_gateway.models import ToolTask
from mcp_gateway.models.tool_task import CANCELLED
from mcp_gateway.protocol.eras import CLIENT_CAPABILITIES
from mcp_gateway.protocol.errors import INTERNAL_ERROR, ProtocolError, invalid_params
from mcp_gateway.protocol.methods.asking import Rounds, Subject, begin
from mcp_gateway.protocol.methods.call import Call, result_of
from mcp_gateway.protocol.methods.tool_calls import METHOD, call_tool
from mcp_gateway.tasks import framework, store
from mcp_gateway.tasks.owner import OwnerGone, owner_of
from mcp_gateway.tasks.pulse import Pulse

logger = logging.getLogger("mcp_gateway")

Status = ToolTask.Status


@framework.in_background
def run(pk: int) -> None:
    """Run a task to its end, or to its next question.

    ``pk`` is the row's; a task that another worker has, or that is over, is left alone. Raises nothing but what ends
    a process: how it went is in the row.
    """
    store.clear()
    rows = store.tasks().filter(pk=pk)
    if not rows.claim():
        return
    task = rows.get()
    try:
        with Pulse(pk) as pulse:
            result = _result(task, pulse)
    except ProtocolError as fault:
        _fail(task, fault)
    except BaseException as error:
        _fail(task, _failure(task, error))
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
    else:
        if pulse.seen:
            # Somebody was told: the handler, which stopped, or whoever then rolled back what it had done.
            rows.finish(Status.CANCELLED, message=CANCELLED)
        elif result:
            rows.finish(Status.COMPLETED, result.decode())


def _result(task: ToolTask, pulse: Pulse) -> bytes:
    """``CallToolResult``: exactly what the call would have been answered with (“Error Handling”).

    Nothing where the handler has asked its client; then the task waits for that.
    """
    snapshot = registry.snapshot()
    endpoint = snapshot.endpoints.get(task.endpoint)
    if endpoint is None:
        raise invalid_params("The endpoint that the task was made at is not served any more.")
    snapshot = snapshot.at(endpoint.slug)
    try:
        principal = owner_of(task, snapshot)
    except OwnerGone as gone:
        raise ProtocolError(403, str(gone)) from None
    params: dict[str, Any] = {
        "name": task.tool,
        "arguments": json.loads(task.arguments),
        "_meta": {CLIENT_CAPABILITIES: json.loads(task.capabilities)},
    }

    def put(known: Rounds, requests: Mapping[str, Any]) -> bytes:
        if not store.ask(task, known.kept(), requests):
            store.tasks().filter(pk=task.pk, cancel_requested=True).finish(Status.CANCELLED, message=CANCELLED)
        return b""

    call = Call(snapshot, endpoint, principal, task.version, params, put=put)
    tool = snapshot.tools.get(task.tool)
    subject = Subject(METHOD, task.tool, once=tool is not None and tool.single_use)
    known = begin(call, subject)
    known.resume(**json.loads(task.answers))
    return result_of(call_tool(replace(call, rounds=known)), pulse)


def _fail(task: ToolTask, fault: ProtocolError) -> None:
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error["data"] = fault.data
    store.tasks().filter(pk=task.pk).finish(Status.FAILED, json.dumps(error), fault.message)


def _failure(task: ToolTask, error: BaseException) -> ProtocolError:
    incident = secrets.token_hex(6)
    logger.error("A task of %s failed (incident %s)", task.tool, incident, exc_info=error)
    return ProtocolError(
        INTERNAL_ERROR, f"The server failed. The server's log has the details under incident {incident}."
    )
