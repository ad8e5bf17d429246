"""Whether what a token of another issuer says counts at an endpoint, and who comes with it."""

from __future__ import annotations

import time
from typing import Any

from mcp_gateway.conf.issuers import TrustedIssuer
from mcp_gateway.oauth import audience
from mcp_gateway.oauth.issuers import introspection, tokens
from mcp_gateway.oauth.issuers.refusals import Untrusted
from mcp_gateway.oauth.issuers.users import find_user
from mcp_gateway.registry import Snapshot
from mcp_gateway.rights import Principal, not_grantable

#: Seconds that the issuer's clock and ours may be apart.
LEEWAY = 30


def principal_of(token: str, slug: str, trusted: TrustedIssuer, snapshot: Snapshot) -> Principal:
    """Who sends a token to an endpoint that trusts another issuer.

    Only scopes that administrators have defined and enabled count, and of those that are kept to groups only what
    the user could grant here too. Raises `Untrusted`, and `mcp_gateway.oauth.issuers.IssuerUnavailable`.
    """
    if trusted.jwks_uri:
        claims = tokens.claims_of(token, trusted)
        _check(claims, slug, trusted, complete=True)
    else:
        claims = introspection.claims_of(token, trusted)
        _check(claims, slug, trusted, complete=False)
    user = find_user(claims, trusted)
    scopes = frozenset(name for name in _scopes(claims) if name in snapshot.scopes)
    return Principal(
        user=user,
        scopes=scopes - not_grantable(user, scopes, snapshot),
        client_id=_client(claims),
        authenticated=True,
    )


def _check(claims: dict[str, Any], slug: str, trusted: TrustedIssuer, *, complete: bool) -> None:
    """Raise `Untrusted` for what is not for this endpoint, now (RFC 9068 section 4).

    ``complete``: issuer and end must be told. An issuer that is asked may leave out both (RFC 7662 section 2.2).
    """
    if (complete or "iss" in claims) and claims.get("iss") != trusted.issuer:
        raise Untrusted("The access token is of another issuer.")
    named = claims.get("aud")
    if not audience.is_for(named if isinstance(named, list) else [named], slug):
        raise Untrusted("The access token was issued for another resource.")
    now = time.time()
    expires = _number(claims, "exp")
    if expires is None and complete:
        raise Untrusted("The access token says no end.")
    if expires is not None and expires <= now - LEEWAY:
        raise Untrusted("The access token has expired.")
    begins = _number(claims, "nbf")
    if begins is not None and begins > now + LEEWAY:
        raise Untrusted("The access token is not good yet.")
    if "cnf" in claims or str(claims.get("token_type", "Bearer")).lower() != "bearer":
        # RFC 7800, RFC 9449: good only with a proof that nobody checks here.
        raise Untrusted("The access token is bound to a key; only bearer tokens are accepted here.")
    if claims.get("token_use", "access") not in ("access", "access_token"):
        # What some issuers tell their refresh and ID tokens apart by.
        raise Untrusted("The token is no access token.")


def _number(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Untrusted(f"The access token's {name} is no number.")
    return float(value)


def _scopes(claims: dict[str, Any]) -> list[str]:
    """The words of ``scope`` (RFC 8693 section 4.2), else of ``scp``; either as a text or as a list."""
    given = claims.get("scope")
    if given is None:
        given = claims.get("scp")
    if isinstance(given, str):
        return given.split()
    return [word for word in given if isinstance(word, str)] if isinstance(given, list) else []


def _client(claims: dict[str, Any]) -> str:
    """The client as its issuer calls it; where it does not, whom the token is about."""
    named = (claims.get(name) for name in ("client_id", "azp", "sub"))
    return next((value for value in named if isinstance(value, str) and value), "")
