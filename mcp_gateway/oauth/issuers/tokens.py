"""Access tokens that are JWTs (RFC 9068), verified with their issuer's keys."""

from __future__ import annotations

from typing import Any

from mcp_gateway.conf.issuers import TrustedIssuer
from mcp_gateway.oauth import signed
from mcp_gateway.oauth.issuers.keys import keys_of
from mcp_gateway.oauth.issuers.refusals import Untrusted


def claims_of(token: str, trusted: TrustedIssuer) -> dict[str, Any]:
    """What a token says that the issuer has signed; nothing of it is judged yet.

    Raises `Untrusted` for any other, `mcp_gateway.oauth.issuers.IssuerUnavailable` where the keys cannot be had.
    """
    header = signed.header(token)
    if header is None:
        raise Untrusted("The access token is no JWT in compact form.")
    if header.get("alg") not in trusted.algorithms:
        raise Untrusted("The access token is not signed with an algorithm that is accepted here.")
    if "typ" in header and not _is_one_of(header["typ"], trusted.types):
        # RFC 9068 section 4, RFC 8725 section 3.11: an ID token of the same issuer is no access token.
        raise Untrusted(f"The access token's typ is not {' or '.join(trusted.types)}.")
    if "crit" in header:
        raise Untrusted("The access token's header needs something that is not known here.")
    kid = header.get("kid")
    if kid is not None and not isinstance(kid, str):
        raise Untrusted("The access token's kid is no text.")
    keys = keys_of(trusted)
    claims = signed.claims(token, header, keys.find(kid), trusted.algorithms)
    if claims is None and kid is None:
        claims = signed.claims(token, header, keys.find_anew(), trusted.algorithms)
    if claims is None:
        raise Untrusted("The access token is not signed by the issuer that this endpoint trusts.")
    return claims


def _is_one_of(given: Any, types: tuple[str, ...]) -> bool:
    # RFC 7515 section 4.1.9: a media type, without “application/” or with it, and without case.
    if not isinstance(given, str):
        return False
    return given.lower().removeprefix("application/") in {name.lower().removeprefix("application/") for name in types}
