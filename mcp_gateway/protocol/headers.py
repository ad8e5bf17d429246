"""Headers that mirror the body (Streamable HTTP 2026-07-28, “Request Metadata”): they must say the same.

Headers are read from a request's ``META``, where ``Mcp-Name`` is ``HTTP_MCP_NAME``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from mcp_gateway.protocol.eras import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from mcp_gateway.protocol.errors import header_mismatch, invalid_params, unsupported_version
from mcp_gateway.protocol.jsonrpc import Message
from mcp_gateway.protocol.versions import MODERN
from mcp_gateway.schemas.portability import LARGEST_EXACT

# “Standard Request Headers”, and those of the extension for tasks: which parameter Mcp-Name repeats.
NAME_SOURCES: Mapping[str, str] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}

# RFC 9110 section 5.5: visible ASCII, space and tab.
_FIELD_VALUE = re.compile(r"[\x20-\x7e\t]*")
_INTEGER = re.compile(r"[+-]?\d+(?:\.0+)?", re.ASCII)

_SENTINEL_START = "=?base64?"
_SENTINEL_END = "?="


def check_request(message: Message, meta: Mapping[str, Any]) -> None:
    """The first rungs of the modern ladder: required metadata, headers that agree, a version that is served.

    Parameters: the request, and the HTTP request's ``META``. Raises `ProtocolError` -32602, -32020 or -32022.
    """
    params = {} if message.params is None else message.params
    if not isinstance(params, dict):
        raise invalid_params('The member "params" must be an object.')
    envelope = message.meta
    if envelope is None:
        raise invalid_params('The request lacks the object "_meta" in its params.')
    version = envelope.get(PROTOCOL_VERSION)
    if not isinstance(version, str):
        raise invalid_params(f'params._meta lacks the string "{PROTOCOL_VERSION}".')
    if not isinstance(envelope.get(CLIENT_CAPABILITIES), dict):
        raise invalid_params(f'params._meta lacks the object "{CLIENT_CAPABILITIES}".')
    source = NAME_SOURCES.get(message.method)
    name = params.get(source) if source else None
    if source and not isinstance(name, str):
        raise invalid_params(f'The method {message.method!r} needs the string "{source}" in its params.')
    _check("MCP-Protocol-Version", meta.get("HTTP_MCP_PROTOCOL_VERSION"), version)
    _check("Mcp-Method", meta.get("HTTP_MCP_METHOD"), message.method)
    if isinstance(name, str):
        _check("Mcp-Name", _decoded("Mcp-Name", meta.get("HTTP_MCP_NAME")), name, repeats=f"params.{source}")
    if version != MODERN:
        raise unsupported_version(version)


def check_parameters(mirrored: Mapping[str, tuple[str, ...]], arguments: Any, meta: Mapping[str, Any]) -> None:
    """Whether every ``Mcp-Param-*`` header that the tool's schema asks for agrees with the arguments.

    “Server Behavior for Custom Headers”: a value in the body needs its header; null or an absent value must have
    none; an integer must be one that every party reads alike. ``mirrored`` is as
    `mcp_gateway.schemas.mirrored_parameters` gives it. Raises `ProtocolError` -32020.
    """
    for name, path in mirrored.items():
        field = f"Mcp-Param-{name}"
        header = _decoded(field, meta.get(f"HTTP_MCP_PARAM_{name.upper().replace('-', '_')}"))
        value = arguments
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            if header is not None:
                raise header_mismatch(f"Header mismatch: {field} is sent, but the arguments have no such value.")
        elif not _is_primitive(value):
            # The schema refuses it; there is nothing a header could repeat.
            continue
        elif header is None:
            raise header_mismatch(f"Header mismatch: {field} is missing, but the arguments have a value for it.")
        elif isinstance(value, int) and abs(value) > LARGEST_EXACT:
            raise header_mismatch(f"Header mismatch: the value of {field} lies beyond 2^53, where readers round it.")
        elif not _same(header, value):
            raise header_mismatch(f"Header mismatch: {field} does not match the value in the arguments.")


def _is_primitive(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _same(header: str, value: Any) -> bool:
    if isinstance(value, bool):
        return header == ("true" if value else "false")
    if isinstance(value, str):
        return header == value
    # “Server Validation”, note: integers are compared numerically.
    number = _INTEGER.fullmatch(header.strip())
    return number is not None and len(header) < 400 and int(header.strip().partition(".")[0]) == value


def _check(field: str, header: str | None, value: str, *, repeats: str = "") -> None:
    if header is None:
        cure = f"; it repeats {repeats}" if repeats else ""
        raise header_mismatch(f"Header mismatch: the header {field} is missing{cure}.")
    if header.strip(" \t") != value:
        raise header_mismatch(
            f"Header mismatch: {field} header value {header!r:.200} does not match body value {value!r:.200}."
        )


def _decoded(field: str, header: str | None) -> str | None:
    """A header's value with “Value Encoding” undone; raises -32020 for what cannot be undone."""
    if header is None:
        return None
    if not _FIELD_VALUE.fullmatch(header):
        raise header_mismatch(f"Header mismatch: {field} holds characters that a header may not.")
    header = header.strip(" \t")
    if not (header.startswith(_SENTINEL_START) and header.endswith(_SENTINEL_END)) or len(header) < 11:
        return header
    try:
        return base64.b64decode(header[len(_SENTINEL_START) : -len(_SENTINEL_END)], validate=True).decode()
    except (binascii.Error, ValueError):
        raise header_mismatch(f"Header mismatch: {field} is no valid Base64 of UTF-8 text.") from None
