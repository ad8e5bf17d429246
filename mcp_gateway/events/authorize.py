"""Taking a right to the modules that answer for it: the internal event ``system:authorize``."""

from __future__ import annotations

from mcp_gateway.events.dispatch import dispatch
from mcp_gateway.events.event import AuthorizeEvent
from mcp_gateway.events.status import Status
from mcp_gateway.registry import ListenerEntry
from mcp_gateway.rights import Principal, Right
from mcp_gateway.rights.providers import AUTHORIZE, Answer


def ask_modules(right: Right, principal: Principal, listeners: tuple[ListenerEntry, ...]) -> Answer:
    """What the modules say: UNKNOWN where none of them answers. One that fails has not said yes."""
    event = AuthorizeEvent(
        AUTHORIZE,
        right=right.text,
        provider=right.provider,
        clauses=right.clauses,
        user=principal.user,
        auth=principal if principal.authenticated else None,
    )
    dispatch(event, listeners)
    if not event.answered and (event.ok or event.status is Status.UNDETERMINED):
        return Answer.UNKNOWN
    return Answer.YES if event.granted else Answer.NO
