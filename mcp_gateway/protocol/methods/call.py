"""What a method needs to know of a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from mcp_gateway import __version__
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.channel import Channel
from mcp_gateway.protocol.eras import CLIENT_CAPABILITIES
from mcp_gateway.protocol.versions import MODERN, has
from mcp_gateway.registry import EndpointEntry, Snapshot
from mcp_gateway.rights import Principal

if TYPE_CHECKING:
    from mcp_gateway.protocol.methods.asking import Rounds
    from mcp_gateway.protocol.methods.subscriptions import Subscription
    from mcp_gateway.protocol.sessions import Session

_NOTHING: Mapping[str, Any] = {}

# Milliseconds that an answer may be kept by a client that is told when it changes.
TOLD_TTL = 60_000

SERVER_NAME = "django-zolinga"


@dataclass(frozen=True, slots=True)
class Call:
    """One request, as far as its method is concerned.

    ``version`` is the protocol version to answer in. ``meta`` is the HTTP request's ``META``, None where a call
    did not come over HTTP. ``session`` is that of the legacy era, where there is one. ``rounds`` is what was asked
    and answered so far, where that is not in the request. ``renew`` judges the caller anew, in the middle of a call.
    ``put`` takes what a handler asks, as ``inputRequests``, where the answer of the request is not the place for it;
    what it gives back stands for the result.
    """

    snapshot: Snapshot
    endpoint: EndpointEntry
    principal: Principal
    version: str
    params: dict[str, Any]
    meta: Mapping[str, Any] | None = None
    session: Session | None = None
    rounds: Rounds | None = None
    renew: Callable[[], tuple[Snapshot, EndpointEntry, Principal]] | None = None
    put: Callable[[Rounds, Mapping[str, Any]], bytes] | None = None

    @property
    def modern(self) -> bool:
        """Whether the request belongs to the modern era."""
        return self.version == MODERN

    @property
    def in_background(self) -> bool:
        """Whether a worker runs it as a task."""
        return self.put is not None

    @property
    def goes_on(self) -> bool:
        """Whether it runs again within its own first run, as its client has answered meanwhile."""
        return self.rounds is not None and not self.in_background

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the client declares it can do (``ClientCapabilities``), now or when its session began; else nothing."""
        if not self.modern:
            return _NOTHING if self.session is None else self.session.capabilities
        meta = self.params.get("_meta")
        declared = meta.get(CLIENT_CAPABILITIES) if isinstance(meta, dict) else None
        return declared if isinstance(declared, dict) else _NOTHING

    def again(self, rounds: Rounds) -> Call:
        """The same request after another round of questions, by its caller as it is known now.

        Raises what the endpoint raises for a caller that may not enter any more.
        """
        if self.renew is None:
            return replace(self, rounds=rounds)
        snapshot, endpoint, principal = self.renew()
        return replace(self, snapshot=snapshot, endpoint=endpoint, principal=principal, rounds=rounds)


# What a method still has to do once everything is checked that has an HTTP status: it may take its time, and talk.
Work: TypeAlias = Callable[[Channel], bytes]

Method: TypeAlias = Callable[[Call], bytes | Work]


def result_of(found: bytes | Work, channel: Channel) -> bytes:
    """What a method gave, once its work is done."""
    return found if isinstance(found, bytes) else found(channel)


# What opens a stream instead of answering.
Opening: TypeAlias = "Callable[[Call], Subscription]"


def server_info(endpoint: EndpointEntry, version: str) -> dict[str, str]:
    """The ``Implementation`` object that names this server, under the endpoint's title."""
    info = {"name": SERVER_NAME}
    if endpoint.title and has("Implementation.title", version):
        info["title"] = endpoint.title
    return {**info, "version": __version__}


def result_fields(call: Call) -> dict[str, Any]:
    """The fields that every result of the call's version has beside its own; empty in the legacy era."""
    fields: dict[str, Any] = {}
    if has("Result.resultType", call.version):
        fields["resultType"] = "complete"
    if has("Result._meta.serverInfo", call.version):
        fields["_meta"] = {"io.modelcontextprotocol/serverInfo": server_info(call.endpoint, call.version)}
    return fields


def cache_fields(call: Call, *, same_for_everyone: bool, is_told: bool = True) -> dict[str, Any]:
    """The caching hints of lists, ``server/discover`` and reads (2026-07-28, “Caching”).

    ``ttlMs`` is 0 where no stream of changes is advertised, and (``is_told`` is False) for what can change without
    being told: nobody could learn that an answer has changed.
    ``same_for_everyone`` says whether the answer hangs on the caller; an endpoint that needs a token shares nothing.
    """
    fields: dict[str, Any] = {}
    if has("CacheableResult.ttlMs", call.version):
        fields["ttlMs"] = TOLD_TTL if is_told and gateway_settings.announces_changes else 0
    if has("CacheableResult.cacheScope", call.version):
        public = same_for_everyone and not call.endpoint.token_required
        fields["cacheScope"] = "public" if public else "private"
    return fields


def members(fields: dict[str, Any]) -> bytes:
    """The members of a JSON object, each with a comma after it, to stand before others."""
    return orjson.dumps(fields)[1:-1] + b"," if fields else b""
