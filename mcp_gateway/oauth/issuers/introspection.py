"""Access tokens that only their issuer can read: it is asked what they are worth (RFC 7662).

What it said is held for some seconds by this process, refusals too. What it did not say is never made up.
"""

from __future__ import annotations

import base64
import hashlib
from time import monotonic
from typing import Any
from urllib.parse import quote_plus, urlencode

from django.core.signals import setting_changed

from mcp_gateway.conf.issuers import TrustedIssuer
from mcp_gateway.oauth.fetch import FetchError, Request
from mcp_gateway.oauth.issuers.asking import RETRY_SECONDS, ask, logger
from mcp_gateway.oauth.issuers.refusals import IssuerUnavailable, Untrusted

_MAX_BYTES = 64 * 1024
_MAX_LENGTH = 16 * 1024
_MOST_HELD = 5_000

# What is held by hash, and until when. Refusals apart: whoever makes tokens up must not push the others out.
_active: dict[bytes, tuple[float, dict[str, Any]]] = {}
_refused: dict[bytes, float] = {}


def claims_of(token: str, trusted: TrustedIssuer) -> dict[str, Any]:
    """What the issuer says of a token that it calls active; nothing of it is judged yet.

    Raises `Untrusted` for any other, `IssuerUnavailable` where it does not answer as RFC 7662 section 2.2 says.
    """
    if len(token) > _MAX_LENGTH:
        raise Untrusted("The access token is too long.")
    name = hashlib.sha256("\0".join((trusted.introspection_uri, trusted.client_id, token)).encode()).digest()
    held = _active.get(name)
    if held is not None and monotonic() < held[0]:
        return held[1]
    if monotonic() >= _refused.get(name, 0.0):
        claims = _ask(token, trusted)
        until = monotonic() + trusted.cache_seconds
        if claims is not None:
            _hold(_active, name, (until, claims))
            return claims
        _hold(_refused, name, until)
    raise Untrusted("The access token is unknown to the issuer that this endpoint trusts, or not active any more.")


def _hold(held: dict[bytes, Any], name: bytes, value: Any) -> None:
    if len(held) >= _MOST_HELD:
        held.clear()
    held[name] = value


def _ask(token: str, trusted: TrustedIssuer) -> dict[str, Any] | None:
    # RFC 6749 section 2.3.1: both are form-encoded before they are joined.
    login = f"{quote_plus(trusted.client_id)}:{quote_plus(trusted.client_secret)}"
    request = Request(
        "POST",
        urlencode({"token": token, "token_type_hint": "access_token"}).encode(),
        {
            "Authorization": f"Basic {base64.b64encode(login.encode()).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    try:
        document = ask(trusted, trusted.introspection_uri, max_bytes=_MAX_BYTES, request=request).document
    except FetchError as error:
        logger.error("%s could not be asked about a token: %s", trusted.issuer, error)
        raise IssuerUnavailable(RETRY_SECONDS) from None
    active = document.get("active")
    if not isinstance(active, bool):
        logger.error("%s answered an introspection without the member “active”.", trusted.issuer)
        raise IssuerUnavailable(RETRY_SECONDS)
    return document if active else None


def forget() -> None:
    """Hold nothing any more."""
    _active.clear()
    _refused.clear()


def _on_setting_changed(*, setting: str, **kwargs: object) -> None:
    if setting == "ZOLINGA":
        forget()


setting_changed.connect(_on_setting_changed, dispatch_uid="mcp_gateway.oauth.issuers.introspection")
