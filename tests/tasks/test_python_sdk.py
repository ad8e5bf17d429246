"""The official Python client, taught the extension: a tool call that is a task looks like any other to its caller."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client

from tests.live import PATIENCE, Site
from tests.tasks.conftest import EXTENSION
from tests.tasks.probe import site

__all__ = ["site"]


class CreateTaskResult(mcp_types.Result):
    """A task instead of a result."""

    result_type: Literal["task"]
    task_id: str
    status: str


class GetTaskResult(mcp_types.Result):
    """A task as it is now."""

    status: str
    result: dict[str, Any] | None = None


class GetTaskRequest(mcp_types.Request[dict[str, Any], Literal["tasks/get"]]):
    """What becomes of it."""

    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class Tasks(ClientExtension):
    """Asks for a task until it is over, and gives its result. ``done`` is the file that the tool waits for."""

    identifier = EXTENSION

    def __init__(self, done: Path) -> None:
        self.done = done
        self.seen: list[str] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Tool calls may be answered with tasks."""
        return [ResultClaim(result_type="task", model=CreateTaskResult, resolve=self.resolve)]

    async def resolve(self, made: CreateTaskResult, context: ClaimContext) -> mcp_types.CallToolResult:
        """Poll."""
        request = GetTaskRequest(params={"taskId": made.task_id})
        with anyio.fail_after(PATIENCE):
            while True:
                task = await context.session.send_request(request, GetTaskResult)
                self.seen.append(task.status)
                if task.status == "completed":
                    return mcp_types.CallToolResult.model_validate(task.result)
                self.done.touch()
                await anyio.sleep(0.1)


def test_a_client_with_the_extension_gets_the_result_and_one_without_an_error(site: Site, tmp_path: Path) -> None:
    arguments = {"until": str(tmp_path / "done")}
    tasks = Tasks(tmp_path / "done")

    async def run() -> None:
        async with Client(streamable_http_client(site.endpoint), mode="2026-07-28", extensions=[tasks]) as client:
            result = await client.call_tool("wait", arguments)
            assert isinstance(result, mcp_types.CallToolResult)
            assert not result.is_error
            assert set(result.structured_content or {}) == {"pid"}
            assert tasks.seen[0] == "working"
        async with Client(streamable_http_client(site.endpoint), mode="2026-07-28") as plain:
            with pytest.raises(MCPError) as refused:
                await plain.call_tool("wait", arguments)
            assert refused.value.error.code == -32021

    with site.up(task_workers=1):
        anyio.run(run)
