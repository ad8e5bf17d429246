"""Which era a message speaks: versions with a handshake (legacy), or with metadata in every request (modern)."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_gateway.protocol.errors import invalid_params, unsupported_version
from mcp_gateway.protocol.jsonrpc import Message
from mcp_gateway.protocol.versions import ASSUMED, LEGACY, MODERN

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"

# Methods that only the modern era has, so that asking without naming a version cannot mean the legacy one.
MODERN_ONLY = frozenset({"server/discover", "subscriptions/listen"})


@dataclass(frozen=True, slots=True)
class Era:
    """The era of one message, and the version to answer in."""

    modern: bool
    version: str


MODERN_ERA = Era(modern=True, version=MODERN)


def era_of(message: Message, header: str | None) -> Era:
    """The era of a message, first match of the five rules.

    ``header`` is the value of ``MCP-Protocol-Version``, None where there is none. Raises `ProtocolError`: -32022
    for a header that names no version served, -32602 for a modern method that names none at all.
    """
    meta = message.meta or {}
    named = PROTOCOL_VERSION in meta
    if message.method == "initialize" and not named:
        return Era(modern=False, version=LEGACY[0])
    if named and meta[PROTOCOL_VERSION] not in LEGACY:
        return MODERN_ERA
    if header is not None and header not in LEGACY:
        if header != MODERN:
            raise unsupported_version(header)
        return MODERN_ERA
    if message.method in MODERN_ONLY and not named and header is None:
        fault = invalid_params(
            f'The method {message.method!r} needs a version: send params._meta["{PROTOCOL_VERSION}"] '
            "and the header MCP-Protocol-Version."
        )
        fault.legacy_status = fault.status
        raise fault
    return Era(modern=False, version=header or ASSUMED)
