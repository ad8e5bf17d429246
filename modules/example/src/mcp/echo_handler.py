"""The tool ``echo``."""

from __future__ import annotations

from django.utils import timezone

from mcp_gateway.events import CallEvent, Status


class EchoHandler:
    """Sends a message back."""

    def on_echo(self, event: CallEvent) -> None:
        """Give ``message`` back with the time it arrived."""
        message = event.request.get("message")
        if not message:
            event.set_status(Status.BAD_REQUEST, 'Missing or empty "message" argument.')
            return
        event.response = {"echo": message, "receivedAt": timezone.now()}
        event.set_status(Status.OK, "OK")
