"""``prompts/get``: arguments into messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_gateway import encoding
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events import CallEvent
from mcp_gateway.events.channel import Channel
from mcp_gateway.protocol.errors import ProtocolError, invalid_params
from mcp_gateway.protocol.methods.answering import Answering, for_prompt
from mcp_gateway.protocol.methods.asking import Rounds
from mcp_gateway.protocol.methods.call import Call, Work, members, result_fields
from mcp_gateway.protocol.methods.messages import Unsendable, message_for
from mcp_gateway.protocol.methods.providers import (
    ask,
    failure,
    schemes_of,
    settled,
    subject_of,
    work,
)
from mcp_gateway.protocol.methods.published_lists import offers_prompts, require
from mcp_gateway.registry import ListenerEntry
from mcp_gateway.resources.entries import PromptEntry, content
from mcp_gateway.resources.placeholders import filled
from mcp_gateway.resources.providing import get_event


def get_prompt(call: Call) -> bytes | Work:
    """``GetPromptResult``, or ``InputRequiredResult`` where a listener asks the client.

    Raises `ProtocolError` -32602 for an unknown prompt, and for arguments that are missing, unknown, no text or not
    among an argument's ``enum``; `Refused` where the caller's rights do not suffice; -32603 where a listener failed.
    """
    require(call, "prompts/get", offered=offers_prompts(call.snapshot))
    name = call.params.get("name")
    if not isinstance(name, str):
        raise invalid_params('prompts/get needs the string "name" in its params.')
    return settled(call, lambda call: _get(call, name), "prompt")


def unknown_prompt(name: str) -> ProtocolError:
    """The same answer for a prompt that does not exist and for one that does not exist for this caller."""
    return invalid_params(f"Unknown prompt: {name:.200}")


def enter(call: Call, name: str) -> Answering[PromptEntry]:
    """What answers for a prompt, once the caller's rights are seen to suffice for it."""
    found = for_prompt(call.snapshot, name)
    found.enter(call, lambda: unknown_prompt(name))
    return found


def _get(call: Call, name: str) -> bytes | Work | None:
    """The result, or None where the table holds another content than the snapshot says."""
    prompt = enter(call, name)
    entry, listeners = prompt.entry, prompt.listeners
    given = _arguments(call)
    if entry is not None:
        given = _checked(given, json.loads(entry.arguments))
    if entry is not None and entry.content_digest:
        found = content(entry, prompt=True)
        if found is None:
            return None
        try:
            messages = [message_for(call.version, one, entry.schemes) for one in filled(json.loads(found), given)]
        except Unsendable as error:
            # Its file was judged at the import, so an argument made the URI.
            raise invalid_params(str(error)) from None
        return _result(call, entry.description, messages)
    if not listeners:
        raise unknown_prompt(name)

    def run(known: Rounds, channel: Channel) -> CallEvent | bytes:
        event, answer = ask(
            call,
            get_event(name),
            {"name": name, "arguments": given},
            listeners,
            lambda event: _answer(call, event, listeners, entry.description if entry else ""),
            known,
            channel,
        )
        if answer is None and not event.questions:
            raise failure(event, lambda message: invalid_params(message) if message else unknown_prompt(name))
        return event if answer is None else answer

    return work(call, subject_of(call, "prompts/get", name, given, listeners), run, get_prompt)


def _arguments(call: Call) -> dict[str, str]:
    arguments = call.params.get("arguments")
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise invalid_params('The member "arguments" must be an object.')
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise invalid_params(f"The argument {name!r:.200} must be a string; the arguments of a prompt are texts.")
    return arguments


def _checked(given: dict[str, str], known: list[dict[str, Any]]) -> dict[str, str]:
    """Every argument that the prompt knows: as given, else empty."""
    names = [argument["name"] for argument in known]
    unknown = sorted(given.keys() - set(names))
    if unknown:
        listed = ", ".join(names) or "none"
        raise invalid_params(f"The prompt has no argument {unknown[0]!r:.200}. It has: {listed}.")
    missing = [argument["name"] for argument in known if argument.get("required") and argument["name"] not in given]
    if missing:
        raise invalid_params(f"Missing required arguments: {', '.join(missing)}.")
    for argument in known:
        allowed = argument.get("enum")
        value = given.get(argument["name"])
        if allowed and value is not None and value not in allowed:
            raise invalid_params(f"The argument {argument['name']!r:.200} must be one of: {', '.join(allowed)}.")
    return {name: given.get(name, "") for name in names}


def _answer(call: Call, event: CallEvent, listeners: tuple[ListenerEntry, ...], description: str) -> bytes:
    """The result that a listener gave: a text, a list of messages, or ``{"description": …, "messages": […]}``."""
    response = event.response
    if isinstance(response, Mapping):
        description = str(response.get("description") or description)
        response = response.get("messages")
    if isinstance(response, str):
        response = [{"role": "user", "content": response}]
    if not isinstance(response, (list, tuple)) or not response:
        raise ValueError("a prompt is answered by a text, by a list of messages, or by an object with “messages”")
    schemes = schemes_of(listeners)
    return _result(call, description, [message_for(call.version, one, schemes) for one in response])


def _result(call: Call, description: str, messages: list[dict[str, Any]]) -> bytes:
    fields = result_fields(call)
    if description:
        fields["description"] = description
    encoded = encoding.encode(messages, max_depth=gateway_settings.max_json_depth).text
    if len(encoded) > gateway_settings.max_result_bytes:
        raise Unsendable(f"The messages have {len(encoded)} bytes, more than MAX_RESULT_BYTES; send shorter arguments.")
    return b'{%b"messages":%b}' % (members(fields), encoded)
