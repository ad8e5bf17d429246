"""The package's own MCP client, with every answer checked.

Results are validated against the version's official types (``mcp_types``), errors against JSON-RPC's shape and the
codes that the specification leaves to servers, whatever the test itself looks at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_types.jsonrpc import ErrorData, JSONRPCResponse
from mcp_types.methods import validate_server_result

from mcp_gateway.testing.client import CLIENT_META, LEGACY, MODERN, PROTOCOL_VERSION, Answer, McpClient
from mcp_gateway.testing.tokens import issue_token

__all__ = ["CLIENT_META", "LEGACY", "MODERN", "PROTOCOL_VERSION", "Answer", "Wire", "issue_token"]


@dataclass
class Wire(McpClient):
    """An MCP client that judges what it gets."""

    def post(self, body: Any = b"", headers: dict[str, Any] | None = None, method: str = "POST") -> Answer:
        """Send a body; whatever comes back must be a message."""
        answer = super().post(body, headers, method)
        if answer.body and method != "HEAD":
            check_message(answer)
        return answer

    def modern(self, method: str, params: dict[str, Any] | None = None, **options: Any) -> Answer:
        """A request of 2026-07-28, whose result must be that version's."""
        return check_result(super().modern(method, params, **options), method, MODERN)

    def legacy(self, method: str, params: Any = None, *, version: str | None = LEGACY[0], **options: Any) -> Answer:
        """A request of an earlier version, whose result must be that version's."""
        answer = super().legacy(method, params, version=version, **options)
        return check_result(answer, method, version if version in LEGACY else LEGACY[-1])

    def call(self, era: str, name: str, arguments: Any = None, **options: Any) -> Answer:
        """``tools/call``; without arguments the member is left out."""
        params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
        return self.request(era, "tools/call", params, **options)


def check_message(answer: Answer) -> None:
    """Every body is one JSON-RPC response; an error's HTTP status and code are those the specification allows."""
    message = answer.json
    if "error" in message:
        assert set(message) <= {"jsonrpc", "id", "error"}
        assert message["jsonrpc"] == "2.0"
        assert message.get("id", 0) is not None
        code = ErrorData.model_validate(message["error"]).code
        assert code == -32002 or not -32019 <= code <= -32000  # -32002: an unknown resource, before 2026-07-28
        assert answer.status != 200 or message["id"] is not None
        assert answer.status in (200, 400, 401, 403, 404, 405, 406, 413, 415, 429, 500, 503)
    else:
        assert answer.status == 200
        JSONRPCResponse.model_validate(message)


def check_result(answer: Answer, method: str, version: str) -> Answer:
    """A result is what the version's schema says."""
    if answer.status == 200 and "result" in answer.json:
        result = answer.json["result"]
        if method == "initialize":
            version = result["protocolVersion"]
        validate_server_result(method, version, result)
    return answer
