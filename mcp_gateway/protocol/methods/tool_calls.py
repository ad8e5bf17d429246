"""``tools/call``: arguments → request schema → listeners → response → response schema → envelope.

What is in the result's ``content``: the response as JSON text, then the blocks that the handler gave. The first is
left out where the handler's own words take its place (a `Text` among its blocks, for a client that gets the response
as ``structuredContent``), and where a tool of content alone has left no response. A handler that says no: its message,
then its blocks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass

import orjson

from mcp_gateway import encoding, schemas
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events import CallEvent, Origin, Status, Text
from mcp_gateway.events.asking import CannotAsk
from mcp_gateway.events.channel import Channel
from mcp_gateway.events.dispatch import dispatch
from mcp_gateway.models import Tool
from mcp_gateway.protocol import content, headers
from mcp_gateway.protocol.errors import ProtocolError, Refused, invalid_params, missing_capability
from mcp_gateway.protocol.methods import asking, concurrency
from mcp_gateway.protocol.methods.asking import Rounds
from mcp_gateway.protocol.methods.call import Call, Work, members, result_fields
from mcp_gateway.protocol.methods.task_creation import can_create, cannot_create, create_task
from mcp_gateway.protocol.methods.tool_lists import has_output_schema
from mcp_gateway.registry import ToolEntry
from mcp_gateway.rights import Decision, Outcome, decide
from mcp_gateway.tasks import REQUIRED

METHOD = "tools/call"

# RFC 6750 section 3.1.
INSUFFICIENT_SCOPE = "insufficient_scope"

logger = logging.getLogger("mcp_gateway")


def call_tool(call: Call) -> bytes | Work:
    """What gives the ``CallToolResult``, or the ``InputRequiredResult`` where the handler asks the client.

    Everything that has an HTTP status of its own is checked, and the tool has not begun. Where it never will, as its
    arguments do not fit, that is the result.

    Raises `ProtocolError` -32602 for an unknown tool, arguments that are no object and a ``requestState`` that does
    not belong to the call, -32020 for headers that disagree with the arguments, -32021 for a client that cannot be
    asked what the tool asks; `Refused` where the caller's rights do not suffice. Whatever the tool itself says or does
    wrong is a result with ``isError``.
    """
    name = call.params.get("name")
    if not isinstance(name, str):
        raise invalid_params('tools/call needs the string "name" in its params.')
    tool = call.snapshot.tools.get(name)
    if tool is None:
        raise unknown_tool(name)
    decision = decide(tool.rights, call.principal, call.snapshot, baseline=call.endpoint.baseline)
    if not decision.allowed:
        if tool.visibility == Tool.Visibility.AUTHORIZED:
            raise unknown_tool(name)
        raise refused(decision)
    arguments = call.params.get("arguments", {})
    if not isinstance(arguments, dict):
        raise invalid_params('The member "arguments" must be an object.')
    if call.modern and call.meta is not None:
        headers.check_parameters(_mirrored(call, tool), arguments, call.meta)
    if tool.needs:
        problem = asking.missing(call, tool.needs)
        if problem:
            return _failure(call, problem)
    faults = schemas.validator(tool.input_schema).faults(arguments)
    if faults:
        head = "The arguments do not fit the tool's input schema:"
        return _failure(call, schemas.listing(head, faults, whole="the arguments"))
    if tool.task and call.meta is not None:
        if can_create(call):
            return create_task(call, tool, arguments)
        if tool.task == REQUIRED:
            return _failure(call, cannot_create(call))
    subject = asking.Subject(METHOD, tool.name, arguments, tool.title, tool.single_use)
    conversation = asking.conversation(call, subject)

    def work(channel: Channel) -> bytes:
        limit = concurrency.bound(tool.name, gateway_settings.max_concurrent_calls)
        # A call that goes on was counted when it began.
        if limit is None or call.goes_on:
            return _run(call, tool, subject, conversation, channel)
        with concurrency.running(tool.name, limit) as allowed:
            if not allowed:
                return _failure(call, concurrency.busy(tool.name))
            return _run(call, tool, subject, conversation, channel)

    return work


def unknown_tool(name: str) -> ProtocolError:
    """The same answer for a tool that does not exist and for one that does not exist for this caller."""
    return invalid_params(f"Unknown tool: {name:.200}")


def refused(decision: Decision) -> Refused:
    """The refusal that a decision asks for; it has a challenge only where a client can act on one."""
    match decision.outcome:
        case Outcome.UNAUTHENTICATED:
            return Refused(401, "An access token is needed.", decision.scopes)
        case Outcome.INSUFFICIENT_SCOPE:
            scopes = " ".join(decision.scopes)
            message = f"The access token lacks a scope; the call needs: {scopes}"
            return Refused(403, message, decision.scopes, error=INSUFFICIENT_SCOPE)
        case Outcome.FIXED_SCOPES:
            message = (
                f"The access token was made with fixed scopes and lacks {_named(decision.scopes)}. "
                "Make a new token with what the call needs."
            )
            return Refused(403, message, decision.scopes, challenge=False, error=INSUFFICIENT_SCOPE)
        case Outcome.BEYOND_CLIENT:
            message = (
                f"The call needs {_named(decision.scopes)}, which this client may not ask for. An administrator can "
                "make it a self-service scope (and see that the client is not limited to others), or make an "
                "application for the client in admin."
            )
            return Refused(403, message, decision.scopes, challenge=False, error=INSUFFICIENT_SCOPE)
        case _:
            message = f"You may not do this, and no scope that you could ask for would change that. {decision.why}"
            return Refused(403, message.strip(), challenge=False)


def _named(scopes: tuple[str, ...]) -> str:
    return f"the scope{'s' if len(scopes) > 1 else ''} {' '.join(scopes)}"


def _mirrored(call: Call, tool: ToolEntry) -> Mapping[str, tuple[str, ...]]:
    def build() -> Mapping[str, tuple[str, ...]]:
        return schemas.mirrored_parameters(orjson.loads(tool.input_schema)) if tool.input_schema else {}

    return call.snapshot.derived(("mirrored parameters", tool.name), build)


@dataclass(slots=True)
class _Answer:
    """What became of a response: its JSON and that of the blocks beside it, or why they cannot be sent."""

    encoded: bytes = b""
    content: bytes = b""
    problem: str = ""


def _run(call: Call, tool: ToolEntry, subject: asking.Subject, conversation: Rounds, channel: Channel) -> bytes:
    if conversation.capabilities:
        try:
            conversation = asking.prepare(call, conversation, channel)
        except CannotAsk as refusal:
            return _failure(call, str(refusal))
    principal = call.principal
    event = CallEvent(
        tool.name,
        Origin.MCP,
        # A handler may change its request; what was asked about stays as it was.
        deepcopy(subject.arguments) if conversation.capabilities else subject.arguments,
        user=principal.user,
        auth=principal if principal.authenticated else None,
    )
    event.conversation = conversation
    event.channel = channel
    event.in_background = call.in_background
    if call.meta is not None:
        event.can_leave = lambda: can_create(call)
    answer: _Answer | None = None

    def accept() -> bool:
        # Inside the transaction: a lazy queryset is read, and what was written for a bad result is rolled back.
        nonlocal answer
        answer = _judge(call, tool, event)
        # Nobody will learn that it was done, so it is not.
        return not answer.problem and not channel.cancelled

    dispatch(event, tool.listeners, accept=accept)
    if event.left:
        if can_create(call):
            return create_task(call, tool, subject.arguments, conversation)
        return _failure(call, cannot_create(call))
    if event.questions:
        try:
            return asking.ask(call, subject, event, channel, call_tool)
        except CannotAsk as refusal:
            return _failure(call, str(refusal))
    if event.unasked and call.modern:
        raise missing_capability(event.unasked)
    if not event.ok:
        return _failure(call, _said(tool, event), _content_of_failure(call, tool, event))
    if answer is None:
        accept()
    if answer is None or answer.problem:
        return _failure(call, answer.problem if answer else "")
    return _success(call, tool, event, answer)


def _judge(call: Call, tool: ToolEntry, event: CallEvent) -> _Answer:
    try:
        encoded = encoding.encode(event.response, max_depth=gateway_settings.max_json_depth)
    except encoding.EncodingError as error:
        logger.error("The result of %s cannot be sent as JSON, %s", tool.name, error)
        return _Answer(problem=f"The tool failed: its result cannot be sent as JSON, {error}.")
    answer = _Answer(encoded.text)
    if event.content:
        try:
            answer.content = _content(call, event)
        except content.ContentError as error:
            logger.error("The result of %s cannot be sent: %s", tool.name, error)
            return _Answer(problem=f"The tool failed: {error}.")
    size = len(answer.encoded) + len(answer.content)
    if size > gateway_settings.max_result_bytes:
        logger.error("The result of %s has %d bytes, more than MAX_RESULT_BYTES", tool.name, size)
        return _Answer(
            problem=f"The tool's result has {size} bytes, more than the {gateway_settings.max_result_bytes} "
            "that this server sends; ask for less."
        )
    faults = schemas.validator(tool.output_schema).faults(encoded.value)
    if faults:
        problem = schemas.listing(
            "The tool failed: its result does not fit its response schema:", faults, whole="the result"
        )
        logger.error("%s: %s", tool.name, problem)
        return _Answer(problem=problem)
    return answer


def _content(call: Call, event: CallEvent) -> bytes:
    return content.encode(event.content, call.version, max_depth=gateway_settings.max_json_depth)


def _content_of_failure(call: Call, tool: ToolEntry, event: CallEvent) -> bytes:
    """The blocks beside the message of a handler that said no; none where they cannot be sent."""
    if not event.content:
        return b""
    try:
        encoded = _content(call, event)
    except content.ContentError as error:
        logger.error("%s said no, and what it gave beside its message cannot be sent: %s", tool.name, error)
        return b""
    if len(encoded) > gateway_settings.max_result_bytes:
        logger.error("%s said no with content of %d bytes, more than MAX_RESULT_BYTES", tool.name, len(encoded))
        return b""
    return encoded


def _said(tool: ToolEntry, event: CallEvent) -> str:
    if event.status is Status.UNDETERMINED:
        logger.error("%s ended without a status: its handler must set one or return a value", tool.name)
        return "The tool failed: it ended without saying how it went."
    # A handler may have put anything there.
    message = str(event.message or "")
    return message or f"The tool answered {event.status.value} {event.status.name.replace('_', ' ').lower()}."


def _success(call: Call, tool: ToolEntry, event: CallEvent, answer: _Answer) -> bytes:
    structured = (b',"structuredContent":', answer.encoded) if has_structure(call, tool) else ()
    in_words = answer.content and structured and any(isinstance(block, Text) for block in event.content)
    shown: tuple[bytes, ...] = (answer.content,)
    if not (in_words or (tool.content_only and answer.encoded in _NOTHING)):
        # The mirror is the same JSON as text, so it is escaped once and not encoded twice.
        mirror = (b'{"type":"text","text":', orjson.dumps(answer.encoded.decode()), b"}")
        shown = (*mirror, b",", answer.content) if answer.content else mirror
    # In one go: a result may be large, and each step of its own would copy it.
    return b"".join((b"{", _head(call), b'"content":[', *shown, b'],"isError":false', *structured, b"}"))


# What the response of a tool of content alone is where its handler has left it.
_NOTHING = frozenset({b"{}", b"null"})


def has_structure(call: Call, tool: ToolEntry) -> bool:
    """Whether the call's version gets ``structuredContent``: where it was told an ``outputSchema``, never alone."""
    return call.snapshot.derived(("structured", tool.name, call.version), _structure(tool, call.version))


def _structure(tool: ToolEntry, version: str) -> Callable[[], bool]:
    return lambda: has_output_schema(tool, version)


def _failure(call: Call, message: str, blocks: bytes = b"") -> bytes:
    more = b"," + blocks if blocks else b""
    return b'{%b"content":[{"type":"text","text":%b}%b],"isError":true}' % (_head(call), encoding.text(message), more)


def _head(call: Call) -> bytes:
    key = ("result fields", call.version, call.endpoint.slug)
    return call.snapshot.derived(key, lambda: members(result_fields(call)))
