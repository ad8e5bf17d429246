"""Steps at an endpoint that trusts another issuer: nobody logs in here, and that one helps to judge every token."""

from __future__ import annotations

from urllib.parse import urlsplit

from mcp_gateway.conf import gateway_settings
from mcp_gateway.conf.issuers import TrustedIssuer
from mcp_gateway.doctor.report import Level
from mcp_gateway.doctor.visit import Visit
from mcp_gateway.oauth import signed
from mcp_gateway.oauth.fetch import FetchError
from mcp_gateway.oauth.issuers import IssuerUnavailable, Untrusted, introspection
from mcp_gateway.oauth.issuers.asking import ask

_CLIENT = "gets 503 for every call, however good its token is."


def is_elsewhere(visit: Visit) -> bool:
    """Whether the tokens of the endpoint come from another site."""
    return trusted_at(visit) is not None or urlsplit(visit.issuer).netloc != urlsplit(visit.url).netloc


def trusted_at(visit: Visit) -> TrustedIssuer | None:
    """The issuer that this site's endpoint trusts instead of the site's own authorization server."""
    return None if visit.slug is None else gateway_settings.issuers.get(visit.slug)


def issuer(visit: Visit) -> None:
    """Whether the site can judge that issuer's tokens: by its keys, or by asking it about one that nobody issued."""
    trusted = trusted_at(visit)
    if trusted is None:
        visit.say("issuer", Level.SKIPPED, f"{visit.issuer} is another site's: nothing is registered, nobody logs in.")
        return
    (_keys if trusted.jwks_uri else _introspection)(visit, trusted)
    visit.say(
        "issuer",
        Level.NOTE,
        f"Clients register and people log in at {trusted.issuer}. {_users(trusted)} Its tokens must name {visit.url} "
        "as their audience, and scopes by the names they have here.",
    )


def _users(trusted: TrustedIssuer) -> str:
    if not trusted.user_claim:
        return "Its tokens are nobody's here: scopes count, users do not."
    others = "others are nobody" if trusted.without_user else "others are refused"
    return f"Users are found by {trusted.user_claim} in the field {trusted.user_field}; {others}."


def _keys(visit: Visit, trusted: TrustedIssuer) -> None:
    try:
        keys = signed.keys(ask(trusted, trusted.jwks_uri, max_bytes=signed.MAX_KEYS_BYTES).document)
    except FetchError as error:
        visit.say(
            "issuer keys",
            Level.FAULT,
            f"The keys of {trusted.issuer} cannot be fetched from {trusted.jwks_uri}: {error}",
            _CLIENT,
            "Let the server reach this address, without redirects, or mend JWKS_URI in "
            f'ZOLINGA["ISSUERS"]["{visit.slug}"].',
        )
        return
    usable = [key for key in keys if key.get("use", "sig") == "sig" and key.get("kty") in ("RSA", "EC", "OKP")]
    named = visit.server.get("jwks_uri")
    if not usable or (named and named != trusted.jwks_uri):
        saw = f"{trusted.jwks_uri} holds no key that signs" if not usable else f"The issuer's metadata name {named}"
        visit.say(
            "issuer keys",
            Level.FAULT if not usable else Level.WARNING,
            f"{saw}; JWKS_URI is {trusted.jwks_uri}.",
            "is told that its tokens are not signed by a known key, at once or when the issuer changes its keys.",
            f'Write the address that the metadata name as JWKS_URI in ZOLINGA["ISSUERS"]["{visit.slug}"].',
        )
        return
    visit.say("issuer keys", Level.OK, f"{trusted.jwks_uri} answers with {len(usable)} keys that sign.")


def _introspection(visit: Visit, trusted: TrustedIssuer) -> None:
    try:
        introspection.claims_of("mcp-doctor-no-such-token", trusted)
    except Untrusted:
        visit.say(
            "introspection",
            Level.OK,
            f"{trusted.introspection_uri} knows this site, and says of an unknown token that it is none.",
        )
        return
    except IssuerUnavailable:
        visit.say(
            "introspection",
            Level.FAULT,
            f"{trusted.introspection_uri} does not say what a token is worth; the log has its answer.",
            _CLIENT,
            f'Let the server reach it, and look at CLIENT_ID and CLIENT_SECRET in ZOLINGA["ISSUERS"]["{visit.slug}"]: '
            "401 means that they are not those of the site there.",
        )
        return
    visit.say(
        "introspection",
        Level.FAULT,
        f"{trusted.introspection_uri} calls a token active that nobody issued.",
        "that makes its token up is let in.",
        "Mend the issuer before anybody uses the endpoint.",
    )
