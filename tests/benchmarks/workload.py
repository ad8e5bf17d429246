"""What every server is asked to do: the tools it registers and the bytes a client sends.

Imported by the servers in the peers' environments too, so nothing but the standard library is used here.
"""

from __future__ import annotations

import json
from typing import Any

MODERN = "2026-07-28"
LEGACY = "2025-06-18"

#: The string that a call sends and wants back.
MESSAGE = "The quick brown fox jumps over the lazy dog."

REQUEST_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"message": {"type": "string", "description": "What to send back."}},
    "required": ["message"],
    "additionalProperties": False,
}
RESPONSE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"echo": {"type": "string", "description": "What was sent."}},
    "required": ["echo"],
    "additionalProperties": False,
}


def tool_names(count: int) -> list[str]:
    """The names of the tools a server registers, ``count`` of them."""
    return [f"echo_{number:05d}" for number in range(count)]


def description(name: str) -> str:
    """A description of the length that a tool written for a model has."""
    return (
        f"Sends the message back unchanged ({name}). Use it to see whether the connection works and how long "
        "one call takes; it reads nothing, writes nothing and remembers nothing."
    )


def list_body(era: str) -> bytes:
    """A ``tools/list`` request."""
    return _message("tools/list", {}, era)


def call_body(tool: str, era: str, arguments: Any = None) -> bytes:
    """A ``tools/call`` request; without ``arguments`` the one message of the workload."""
    return _message("tools/call", {"name": tool, "arguments": arguments or {"message": MESSAGE}}, era)


def protocol_headers(era: str, method: str, tool: str = "") -> dict[str, str]:
    """The headers that the Streamable HTTP transport of an era asks for."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": era,
    }
    if era == MODERN:
        headers["Mcp-Method"] = method
        if tool:
            headers["Mcp-Name"] = tool
    return headers


def _message(method: str, params: dict[str, Any], era: str) -> bytes:
    if era == MODERN:
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
