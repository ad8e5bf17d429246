"""Clients that prove themselves with a signature: ``private_key_jwt`` (RFC 7523 section 2.2)."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import orjson
from django.core.cache import cache
from django.urls import reverse
from jwcrypto.common import base64url_decode

from mcp_gateway.conf.issuers import SIGNING_ALGORITHMS
from mcp_gateway.models import Client, Tally
from mcp_gateway.oauth import signed
from mcp_gateway.oauth.audience import public
from mcp_gateway.oauth.fetch import FetchError, fetch
from mcp_gateway.oauth.metadata import issuer

logger = logging.getLogger("mcp_gateway")

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

# Seconds: how far clocks may be apart, and how long an assertion may be good for.
_LEEWAY, _LONGEST = 60, 3600

# How often a minute the keys behind one URL are fetched at most.
_FETCHES = 10


class InvalidAssertion(Exception):
    """The assertion proves nothing; the text may be shown to the client."""


def subject(assertion: str) -> str:
    """The client that an assertion says it is of, before anything of it is believed; empty where it says none."""
    try:
        claims = orjson.loads(base64url_decode(assertion.split(".")[1]))
    except (ValueError, IndexError):
        return ""
    found = claims.get("sub") if isinstance(claims, dict) else None
    return found if isinstance(found, str) else ""


def verify(assertion: str, client: Client, client_id: str) -> None:
    """Raise `InvalidAssertion` for all but a fresh assertion of this client, signed with a key of its own.

    The algorithms are a closed list of asymmetric ones, whatever the assertion's header says.
    """
    claims = _claims(assertion, client)
    now = time.time()
    if claims.get("iss") != client_id or claims.get("sub") != client_id:
        raise InvalidAssertion("iss and sub must both be the client_id.")
    audience = claims.get("aud")
    named = audience if isinstance(audience, list) else [audience]
    if not any(entry in _audiences() for entry in named if isinstance(entry, str)):
        raise InvalidAssertion("aud must be the issuer or the token endpoint.")
    expires = _number(claims, "exp")
    if expires is None:
        raise InvalidAssertion("exp is missing.")
    if expires <= now - _LEEWAY:
        raise InvalidAssertion("The assertion has expired.")
    if expires > now + _LONGEST + _LEEWAY:
        raise InvalidAssertion(f"exp must be at most {_LONGEST} seconds ahead.")
    for name in ("nbf", "iat"):
        begins = _number(claims, name)
        if begins is not None and begins > now + _LEEWAY:
            raise InvalidAssertion(f"{name} lies in the future.")
    # Each is good for one request. Without an identifier of its own, an assertion stands for itself.
    identifier = claims.get("jti")
    once = identifier if isinstance(identifier, str) and identifier else hashlib.sha256(assertion.encode()).hexdigest()
    if Tally.take(f"assertion {client_id} {once}", limit=1, seconds=int(expires - now) + 2 * _LEEWAY):
        raise InvalidAssertion("The assertion was used before.")


def _number(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidAssertion(f"{name} must be a number of seconds.")
    return float(value)


def _audiences() -> frozenset[str]:
    endpoints = [public(reverse(f"oauth2_provider:{name}")) for name in ("token", "revoke-token")]
    urls = [issuer(), *endpoints]
    # Both spellings of each are served.
    return frozenset({*(url.rstrip("/") for url in urls), *(f"{url.rstrip('/')}/" for url in urls)})


def _claims(assertion: str, client: Client) -> dict[str, Any]:
    """What the assertion says, its signature verified."""
    header = signed.header(assertion)
    if header is None:
        raise InvalidAssertion("The assertion is no JWT in compact form.")
    if header.get("alg") not in SIGNING_ALGORITHMS:
        raise InvalidAssertion(f"alg must be one of {', '.join(SIGNING_ALGORITHMS)}.")
    for keys in _key_sets(client):
        claims = signed.claims(assertion, header, keys, SIGNING_ALGORITHMS)
        if claims is not None:
            return claims
    raise InvalidAssertion("None of the client's keys has signed the assertion.")


def _key_sets(client: Client) -> Iterator[list[dict[str, Any]]]:
    """The client's keys; those of a URL first as they are held, then afresh, for a client that changed them."""
    if client.jwks:
        yield signed.keys(json.loads(client.jwks))
        return
    if not client.jwks_uri:
        raise InvalidAssertion("No keys of the client are known.")
    name = f"mcp_gateway:jwks:{hashlib.sha256(client.jwks_uri.encode()).hexdigest()}"
    held = cache.get(name)
    if held is not None:
        yield signed.keys(held)
    if Tally.take(f"keys {client.jwks_uri}", limit=_FETCHES, seconds=60):
        raise InvalidAssertion("The client's keys were fetched too often; try again in a minute.")
    try:
        fetched = fetch(client.jwks_uri, max_bytes=signed.MAX_KEYS_BYTES)
    except FetchError as error:
        raise InvalidAssertion(f"The client's keys could not be read. {error}") from None
    cache.set(name, fetched.document, fetched.max_age)
    yield signed.keys(fetched.document)
