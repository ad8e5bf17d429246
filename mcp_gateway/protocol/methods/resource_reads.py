"""``resources/read``, and the legacy era's ``resources/subscribe`` and ``resources/unsubscribe``."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from mcp_gateway import encoding
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events import CallEvent
from mcp_gateway.events.channel import Channel
from mcp_gateway.protocol.errors import ProtocolError, invalid_params, resource_not_found
from mcp_gateway.protocol.methods.answering import for_uri
from mcp_gateway.protocol.methods.asking import Rounds
from mcp_gateway.protocol.methods.call import Call, Work, cache_fields, members, result_fields
from mcp_gateway.protocol.methods.providers import (
    ask,
    failure,
    schemes_of,
    settled,
    subject_of,
    work,
)
from mcp_gateway.protocol.methods.published_lists import offers_resources, require
from mcp_gateway.protocol.versions import has
from mcp_gateway.registry import ListenerEntry
from mcp_gateway.resources import mime
from mcp_gateway.resources.entries import content
from mcp_gateway.resources.members import contents_faults
from mcp_gateway.resources.providing import read_event
from mcp_gateway.resources.uris import is_uri, may_leave


def read_resource(call: Call) -> bytes | Work:
    """``ReadResourceResult``, or ``InputRequiredResult`` where a listener asks the client.

    Raises `ProtocolError` with ``data.uri``: -32602 for a malformed URI, -32002 (legacy) or -32602 (modern) where there
    is no such resource; `Refused` where the caller's rights do not suffice; -32603 where a listener failed.
    """
    require(call, "resources/read", offered=offers_resources(call.snapshot))
    uri = _uri(call)
    return settled(call, lambda call: _read(call, uri), "resource")


def subscribe(call: Call) -> bytes:
    """``{}``: nothing is ever sent, as ``initialize`` says by leaving ``subscribe`` out.

    Both methods of the legacy era. Some of its clients subscribe without having looked, and end at an error.
    """
    require(call, "resources/subscribe", offered=offers_resources(call.snapshot))
    _uri(call)
    return b"{}"


def _uri(call: Call) -> str:
    uri = call.params.get("uri")
    if not isinstance(uri, str):
        raise invalid_params('The string "uri" is needed in the params.')
    if not is_uri(uri):
        fault = invalid_params("This is no URI (RFC 3986): it needs a scheme, a colon and encoded characters.")
        fault.data = {"uri": uri}
        raise fault
    return uri


def _read(call: Call, uri: str) -> bytes | Work | None:
    """The result, or None where the table holds another content than the snapshot says."""
    found = for_uri(call.snapshot, uri)
    entry, listeners = found.entry, found.listeners

    def missing(message: str = "") -> ProtocolError:
        return resource_not_found(uri, modern=call.modern, message=message)

    found.enter(call, missing)
    if entry is not None and entry.content_digest:
        held = content(entry, prompt=False)
        if held is None:
            return None
        return _result(call, [mime.contents(uri, entry.mime_type, held)], shared=not found.rights)
    if not listeners:
        raise missing()
    mime_type = entry.mime_type if entry else ""

    def run(known: Rounds, channel: Channel) -> CallEvent | bytes:
        event, items = ask(
            call,
            read_event(uri),
            {"uri": uri, "variables": dict(found.variables)},
            listeners,
            lambda event: _items(event, uri, mime_type, listeners),
            known,
            channel,
        )
        if event.questions:
            return event
        if not items:
            raise missing() if event.ok else failure(event, missing)
        return _result(call, items, shared=False, is_told=False)

    return work(call, subject_of(call, "resources/read", uri, {}, listeners), run, read_resource)


def _result(call: Call, items: list[dict[str, Any]], *, shared: bool, is_told: bool = True) -> bytes:
    fields = {**result_fields(call), **cache_fields(call, same_for_everyone=shared, is_told=is_told)}
    if not has("ResourceContents._meta", call.version):
        items = [{name: value for name, value in item.items() if name != "_meta"} for item in items]
    encoded = encoding.encode(items, max_depth=gateway_settings.max_json_depth).text
    return b'{%b"contents":%b}' % (members(fields), encoded)


def _items(event: CallEvent, uri: str, mime_type: str, listeners: tuple[ListenerEntry, ...]) -> list[dict[str, Any]]:
    """The contents that a listener gave: a text, bytes, an item, a list of items, or ``{"contents": […]}``.

    Raises ``ValueError`` for anything else, and for URIs that may not leave.
    """
    response = event.response
    if isinstance(response, Mapping) and "contents" in response:
        response = response["contents"]
    if response is None or isinstance(response, (str, bytes, Mapping)):
        response = [response] if response else []
    if not isinstance(response, Iterable):
        raise ValueError(f"contents are text, bytes, an object or a list of these, not {type(response).__name__}")
    schemes = schemes_of(listeners)
    items = [_item(given, uri, mime_type) for given in response]
    for item in items:
        if not is_uri(item["uri"]) or (item["uri"] != uri and not may_leave(item["uri"], schemes)):
            raise ValueError(f"the module does not declare the scheme of {item['uri']!r:.200}")
    size = len(encoding.encode(items, max_depth=gateway_settings.max_json_depth).text)
    if size > gateway_settings.max_result_bytes:
        raise ValueError(f"it has {size} bytes, more than MAX_RESULT_BYTES")
    return items


def _item(given: Any, uri: str, mime_type: str) -> dict[str, Any]:
    if isinstance(given, (str, bytes)):
        raw = given.encode() if isinstance(given, str) else given
        kind = mime_type or (mime.TEXT if isinstance(given, str) else mime.guess(uri, raw))
        if isinstance(given, str):
            return {"uri": uri, "mimeType": kind, "text": given}
        return mime.contents(uri, kind, raw)
    if not isinstance(given, Mapping):
        raise ValueError(f"an item of the contents is text, bytes or an object, not {type(given).__name__}")
    item = {"uri": uri, **({"mimeType": mime_type} if mime_type else {}), **given}
    item = {name: value for name, value in item.items() if value is not None}
    text, blob = item.get("text"), item.get("blob")
    if isinstance(text, bytes):
        item.pop("text")
        item |= mime.contents(item["uri"], str(item.get("mimeType") or mime.guess(uri, text)), text)
    elif isinstance(blob, (bytes, bytearray, memoryview)):
        item["blob"] = base64.b64encode(blob).decode()
    if not isinstance(item["uri"], str):
        raise ValueError("“uri” of an item is text")
    for _where, fault in contents_faults(item):
        raise ValueError(fault)
    return item
