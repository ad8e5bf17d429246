"""What a client says of itself, at registration (RFC 7591 section 2) or in its metadata document, judged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwcrypto import jwk
from jwcrypto.common import JWException

from mcp_gateway.models import Client
from mcp_gateway.oauth import redirects

AuthMethod = Client.AuthMethod

#: VS Code alone names six.
MAX_REDIRECT_URIS = 20
MAX_NAME = 255
_MAX_KEYS = 20
_LEAST_RSA_BITS = 2048
_MAX_TEXT = 2000

# Members that are kept and told back as they came, if they are what they should be.
_TEXTS = ("client_uri", "logo_uri", "tos_uri", "policy_uri", "scope", "software_id", "software_version")


class InvalidMetadata(Exception):
    """The metadata cannot be registered (RFC 7591 section 3.2.2); the text may be shown to the client."""

    def __init__(self, description: str, error: str = "invalid_client_metadata") -> None:
        super().__init__(description)
        self.error = error


@dataclass(frozen=True, slots=True)
class ClientMetadata:
    """What is registered; ``extras`` are further members to tell back. ``jwks`` is JSON text."""

    redirect_uris: tuple[str, ...]
    name: str
    auth_method: Client.AuthMethod
    jwks_uri: str
    jwks: str
    extras: Mapping[str, Any]

    @property
    def is_public(self) -> bool:
        """Whether the client proves nothing at the token endpoint."""
        return self.auth_method == AuthMethod.NONE

    def as_registered(self) -> dict[str, Any]:
        """Its members as this server registered them, which may be fewer than were sent (RFC 7591 section 3.2.1)."""
        keys: dict[str, Any] = {}
        if self.jwks_uri:
            keys["jwks_uri"] = self.jwks_uri
        if self.jwks:
            keys["jwks"] = json.loads(self.jwks)
        return {
            "redirect_uris": list(self.redirect_uris),
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": self.auth_method.value,
            **({"client_name": self.name} if self.name else {}),
            **self.extras,
            **keys,
        }


def read(document: Mapping[str, Any], *, methods: Sequence[Client.AuthMethod], default: str) -> ClientMetadata:
    """Judge metadata.

    Parameters: the JSON object; the ``methods`` of client authentication to be had; the ``default`` of
    ``token_endpoint_auth_method``. Grant types that are not served here are left out, as RFC 7591 section 2 allows,
    as long as ``authorization_code`` is among those that were named. Raises `InvalidMetadata`.
    """
    grants = _words(document, "grant_types", ["authorization_code"])
    if "authorization_code" not in grants:
        raise InvalidMetadata("grant_types must hold authorization_code: a client that registers itself gets no other.")
    if "code" not in _words(document, "response_types", ["code"]):
        raise InvalidMetadata("response_types must hold code.")
    auth_method = _auth_method(document, methods, default)
    jwks_uri, jwks = _keys(document)
    if auth_method == AuthMethod.PRIVATE_KEY and not (jwks_uri or jwks):
        raise InvalidMetadata("private_key_jwt needs the client's public keys, as jwks_uri or jwks.")
    return ClientMetadata(_redirect_uris(document), _name(document), auth_method, jwks_uri, jwks, _extras(document))


def _words(document: Mapping[str, Any], name: str, default: list[str]) -> list[str]:
    """A list of strings; the default where it is missing or null."""
    value = document.get(name)
    if value is None:
        return default
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise InvalidMetadata(f"{name} must be an array of strings.")
    return value


def _redirect_uris(document: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        uris = _words(document, "redirect_uris", [])
    except InvalidMetadata as error:
        raise InvalidMetadata(str(error), "invalid_redirect_uri") from None
    if not uris:
        raise InvalidMetadata("redirect_uris must name at least one redirect URI.", "invalid_redirect_uri")
    if len(uris) > MAX_REDIRECT_URIS:
        raise InvalidMetadata(f"redirect_uris holds more than {MAX_REDIRECT_URIS}.", "invalid_redirect_uri")
    for uri in uris:
        problem = redirects.problem(uri)
        if problem:
            raise InvalidMetadata(f"The redirect URI {uri[:200]!r} {problem}.", "invalid_redirect_uri")
    return tuple(dict.fromkeys(uris))


def _name(document: Mapping[str, Any]) -> str:
    value = document.get("client_name")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidMetadata("client_name must be a string.")
    # People read it before they agree: nothing in it may hide, or turn round what stands beside it.
    name = " ".join("".join(letter if letter.isprintable() else " " for letter in value).split())
    if len(name) > MAX_NAME:
        raise InvalidMetadata(f"client_name is longer than {MAX_NAME} characters.")
    return name


def _auth_method(document: Mapping[str, Any], methods: Sequence[Client.AuthMethod], default: str) -> Client.AuthMethod:
    """``none`` where the client offers it, else what it chose, else the first it offers that is to be had."""
    chosen = document.get("token_endpoint_auth_method")
    if chosen is None:
        chosen = default
    if not isinstance(chosen, str):
        raise InvalidMetadata("token_endpoint_auth_method must be a string.")
    offered = [chosen, *_words(document, "token_endpoint_auth_methods_supported", [])]
    wanted = ["none", *offered] if "none" in offered else offered
    for word in wanted:
        if word in methods:
            return AuthMethod(word)
    raise InvalidMetadata(
        f"token_endpoint_auth_method is {chosen[:100]!r}; to be had are {', '.join(sorted(methods))}."
    )


def _keys(document: Mapping[str, Any]) -> tuple[str, str]:
    """``jwks_uri`` and ``jwks``; RFC 7591 section 2 forbids both at once."""
    uri, keys = document.get("jwks_uri"), document.get("jwks")
    if uri is not None and keys is not None:
        raise InvalidMetadata("jwks_uri and jwks must not both be given.")
    if uri is not None and (not isinstance(uri, str) or not uri.startswith("https://") or len(uri) > _MAX_TEXT):
        raise InvalidMetadata("jwks_uri must be an https URL, which begins with https:// in small letters.")
    return uri or "", checked_keys(keys) if keys is not None else ""


def checked_keys(value: Any) -> str:
    """A JSON Web Key Set of public keys as JSON text; raises `InvalidMetadata` for anything else."""
    keys = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(keys, list) or not keys or len(keys) > _MAX_KEYS:
        raise InvalidMetadata(f"jwks must be an object whose keys is a list of 1 to {_MAX_KEYS} keys.")
    for key in keys:
        _check_key(key)
    return json.dumps({"keys": keys})


def _check_key(key: Any) -> None:
    """Raise `InvalidMetadata` for what is no public key that a signature could be checked with."""
    try:
        parsed = jwk.JWK(**key) if isinstance(key, dict) else None
    except (JWException, ValueError, TypeError):
        parsed = None
    if parsed is None:
        raise InvalidMetadata("jwks holds a key that cannot be read (RFC 7517).")
    if parsed.has_private or parsed.is_symmetric:
        raise InvalidMetadata("jwks must hold public keys only.")
    try:
        # Only now the numbers are looked at: is the point on its curve, has the modulus a use?
        public = load_pem_public_key(parsed.export_to_pem())
    except (JWException, UnsupportedAlgorithm, ValueError, TypeError) as error:
        raise InvalidMetadata(f"jwks holds a key whose numbers are those of no key: {error}") from None
    if isinstance(public, RSAPublicKey) and public.key_size < _LEAST_RSA_BITS:
        raise InvalidMetadata(f"jwks holds an RSA key of less than {_LEAST_RSA_BITS} bits (RFC 7518 section 3.3).")


def _extras(document: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name in _TEXTS:
        value = document.get(name)
        if isinstance(value, str) and 0 < len(value) <= _MAX_TEXT and value.isprintable():
            if name.endswith("_uri") and not value.lower().startswith(("https://", "http://")):
                continue
            kept[name] = value
    contacts = document.get("contacts")
    if isinstance(contacts, list) and contacts and all(isinstance(entry, str) for entry in contacts):
        kept["contacts"] = contacts[:10]
    if document.get("application_type") in ("native", "web"):
        kept["application_type"] = document["application_type"]
    return kept
