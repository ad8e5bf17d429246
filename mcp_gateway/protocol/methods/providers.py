"""Listeners that provide resources, prompts and completions: what they say when they are asked.

They are asked before the answer, with the origin ``mcp`` and the caller's rights; see
`mcp_gateway.resources.providing` for their events.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from mcp_gateway import registry
from mcp_gateway.events import CallEvent, Origin, Status
from mcp_gateway.events.asking import CannotAsk
from mcp_gateway.events.channel import NOWHERE, Channel
from mcp_gateway.events.dispatch import dispatch
from mcp_gateway.models import Offered
from mcp_gateway.protocol.errors import ProtocolError, Refused, internal_error, invalid_params, missing_capability
from mcp_gateway.protocol.methods import asking
from mcp_gateway.protocol.methods.call import Call, Method, Work
from mcp_gateway.protocol.methods.tool_calls import refused
from mcp_gateway.registry import ListenerEntry
from mcp_gateway.resources.listeners import reached
from mcp_gateway.rights import decide

logger = logging.getLogger("mcp_gateway")

_T = TypeVar("_T")

# An import may run between the snapshot of a request and its reading of the content, but not forever.
_ATTEMPTS = 5


def settled(call: Call, get: Callable[[Call], bytes | Work | None], what: str) -> bytes | Work:
    """What ``get`` gives, asked again with a new snapshot as long as the table holds another content than it says.

    Raises `ProtocolError` -32603 where that does not end; ``what`` is what was to be read.
    """
    for _attempt in range(_ATTEMPTS):
        result = get(call)
        if result is not None:
            return result
        call = replace(call, snapshot=registry.snapshot())
    raise internal_error(f"The {what} changes faster than it can be read. Try again.")


def schemes_of(listeners: Iterable[ListenerEntry]) -> frozenset[str]:
    """The schemes that the listeners' modules declare."""
    return frozenset().union(*(one.module.schemes for one in listeners))


def allowed(call: Call, rights: Iterable[str]) -> bool:
    """Whether the caller holds rights, all of them."""
    return decide(rights, call.principal, call.snapshot, baseline=call.endpoint.baseline).allowed


def demand(call: Call, rights: Iterable[str], *, hidden: bool, missing: Callable[[], ProtocolError]) -> None:
    """Refuse a caller without these rights; where what they guard is ``hidden`` by the answer for what is not there."""
    decision = decide(rights, call.principal, call.snapshot, baseline=call.endpoint.baseline)
    if not decision.allowed:
        raise missing() if hidden else refused(decision)


def is_hidden(listeners: Iterable[ListenerEntry]) -> bool:
    """Whether one of the listeners exists only for those who hold its right."""
    return any(one.visibility == Offered.Visibility.AUTHORIZED for one in listeners)


def ask(
    call: Call,
    event_type: str,
    request: dict[str, Any],
    listeners: Sequence[ListenerEntry],
    shape: Callable[[CallEvent], _T],
    known: asking.Rounds | None = None,
    channel: Channel = NOWHERE,
) -> tuple[CallEvent, _T | None]:
    """Dispatch an event and put its response into shape, inside the last listener's transaction.

    With ``known``, what the client was asked so far, the listeners may ask: then the event holds the questions. Gives
    back the event and the shaped response, None where it did not end well. A response for which ``shape`` raises
    ``ValueError`` is the listener's fault: the log says why, what was written is rolled back, and the caller gets
    an internal error, raised here.
    """
    principal = call.principal
    event = CallEvent(
        event_type, Origin.MCP, request, user=principal.user, auth=principal if principal.authenticated else None
    )
    event.channel = channel
    if known is not None:
        event.conversation = known
    shaped: list[_T] = []
    wrong = ""

    def accept() -> bool:
        nonlocal wrong
        try:
            shaped.append(shape(event))
        except ValueError as error:
            wrong = str(error)
        return not wrong and not channel.cancelled

    dispatch(event, listeners, accept=accept)
    if event.unasked and call.modern:
        raise missing_capability(event.unasked)
    if event.ok and not shaped and not wrong and not event.questions:
        accept()
    if event.ok and wrong:
        logger.error("The answer of %s cannot be sent: %s", event_type, wrong)
        raise internal_error("The server failed: what it found cannot be sent. Its log says why.")
    return event, shaped[0] if event.ok and shaped else None


def subject_of(
    call: Call, method: str, name: str, arguments: dict[str, Any], listeners: Iterable[ListenerEntry]
) -> asking.Subject:
    """What the listeners may ask the client about.

    Raises `ProtocolError` -32021 (modern) or -32602 (legacy) where the client cannot do what one of them needs.
    """
    problem = asking.missing(call, tuple(dict.fromkeys(need for one in listeners for need in one.needs)))
    if problem:
        raise invalid_params(problem)
    return asking.Subject(method, name, arguments, once=any(one.single_use for one in listeners))


def work(
    call: Call, subject: asking.Subject, run: Callable[[asking.Rounds, Channel], CallEvent | bytes], method: Method
) -> Work:
    """What gives the result of a method whose listeners may ask the client.

    ``run`` asks the listeners and gives the result, or the event that holds their questions; ``method`` begins anew
    once those are answered. Judges the client's answers at once, as `asking.conversation` does.
    """
    known = asking.conversation(call, subject)

    def do(channel: Channel) -> bytes:
        try:
            ran = run(asking.prepare(call, known, channel), channel)
            return ran if isinstance(ran, bytes) else asking.ask(call, subject, ran, channel, method)
        except CannotAsk as refusal:
            raise invalid_params(str(refusal)) from None

    return do


def failure(event: CallEvent, missing: Callable[[str], ProtocolError]) -> ProtocolError:
    """The error for an event that did not end well; ``missing`` makes the one for what does not exist."""
    message = event.message
    if event.status in (Status.NOT_FOUND, Status.GONE, Status.UNDETERMINED):
        return missing(message)
    if event.status in (Status.UNAUTHORIZED, Status.FORBIDDEN):
        return Refused(403, message or "You may not do this.", challenge=False)
    # The last is what comes of a question that this caller cannot be asked.
    if event.status < 500 or event.unasked or event.status is Status.NOT_IMPLEMENTED:
        return invalid_params(message or f"The answer was {event.status.name.replace('_', ' ').lower()}.")
    return internal_error(message or "The server failed.")


def collect(call: Call, event_type: str, entries: Callable[[CallEvent, ListenerEntry], list[_T]]) -> list[_T]:
    """What the providers of a list say, each asked by an event of its own, so that one that fails spoils only itself.

    Those whose right the caller does not hold are not asked. ``entries`` takes a response apart.
    """
    found: list[_T] = []
    for listener in reached(call.snapshot, event_type):
        if listener.right and not allowed(call, (listener.right,)):
            continue
        taken: list[_T] | None
        try:
            event, taken = ask(call, event_type, {}, [listener], lambda event, one=listener: entries(event, one))  # type: ignore[misc]
        except ProtocolError:
            continue
        found += taken or []
        if not event.ok and event.status < 500 and event.status is not Status.UNDETERMINED:
            logger.warning("%s of %s ended %s", event_type, listener.module.module_id, event.status.name)
        if event.propagation_stopped and event.ok:
            break
    return found
