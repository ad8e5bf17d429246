"""Saying what this server is: ``initialize`` and ``ping`` (legacy), ``server/discover`` (modern)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from mcp_gateway.conf import gateway_settings
from mcp_gateway.oauth.metadata import CLIENT_CREDENTIALS, issues_tokens
from mcp_gateway.protocol import talking
from mcp_gateway.protocol.errors import invalid_params
from mcp_gateway.protocol.methods.call import Call, cache_fields, result_fields, server_info
from mcp_gateway.protocol.methods.completion import offers_completions
from mcp_gateway.protocol.methods.published_lists import offers_prompts, offers_resources
from mcp_gateway.protocol.versions import LEGACY, SUPPORTED
from mcp_gateway.registry import Snapshot
from mcp_gateway.tasks import EXTENSION, framework


def capabilities(snapshot: Snapshot, *, modern: bool) -> dict[str, Any]:
    """Only what is served and has something behind it.

    Log messages need a stream to go out on. Changes are told in the modern era only, where the server has the threads
    for it: every client of the legacy one would hold a thread for hours.
    """
    changes = {"listChanged": True} if modern and gateway_settings.announces_changes else {}
    found: dict[str, Any] = {"tools": changes}
    if gateway_settings.keep_alive_seconds:
        found["logging"] = {}
    for name, offers in _OPTIONAL.items():
        if offers(snapshot):
            found[name] = dict(changes) if name != "completions" else {}
    if changes and "resources" in found:
        found["resources"]["subscribe"] = True
    return found


_OPTIONAL: Mapping[str, Callable[[Snapshot], bool]] = {
    "resources": offers_resources,
    "prompts": offers_prompts,
    "completions": offers_completions,
}


def negotiated(params: dict[str, Any]) -> str:
    """The version an ``initialize`` is answered with: the one asked for, else the newest with a handshake.

    Lifecycle 2025-11-25, “Version Negotiation”. Raises `ProtocolError` -32602 where none is asked for.
    """
    requested = params.get("protocolVersion")
    if not isinstance(requested, str):
        raise invalid_params('initialize needs the string "protocolVersion" in its params.')
    return requested if requested in LEGACY else LEGACY[0]


def initialize(call: Call) -> bytes:
    """``InitializeResult`` in the negotiated version. For whom a session begins: `mcp_gateway.protocol.sessions`."""
    version = negotiated(call.params)

    def build() -> bytes:
        answer: dict[str, Any] = {
            "protocolVersion": version,
            "capabilities": capabilities(call.snapshot, modern=call.modern),
            "serverInfo": server_info(call.endpoint, version),
        }
        if call.endpoint.instructions:
            answer["instructions"] = call.endpoint.instructions
        return orjson.dumps(answer)

    return call.snapshot.derived(("initialize", version, call.endpoint.slug), build)


def ping(call: Call) -> bytes:
    """``{}`` exactly."""
    return b"{}"


def set_level(call: Call) -> bytes:
    """``{}`` for ``logging/setLevel``, and no more: a level is a connection's, and there is none to remember it by.

    Log messages of the level `talking.UNASKED` and above are sent whatever is set. Raises `ProtocolError` -32602 for
    a level that there is not.
    """
    talking.known_level(call.params.get("level"), "params.level")
    return b"{}"


def discover(call: Call) -> bytes:
    """``DiscoverResult``: versions, capabilities, instructions."""

    def build() -> bytes:
        answer: dict[str, Any] = {
            **result_fields(call),
            "supportedVersions": list(SUPPORTED),
            "capabilities": {**capabilities(call.snapshot, modern=True), **_extensions(call.endpoint.slug)},
            **cache_fields(call, same_for_everyone=True),
        }
        if call.endpoint.instructions:
            answer["instructions"] = call.endpoint.instructions
        return orjson.dumps(answer)

    return call.snapshot.derived(("server/discover", call.version, call.endpoint.slug), build)


def _extensions(slug: str) -> dict[str, Any]:
    offered = {EXTENSION: framework.offered(), CLIENT_CREDENTIALS: issues_tokens(slug)}
    names: dict[str, Any] = {name: {} for name, is_offered in offered.items() if is_offered}
    return {"extensions": names} if names else {}
