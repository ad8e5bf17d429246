"""Protocol events: listeners on ``mcp:<method>`` see what was asked, after the answer; they cannot change it."""

from __future__ import annotations

import logging
from typing import Any

from mcp_gateway.events import Origin, RequestEvent
from mcp_gateway.events.dispatch import dispatch
from mcp_gateway.protocol.jsonrpc import Message
from mcp_gateway.registry import ListenerEntry, Snapshot
from mcp_gateway.resources.providing import provides
from mcp_gateway.rights import Principal

logger = logging.getLogger("mcp_gateway")

PREFIX = "mcp:"


def watch(snapshot: Snapshot, message: Message, principal: Principal) -> None:
    """Dispatch the event of a message with origin ``internal``; nothing at all where nobody listens."""
    watchers = snapshot.derived("watchers", lambda: _watchers(snapshot))
    if not watchers:
        return
    event_type = PREFIX + message.method
    reached = [listener for listener in watchers if listener.matches(event_type, Origin.INTERNAL)]
    if not reached:
        return
    params: dict[str, Any] = message.params or {}
    event = RequestEvent(event_type, Origin.INTERNAL, params, user=principal.user, auth=principal)
    dispatch(event, reached)


def _watchers(snapshot: Snapshot) -> tuple[ListenerEntry, ...]:
    """The listeners that some event of the protocol can reach, in order; a type from outside is always literal."""
    return tuple(
        listener
        for listener in snapshot.listeners
        if (Origin.INTERNAL in listener.origins or Origin.ANY in listener.origins)
        and _overlaps(listener.event)
        and not provides(listener.event)
    )


def _overlaps(pattern: str) -> bool:
    head = pattern.partition("*")[0]
    return pattern.startswith(PREFIX) or ("*" in pattern and PREFIX.startswith(head))
