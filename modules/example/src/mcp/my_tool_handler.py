"""The tool ``my-tool``."""

from __future__ import annotations

from mcp_gateway.events import CallEvent, Status


class MyToolHandler:
    """The smallest tool with an argument."""

    def on_my_tool(self, event: CallEvent) -> None:
        """Give ``arg`` back."""
        arg = event.request.get("arg")
        if not arg:
            event.set_status(Status.BAD_REQUEST, 'Missing or empty "arg" argument.')
            return
        event.response = {"echo": arg}
        event.set_status(Status.OK, "OK")
