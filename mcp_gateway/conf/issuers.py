"""``ZOLINGA["ISSUERS"]``: endpoints whose tokens come from an authorization server elsewhere.

A dictionary by the slug of the endpoint (``""`` is the default one)::

    "ISSUERS": {
        "billing": {
            "ISSUER": "https://login.example.com/realms/shop",
            "JWKS_URI": "https://login.example.com/realms/shop/protocol/openid-connect/certs",
            "USER_CLAIM": "preferred_username",
            "USER_FIELD": "username",
        },
    }

=====================  ================================================================================
``ISSUER``             The issuer's identifier, exactly as its metadata and its tokens spell it. Needed.
``JWKS_URI``           Where its keys are: its access tokens are JWTs, and verified here. Either this or the next.
``INTROSPECTION_URI``  Where it says what a token is worth (RFC 7662), for tokens that only it can read.
``CLIENT_ID``          Whom this site is there, for the introspection; with ``CLIENT_SECRET``. Needed for it.
``ALGORITHMS``         What its JWTs may be signed with. Default: every asymmetric algorithm of RFC 7518 and RFC 8037;
                       ``none`` and shared secrets are never accepted.
``TYPES``              What the ``typ`` of its JWTs may be, where they have one. Default ``at+jwt`` (RFC 9068). For an
                       issuer that writes ``JWT``, as many do: ``["at+jwt", "JWT"]``.
``USER_CLAIM``         The claim that says who the user is, ``sub`` for example. With ``USER_FIELD``.
``USER_FIELD``         The unique field of the user model that it is looked for in. Nobody is ever created.
``WITHOUT_USER``       Whether a token that matches no user is good for its scopes alone. Default False: refused.
                       True and neither claim nor field: no token has a user.
``TIMEOUT_SECONDS``    How long the issuer may take to answer, all in all. Default 3.
``KEYS_SECONDS``       How often its keys are asked for anew, at most, because a token names one that is not known;
                       at most 300. Default 30.
``CACHE_SECONDS``      For how long what the introspection said is believed, and a token that it refused is refused
                       without asking, never beyond the token's end. Default 30; 0 asks each time.
=====================  ================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

#: What may sign for somebody (RFC 7518, RFC 8037): never ``none``, never a shared secret.
SIGNING_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")

#: Keys are held for so many seconds at least, so an unknown one must be asked for that often.
MOST_KEYS_SECONDS = 300

_NAME = 'ZOLINGA["ISSUERS"]'

_SLUG = re.compile(r"[-a-zA-Z0-9_]{0,50}")
_VISIBLE = re.compile(r"[!-\[\]_a-z~]+")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """One entry of the dictionary with its defaults."""

    issuer: str
    jwks_uri: str = ""
    introspection_uri: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    algorithms: tuple[str, ...] = SIGNING_ALGORITHMS
    types: tuple[str, ...] = ("at+jwt",)
    user_claim: str = ""
    user_field: str = ""
    without_user: bool = False
    timeout_seconds: int = 3
    keys_seconds: int = 30
    cache_seconds: int = 30


def read(value: Any) -> Mapping[str, TrustedIssuer]:
    """The issuers that a project's dictionary means, by the slug of their endpoint.

    Raises ``ImproperlyConfigured`` with the key's name and what to write; a secret is never repeated.
    """
    if not isinstance(value, dict):
        raise ImproperlyConfigured(f"{_NAME} must be a dictionary by the slug of an endpoint.")
    return {slug: _entry(slug, options) for slug, options in value.items()}


def _entry(slug: Any, options: Any) -> TrustedIssuer:
    if not isinstance(slug, str) or not _SLUG.fullmatch(slug):
        raise ImproperlyConfigured(f'{_NAME} holds {slug!r}: write the slug of an endpoint, "" for the default one.')
    where = f'{_NAME}["{slug}"]'
    if not isinstance(options, dict):
        raise ImproperlyConfigured(f'{where} must be a dictionary, for example {{"ISSUER": "https://…", …}}.')
    known = {entry.name.upper(): entry for entry in fields(TrustedIssuer)}
    chosen: dict[str, Any] = {"issuer": ""}
    for key, given in options.items():
        entry = known.get(key)
        if entry is None:
            raise ImproperlyConfigured(f"{where} holds {key!r}, which is none of {', '.join(known)}.")
        default = "" if entry.default is MISSING else entry.default
        chosen[entry.name] = _checked(f'{where}["{key}"]', key, given, default)
    trusted = TrustedIssuer(**chosen)
    _check_together(where, trusted)
    return trusted


def _check_together(where: str, trusted: TrustedIssuer) -> None:
    if not trusted.issuer:
        raise ImproperlyConfigured(f'{where} says no "ISSUER": write what its metadata call “issuer”.')
    if bool(trusted.jwks_uri) == bool(trusted.introspection_uri):
        raise ImproperlyConfigured(
            f'{where} must say either "JWKS_URI", for tokens that are JWTs, or "INTROSPECTION_URI", for others.'
        )
    if trusted.introspection_uri and not (trusted.client_id and trusted.client_secret):
        raise ImproperlyConfigured(f'{where} needs "CLIENT_ID" and "CLIENT_SECRET" for the introspection.')
    if bool(trusted.user_claim) != bool(trusted.user_field):
        raise ImproperlyConfigured(f'{where} needs both "USER_CLAIM" and "USER_FIELD", or neither.')
    if not trusted.user_claim and not trusted.without_user:
        raise ImproperlyConfigured(
            f'{where} says not who the users are: write "USER_CLAIM" and "USER_FIELD", or "WITHOUT_USER": True.'
        )


def _checked(where: str, key: str, value: Any, default: Any) -> Any:
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ImproperlyConfigured(f"{where} is {value!r}: write True or False.")
    elif isinstance(default, int):
        least = 0 if key == "CACHE_SECONDS" else 1
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST_KEYS_SECONDS:
            raise ImproperlyConfigured(f"{where} is {value!r}: write seconds, {least} to {MOST_KEYS_SECONDS}.")
    elif isinstance(default, tuple):
        if not isinstance(value, (list, tuple)) or not value or not all(isinstance(word, str) for word in value):
            raise ImproperlyConfigured(f"{where} must be a list of strings, with one at least.")
        value = tuple(value)
        if key == "ALGORITHMS" and (bad := [word for word in value if word not in SIGNING_ALGORITHMS]):
            raise ImproperlyConfigured(f"{where} holds {bad[0]!r}: only {', '.join(SIGNING_ALGORITHMS)} are safe.")
    elif not isinstance(value, str) or not value:
        shown = "empty or no text" if key == "CLIENT_SECRET" else repr(value)
        raise ImproperlyConfigured(f"{where} is {shown}: a text is needed.")
    elif key == "ISSUER" or key.endswith("_URI"):
        _check_url(where, value)
    return value


def _check_url(where: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        _port = parts.port  # raises ValueError for what is no port
    except ValueError:
        parts = urlsplit("")
    secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not secure or not parts.hostname or "@" in parts.netloc or "#" in url or not _VISIBLE.fullmatch(url):
        # Whoever could answer in the issuer's place would decide who may call.
        raise ImproperlyConfigured(
            f"{where} is {url!r}: write an https URL, with neither user information nor a fragment "
            "(http only on this machine itself)."
        )
