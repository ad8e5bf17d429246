"""The text of what is written for an author."""

from __future__ import annotations

import json
from typing import Any

from mcp_gateway.authoring.naming import ToolNames
from mcp_gateway.rights import parse

DIALECT = "https://json-schema.org/draft/2020-12/schema"

PACKAGE = "Handlers of MCP tools."

DESCRIPTION = "Greets someone by name. Write here what the tool does and when to call it: models read it."

REQUEST_SCHEMA: dict[str, Any] = {
    "$schema": DIALECT,
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 100, "description": "Whom to greet."}},
    "additionalProperties": False,
}

RESPONSE_SCHEMA: dict[str, Any] = {
    "$schema": DIALECT,
    "type": "object",
    "properties": {"greeting": {"type": "string", "description": "The greeting."}},
    "required": ["greeting"],
    "additionalProperties": False,
}


def handler(names: ToolNames) -> str:
    """The handler's Python file."""
    return f'''"""The tool ``{names.tool}``."""

from __future__ import annotations

from mcp_gateway.events import CallEvent, Status


class {names.class_name}:
    """Answers calls of the tool."""

    def {names.function}(self, event: CallEvent) -> None:
        """Greet by name. The arguments have been checked against the request schema before they come here."""
        name = event.request.get("name", "world").strip()
        if not name:
            event.set_status(Status.BAD_REQUEST, "The name is empty.")
            return
        event.response = {{"greeting": f"Hello, {{name}}!"}}
        event.set_status(Status.OK, "OK")
'''


def test(names: ToolNames, right: str) -> str:
    """The new tool's test file."""
    tool = _text(names.tool)
    call = f'mcp_client.call_tool({tool}, {{"name": "Ada"}})'
    works = f'    assert {call}.structured == {{"greeting": "Hello, Ada!"}}\n'
    refuses = f'    assert mcp_client.call_tool({tool}, {{"name": " "}}).failure == "The name is empty."\n'
    head = f'"""The tool ``{names.tool}``."""\n\n\n'
    if not right:
        return (
            f"{head}def test_{names.snake}_greets_by_name(import_module, mcp_client):\n"
            f"    import_module()\n{works}{refuses}"
        )
    needs_token = (
        f"{head}def test_{names.snake}_needs_a_token(import_module, mcp_client):\n"
        f"    import_module()\n    assert mcp_client.call_tool({tool}).status == 401\n"
    )
    parsed = parse(right)
    if not parsed.names_scopes:
        return needs_token
    scopes = " ".join(dict.fromkeys(("mcp:tools", *(clause[0] for clause in parsed.clauses))))
    return (
        f"{needs_token}\n\n"
        f"def test_{names.snake}_greets_by_name(import_module, mcp_client, mcp_token, admin_user):\n"
        f"    import_module()\n"
        f"    mcp_client.token = mcp_token(admin_user, {_text(scopes)})\n{works}"
    )


def listing_test(names: ToolNames) -> str:
    """The test file of a tool made from an event: what it answers is the event's own matter."""
    tool = _text(names.tool)
    return f'''"""The tool ``{names.tool}``."""


def test_{names.snake}_is_offered_with_its_schemas(import_module, mcp_client):
    import_module()
    tool = mcp_client.list_tools()[{tool}]
    assert tool["inputSchema"]["type"] == "object"
    assert "outputSchema" in tool
'''


def _text(value: str) -> str:
    return json.dumps(value)
