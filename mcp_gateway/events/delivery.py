"""From an event to the listeners it reaches: which they are, who may run them, what their schemas say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcp_gateway import registry, schemas
from mcp_gateway.events.dispatch import dispatch
from mcp_gateway.events.event import Event, RequestEvent
from mcp_gateway.events.status import Origin
from mcp_gateway.registry import ListenerEntry, Snapshot
from mcp_gateway.rights import decide
from mcp_gateway.rights.decide import holds_without_token

# The site's own code, and whoever has its shell: their events are not judged.
TRUSTED = frozenset({Origin.INTERNAL, Origin.CLI})

# Requests that people write; the arguments of an MCP call are judged by the tool's schema before.
_SCHEMA_CHECKED = frozenset({Origin.REMOTE, Origin.CLI, Origin.CUSTOM})

MayRun = Callable[[ListenerEntry], bool]


def deliver(
    event: Event,
    snapshot: Snapshot | None = None,
    *,
    may_run: MayRun | None = None,
    accept: Callable[[], bool] | None = None,
) -> bool:
    """Dispatch an event to all listeners that its type and origin reach, and say whether there are any.

    ``snapshot``: the newest where None is given, which costs one statement. ``may_run`` says whether a listener's
    right is held; without it the event's own origin decides whether anyone asks, and ``auth`` or ``user`` who is
    asked about. ``accept`` is as in `dispatch`. Raises nothing but what the database says when it is asked for the
    snapshot.
    """
    known = registry.snapshot() if snapshot is None else snapshot
    reached = known.matching(event.type, event.origin)
    dispatch(
        event,
        reached,
        may_run=may_run or _judge(event, known, reached),
        accept=accept,
        refuse=lambda running: _misfit(event, running),
    )
    return bool(reached)


def _judge(event: Event, snapshot: Snapshot, reached: Sequence[ListenerEntry]) -> MayRun | None:
    if event.origin in TRUSTED:
        return None

    def holds(listener: ListenerEntry) -> bool:
        if not listener.right:
            return True
        if event.auth is None:
            return holds_without_token(listener.right, event.user, snapshot)
        # The principal does not say at which endpoint its token was shown: the default one's baseline is needed.
        endpoint = snapshot.endpoints.get("")
        baseline = endpoint.baseline if endpoint is not None else ()
        return decide((listener.right,), event.auth, snapshot, baseline=baseline).allowed

    if event.origin == Origin.MCP:
        # Over MCP an open listener never opens a protected one's event.
        return lambda listener: all(map(holds, reached))
    return holds


def _misfit(event: Event, running: Sequence[ListenerEntry]) -> str:
    """Why the request does not fit the request schemas of the listeners, with every fault; empty where it does."""
    if event.origin not in _SCHEMA_CHECKED or not isinstance(event, RequestEvent):
        return ""
    for schema in dict.fromkeys(listener.request_schema for listener in running if listener.request_schema):
        faults = schemas.validator(schema).faults(event.request)
        if faults:
            return schemas.listing("The request does not fit the event's request schema:", faults, whole="the request")
    return ""
