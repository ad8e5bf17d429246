"""The plainest tools: a text, an error, one argument."""

from __future__ import annotations

from mcp_gateway.events import CallEvent, Status, Text


class CoreTools:
    """Tools whose wording the suite's documentation gives."""

    def on_simple_text(self, event: CallEvent) -> None:
        """Give a text and nothing else."""
        event.content.append(Text("This is a simple text response for testing."))
        event.set_status(Status.OK, "OK")

    def on_error(self, event: CallEvent) -> None:
        """Say no."""
        event.set_status(Status.BAD_REQUEST, "This tool intentionally returns an error for testing")

    def on_greet(self, event: CallEvent) -> None:
        """Greet ``name``."""
        event.content.append(Text(f"Hello, {event.request['name']}!"))
        event.set_status(Status.OK, "OK")
