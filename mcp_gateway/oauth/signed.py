"""JWTs that somebody else has signed (RFC 7515, RFC 7519): what holds for clients' assertions and issuers' tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from jwcrypto import jwk, jws
from jwcrypto.common import JWException, base64url_decode

#: Bytes of a key set.
MAX_KEYS_BYTES = 64 * 1024

_MAX_LENGTH = 16 * 1024
_MAX_KEYS = 20


def header(token: str) -> dict[str, Any] | None:
    """The header of a JWT in compact form, before anything of it is believed; None for what is none."""
    if len(token) > _MAX_LENGTH or token.count(".") != 2:
        return None
    try:
        found = orjson.loads(base64url_decode(token.split(".")[0]))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def keys(document: Any) -> list[dict[str, Any]]:
    """The keys of a key set (RFC 7517 section 5), the first few of them."""
    found = document.get("keys") if isinstance(document, dict) else None
    return [key for key in found if isinstance(key, dict)][:_MAX_KEYS] if isinstance(found, list) else []


def claims(
    token: str, header: dict[str, Any], keys: Iterable[dict[str, Any]], algorithms: Sequence[str]
) -> dict[str, Any] | None:
    """What a JWT says, where one of the keys has signed it with one of the algorithms; else None.

    Parameters: the token and its `header`; public keys, of which those for another purpose, and those with another
    name than the header's, are passed over; the algorithms, all of them asymmetric, whatever the header says.
    """
    if header.get("alg") not in algorithms:
        return None
    for key in keys:
        if header.get("kid") not in (None, key.get("kid")) or key.get("use") == "enc":
            continue
        signature = jws.JWS()
        signature.allowed_algs = list(algorithms)
        try:
            signature.deserialize(token)
            signature.verify(jwk.JWK(**key))
            found = orjson.loads(signature.payload)
        except (JWException, ValueError, TypeError):
            continue
        if isinstance(found, dict):
            return found
    return None
