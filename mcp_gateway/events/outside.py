"""What the gate and the shell have in common: an event that somebody typed, and an answer that JSON can carry."""

from __future__ import annotations

import logging

from mcp_gateway import encoding
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.delivery import MayRun, deliver
from mcp_gateway.events.dispatch import FAILED, fail
from mcp_gateway.events.event import RequestResponseEvent
from mcp_gateway.events.status import Status
from mcp_gateway.registry import Snapshot

logger = logging.getLogger("mcp_gateway")

# As long as the name of a listener's event can be.
MAX_NAME = 500

# Characters of a name that was typed that an answer repeats.
MAX_ECHO = 200

NOTHING = b"{}"


def name_problem(name: object) -> str:
    """Why something that was typed is no event's name; empty where it is one. Takes the same time for any length."""
    if not isinstance(name, str) or not name:
        return "An event needs a “type”, a text such as “shop:order:list”."
    if len(name) > MAX_NAME:
        return f"The event's type has {len(name)} characters; at most {MAX_NAME} are read."
    if "*" in name:
        return "An event's type is literal: a “*” stands for something only in what a listener listens to."
    return ""


def receive(
    event: RequestResponseEvent,
    snapshot: Snapshot | None = None,
    *,
    max_bytes: int | None = None,
    may_run: MayRun | None = None,
) -> bytes:
    """Dispatch an event that came from outside, and give its response as JSON; it always ends with a status.

    ``max_bytes`` is the most that the response may have (``MAX_RESULT_BYTES`` without it). ``snapshot`` and
    ``may_run`` are as in `deliver`. A response that cannot be sent rolls back what the last listener wrote.
    """
    problem = name_problem(event.type)
    if problem:
        event.set_status(Status.BAD_REQUEST, problem)
        return NOTHING
    reply = _Reply(event, gateway_settings.max_result_bytes if max_bytes is None else max_bytes)
    reached = deliver(event, snapshot, may_run=may_run, accept=reply.accept)
    if not reached:
        event.set_status(Status.NOT_FOUND, "Nothing here listens to this event.")
    elif event.status is Status.UNDETERMINED:
        fail(event, "it ended without a status: its handler must set one or return a value", _SILENT)
    return reply.finish()


_SILENT = "The event ended without saying how it went."


class _Reply:
    """The response of an event on its way to JSON."""

    def __init__(self, event: RequestResponseEvent, max_bytes: int) -> None:
        self._event = event
        self._max_bytes = max_bytes
        self._encoded: bytes | None = None
        self._problem = ""

    def accept(self) -> bool:
        """Encode inside the handler's transaction, where a lazy queryset can still be read."""
        try:
            encoded = encoding.encode(self._event.response, max_depth=gateway_settings.max_json_depth).text
        except encoding.EncodingError as error:
            self._problem = f"The response cannot be sent as JSON, {error}."
            return False
        if len(encoded) > self._max_bytes:
            self._problem = f"The response has {len(encoded)} bytes, more than the {self._max_bytes} that may be sent."
            return False
        self._encoded = encoded
        return True

    def finish(self) -> bytes:
        """The response's JSON. One that cannot be sent makes a success a failure, and is left out of a failure."""
        if not self._event.ok:
            # What was accepted, and then failed all the same, is no longer the response.
            self._encoded, self._problem = None, ""
        if self._encoded is None and not self._problem:
            try:
                self.accept()
            except Exception as error:
                fail(self._event, error, FAILED)
        if self._problem:
            if self._event.ok:
                fail(self._event, self._problem, self._problem)
            else:
                logger.error("%s: %s", self._event.type, self._problem)
            return NOTHING
        return self._encoded or NOTHING
