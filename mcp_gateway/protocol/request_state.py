"""``requestState``: what the server must remember between two rounds, kept by the client, which cannot read it.

Encrypted and signed (Fernet: AES-128 in CBC mode and HMAC-SHA-256) with a key of the site's ``SECRET_KEY``; the
fallbacks of Django's ``SECRET_KEY_FALLBACKS`` still open what they closed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac

from mcp_gateway.protocol.errors import ProtocolError, invalid_params
from mcp_gateway.rights import Principal

#: How long an answer may take, in seconds.
LIFETIME = 600

_SALT = "mcp_gateway.request_state"
_ALPHABET = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def seal(content: Mapping[str, Any]) -> str:
    """The opaque text of a JSON object; another one each time."""
    return _boxes().encrypt(_text(content)).decode().rstrip("=")


def unseal(text: Any, lifetime: int | None = None) -> dict[str, Any]:
    """The object in a text that `seal` made at most ``lifetime`` seconds ago, at any time without it.

    Raises `ProtocolError` -32602 for any other text (Multi Round-Trip Requests, “Server Requirements”, 4 and 5).
    """
    try:
        # Base64 has several spellings of one value, and decoders skip what is no Base64: one spelling counts.
        if not isinstance(text, str) or not _ALPHABET.fullmatch(text):
            raise InvalidToken
        padded = text + "=" * (-len(text) % 4)
        if base64.urlsafe_b64encode(base64.urlsafe_b64decode(padded)).decode() != padded:
            raise InvalidToken
        content: dict[str, Any] = json.loads(_boxes().decrypt(padded, ttl=lifetime))
    except (InvalidToken, ValueError):
        raise refused() from None
    return content


def refused() -> ProtocolError:
    """One answer for what was forged, changed, has expired or belongs to another request."""
    return invalid_params(
        "The requestState is not valid for this request, or no longer; send the request again without requestState "
        "and inputResponses."
    )


def _boxes() -> MultiFernet:
    return _boxes_of((settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=4)
def _boxes_of(secrets: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(base64.urlsafe_b64encode(_key(secret))) for secret in secrets])


def _key(secret: str) -> bytes:
    return salted_hmac(_SALT, "key", secret=secret, algorithm="sha256").digest()


def owner(principal: Principal, slug: str) -> list[str]:
    """Who was asked, and at which endpoint: the user, the client and the slug, as texts."""
    user = "" if principal.user is None else str(principal.user.pk)
    return [user, str(principal.application_id or ""), principal.client_id, slug]


def digest(value: Any) -> str:
    """A short name for a JSON value: equal for equal ones, whatever the order of their members."""
    return hashlib.sha256(_text(value)).hexdigest()


def _text(value: Any) -> bytes:
    # Integers keep every digit, which the faster encoder does not.
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
