"""Sessions of the legacy era: what a client said of itself in ``initialize``, given back to it to carry.

A session id is a signed text and nothing else: no worker remembers it, it proves nobody's identity, and no request
needs one. Only clients that can be asked something get one, because only their answers need to find the call that
waits for them (2025-11-25, transports, “Session Management”).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.core.signing import BadSignature, Signer

from mcp_gateway.protocol.errors import invalid_request

HEADER = "Mcp-Session-Id"

#: How long a session lasts, in seconds; a client that comes later is told to begin anew.
LIFETIME = 7 * 24 * 3600

_SALT = "mcp_gateway.session"

# What a client can be asked for, and the parts of it that make a difference.
_PARTS: Mapping[str, tuple[str, ...]] = {
    "elicitation": ("form", "url"),
    "sampling": ("tools", "context"),
    "roots": (),
}
_MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class Session:
    """What a session id says. ``id`` is random and tells it from all others, ``expires`` is a Unix time."""

    id: str
    slug: str
    version: str
    client: str
    expires: int
    capabilities: Mapping[str, Any] = field(default_factory=dict)


def begin(params: Mapping[str, Any], slug: str, version: str) -> str | None:
    """The session id for an ``initialize``, None for a client that cannot be asked anything.

    Parameters: the request's ``params``, the endpoint's slug, and the version that was agreed on.
    """
    declared = params.get("capabilities")
    capabilities = _relevant(declared) if isinstance(declared, dict) else {}
    if not capabilities:
        return None
    info = params.get("clientInfo")
    name = info.get("name") if isinstance(info, dict) else None
    content = {
        "i": secrets.token_hex(16),
        "e": slug,
        "v": version,
        "n": name[:_MAX_NAME] if isinstance(name, str) else "",
        "x": int(time.time()) + LIFETIME,
        "c": capabilities,
    }
    return Signer(salt=_SALT).sign_object(content)


def read(text: str, slug: str) -> Session | None:
    """The session of an id that this server gave for the endpoint, None for any other text.

    Raises `ProtocolError` with HTTP status 404 for one that has expired: clients begin a new one then.
    """
    session = _read(text)
    if session is None or session.slug != slug:
        return None
    if session.expires <= time.time():
        raise invalid_request("The session has expired; begin a new one with initialize.", status=404)
    return session


# Clients send it with every request.
@lru_cache(maxsize=1024)
def _read(text: str) -> Session | None:
    try:
        content = Signer(salt=_SALT).unsign_object(text)
        return Session(content["i"], content["e"], content["v"], content["n"], content["x"], content["c"])
    except (BadSignature, ValueError, KeyError, TypeError):
        return None


def _relevant(declared: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {part: {} for part in parts if isinstance(declared[name].get(part), dict)}
        for name, parts in _PARTS.items()
        if isinstance(declared.get(name), dict)
    }
