"""The documents clients find us by: protected resource (RFC 9728) and authorization server (RFC 8414)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.core.signals import setting_changed
from django.urls import NoReverseMatch, get_script_prefix, get_urlconf, reverse
from django.utils.translation import get_language

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.conf.issuers import SIGNING_ALGORITHMS
from mcp_gateway.conf.registration import OFF
from mcp_gateway.oauth.audience import base_url, public, resource_url

#: The extension by which a server says that machines get tokens here without a person.
CLIENT_CREDENTIALS = "io.modelcontextprotocol/oauth-client-credentials"

PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource"


def issuer() -> str:
    """The authorization server's identifier: exactly the public URL (RFC 8414 section 2, RFC 9207 section 2)."""
    return base_url()


def protected_resource_metadata_url(slug: str, *, trailing_slash: bool) -> str:
    """Where the document of an endpoint is: the well-known path, then the endpoint's (RFC 9728 section 3.1)."""
    return _metadata_url(
        slug, trailing_slash, get_script_prefix(), get_urlconf() or settings.ROOT_URLCONF, get_language()
    )


@lru_cache(maxsize=512)
def _metadata_url(slug: str, trailing_slash: bool, *surroundings: str | None) -> str:
    suffix = resource_url(slug, trailing_slash=trailing_slash).removeprefix(base_url()).removeprefix("/")
    try:
        path = reverse("mcp_gateway_well_known:protected-resource-of", kwargs={"suffix": suffix})
    except NoReverseMatch:
        # Where the client will look, even if a system check has to say that nothing is there yet.
        path = f"{PROTECTED_RESOURCE}/{quote(suffix)}"
    return public(path)


def endpoint_at(suffix: str, snapshot: registry.Snapshot) -> tuple[str, bool] | None:
    """The endpoint whose path follows a well-known path, and whether it was spelt with a trailing slash.

    The suffix counts from the origin (RFC 9728 section 3.1), or from the site's root where that has a path prefix.
    None where no enabled endpoint is there.
    """
    for slug in snapshot.endpoints:
        for trailing_slash in (False, True):
            url = resource_url(slug, trailing_slash=trailing_slash)
            if suffix in (url.removeprefix(base_url()).removeprefix("/"), urlsplit(url).path.removeprefix("/")):
                return slug, trailing_slash
    return None


def protected_resource(slug: str, *, trailing_slash: bool, snapshot: registry.Snapshot) -> dict[str, Any]:
    """RFC 9728 section 2: what an endpoint is, who issues its tokens, which scopes it knows.

    ``resource`` is exactly the spelling asked for, because clients compare it with what the user typed.
    """
    endpoint = snapshot.endpoints[slug]
    elsewhere = gateway_settings.issuers.get(slug)
    return {
        "resource": resource_url(slug, trailing_slash=trailing_slash),
        "authorization_servers": [issuer() if elsewhere is None else elsewhere.issuer],
        "scopes_supported": advertised_scopes(snapshot),
        "bearer_methods_supported": ["header"],
        "resource_name": endpoint.title,
    }


def authorization_server(snapshot: registry.Snapshot) -> dict[str, Any]:
    """RFC 8414 section 2: where to go, and only what is really served for our endpoints.

    Raises ``NoReverseMatch`` where the project includes no authorization server.
    """
    authentication = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
    algorithms = list(SIGNING_ALGORITHMS)
    return {
        "issuer": issuer(),
        **_registration(),
        "authorization_endpoint": public(reverse("oauth2_provider:authorize")),
        "token_endpoint": public(reverse("oauth2_provider:token")),
        "revocation_endpoint": public(reverse("oauth2_provider:revoke-token")),
        "scopes_supported": advertised_scopes(snapshot),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "token_endpoint_auth_methods_supported": authentication,
        "token_endpoint_auth_signing_alg_values_supported": algorithms,
        "revocation_endpoint_auth_methods_supported": authentication,
        "revocation_endpoint_auth_signing_alg_values_supported": algorithms,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


def _registration() -> dict[str, Any]:
    """How clients make themselves known here: RFC 7591 section 3, and section 5 of the draft about documents."""
    policy = gateway_settings.registration
    ways: dict[str, Any] = {}
    if policy.dynamic != OFF:
        ways["registration_endpoint"] = public(reverse("oauth2_provider:dcr-register"))
    if policy.documents != OFF:
        ways["client_id_metadata_document_supported"] = True
    return ways


def issues_tokens(slug: str) -> bool:
    """Whether the project includes an authorization server, and it is the one that an endpoint trusts."""
    if slug in gateway_settings.issuers:
        return False
    try:
        reverse("oauth2_provider:token")
    except NoReverseMatch:
        return False
    return True


def advertised_scopes(snapshot: registry.Snapshot) -> list[str]:
    """The enabled scopes that an administrator lets clients see, sorted."""
    return sorted(name for name, scope in snapshot.scopes.items() if scope.advertised)


def _on_setting_changed(*, setting: str, **kwargs: object) -> None:
    if setting in ("ZOLINGA", "OAUTH2_PROVIDER", "ROOT_URLCONF", "FORCE_SCRIPT_NAME"):
        _metadata_url.cache_clear()


setting_changed.connect(_on_setting_changed, dispatch_uid="mcp_gateway.oauth.metadata")
