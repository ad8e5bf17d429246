"""The authorization server of a project: where it is, what it needs, and what clients are told of it.

All of it stays silent until a manifest's right names a scope: a project with open tools alone needs none of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern, URLResolver, get_resolver, get_script_prefix, resolve

from mcp_gateway.checks.project import path_of
from mcp_gateway.conf import LOOPBACK_HOSTS, PROVIDER_OPTIONS, gateway_settings
from mcp_gateway.manifest.discovery import find_modules
from mcp_gateway.rights import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig

OAUTH_LINE = 'path("oauth/", include("mcp_gateway.oauth.urls"))'

WELL_KNOWN_LINE = 'path("", include("mcp_gateway.urls.well_known"))'

PROVIDER_LINE = 'OAUTH2_PROVIDER = oauth2_provider(public_url="https://…")'

# Longer manifests are refused at import anyway.
_LARGEST_MANIFEST = 16 * 1024 * 1024

_CONSEQUENCES = {
    "SCOPES_BACKEND_CLASS": (
        "mcp_gateway.W011",
        "the toolkit's own pages and token lists do not know the scopes that administrators define",
    ),
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": (
        "mcp_gateway.W012",
        "access and refresh tokens stand in the database in plain text, and whoever reads a backup can use them",
    ),
    "REFRESH_TOKEN_REUSE_PROTECTION": (
        "mcp_gateway.W013",
        "a stolen refresh token goes on working after its owner has used it",
    ),
    "ALLOW_LOCALHOST_LOOPBACK": (
        "mcp_gateway.W014",
        "desktop clients that listen at localhost on a port of the moment are refused as having a wrong redirect URI",
    ),
}


@register(Tags.urls)
def check_oauth_urls(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """The authorization server is there once, as ours, and clients can find it."""
    if not getattr(settings, "ROOT_URLCONF", None) or not apps.is_installed("oauth2_provider"):
        return []
    servers = list(_authorization_servers(get_resolver()))
    if len(servers) > 1:
        places = " and ".join(f"“{server.prefix}”" for server in servers)
        return [
            Error(
                f"The URLs of django-oauth-toolkit are included {len(servers)} times, at {places}: reverse() finds "
                "one of them, and tokens for the MCP endpoint can be had at the other without the gateway's rules.",
                hint=f"Keep only {OAUTH_LINE}; it holds every URL of oauth2_provider.urls.",
                id="mcp_gateway.E003",
            )
        ]
    if not names_scopes():
        return []
    messages: list[CheckMessage] = []
    # Where tokens come from elsewhere, a site may do without a server of its own.
    if (not servers and not _trusts_others()) or (servers and not servers[0].is_ours):
        found = "oauth2_provider.urls is" if servers else "no authorization server is"
        messages.append(
            Warning(
                f"A right names a scope, but {found} included: no client can get a token for the MCP endpoint.",
                hint=f"Add to urlpatterns, instead of oauth2_provider.urls: {OAUTH_LINE}",
                id="mcp_gateway.W003",
            )
        )
    where = path_of("mcp_gateway_well_known:protected-resource")
    if where != f"{get_script_prefix()}.well-known/oauth-protected-resource":
        found = "are not served" if where is None else f"are at {where}, not at the site's root"
        messages.append(
            Warning(
                f"A right names a scope, but OAuth's metadata documents {found}: clients do not find where to log in.",
                hint=f"Add to the root urlpatterns, outside i18n_patterns: {WELL_KNOWN_LINE}",
                id="mcp_gateway.W004",
            )
        )
    if servers and servers[0].is_ours:
        messages += _check_login_url()
    return messages


@register(Tags.security)
def check_oauth_settings(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """The toolkit's options that the gateway needs and that only a whole site can have."""
    if not apps.is_installed("oauth2_provider") or not names_scopes():
        return []
    provider = getattr(settings, "OAUTH2_PROVIDER", None) or {}
    own = getattr(settings, "ZOLINGA", None)
    messages: list[CheckMessage] = [
        Warning(
            f'OAUTH2_PROVIDER["{name}"] is not set: {_CONSEQUENCES[name][1]}.',
            hint=f"from mcp_gateway.conf import oauth2_provider; {PROVIDER_LINE}",
            id=_CONSEQUENCES[name][0],
        )
        for name in PROVIDER_OPTIONS
        if name not in provider
    ]
    here = own.get("PUBLIC_URL") if isinstance(own, dict) else None
    there = provider.get("PUBLIC_URL")
    if here and there and str(here).rstrip("/") != there:
        messages.append(
            Error(
                f'ZOLINGA["PUBLIC_URL"] is {here} and oauth2_provider() was given {there}: the first one counts.',
                hint="Give both the address that clients use, or leave one out.",
                id="mcp_gateway.E004",
            )
        )
    return messages


@register(Tags.security, deploy=True)
def check_public_url(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """What clients are told is where they come, and over TLS (OAuth 2.1 section 1.5)."""
    if not names_scopes():
        return []
    try:
        url, given = gateway_settings.public_url, gateway_settings.has_public_url
    except ImproperlyConfigured:
        return []
    if not given:
        return [
            Warning(
                f"The site does not know its address, and tells clients {url}: tokens are bound to that.",
                hint='Set ZOLINGA["PUBLIC_URL"] = "https://…" to the address clients use.',
                id="mcp_gateway.W007",
            )
        ]
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK_HOSTS:
        return [
            Warning(
                f"The site's address is {url}: tokens travel unencrypted, and clients refuse to log in.",
                hint='Serve it over TLS and set ZOLINGA["PUBLIC_URL"] = "https://…".',
                id="mcp_gateway.W008",
            )
        ]
    return []


@register(Tags.urls)
def check_prefix(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """The public address is the site's; with the endpoint's path in it clients are told an address that is none."""
    try:
        url = gateway_settings.public_url
    except ImproperlyConfigured:
        return []
    # A project that only imports and dispatches may have no URLs at all.
    endpoint = path_of("mcp_gateway:endpoint") if hasattr(settings, "ROOT_URLCONF") else None
    below = "/" + endpoint.removeprefix(get_script_prefix()) if endpoint else ""
    if not below or not urlsplit(url).path.endswith(below):
        return []
    return [
        Warning(
            f"The site's address is {url}, so clients are told that its MCP endpoint is at {url}{below}.",
            hint=f"The public URL ends before the path of the endpoint: {url.removesuffix(below)}. Silence this where "
            f"a proxy does take {below} off before it hands requests on.",
            id="mcp_gateway.W021",
        )
    ]


@dataclass(frozen=True, slots=True)
class _Server:
    prefix: str
    is_ours: bool


def _authorization_servers(resolver: URLResolver, prefix: str = "/") -> Iterator[_Server]:
    """Every include with the toolkit's app name, and whether its authorize view is ours."""
    # Not before the toolkit is known to be installed: its models cannot be imported without.
    from mcp_gateway.oauth.views import AuthorizationView

    for entry in resolver.url_patterns:
        if not isinstance(entry, URLResolver):
            continue
        here = f"{prefix}{entry.pattern}"
        if entry.app_name == "oauth2_provider":
            views = [
                getattr(pattern.callback, "view_class", None)
                for pattern in entry.url_patterns
                if isinstance(pattern, URLPattern) and pattern.name == "authorize"
            ]
            yield _Server(here, any(isinstance(view, type) and issubclass(view, AuthorizationView) for view in views))
        else:
            yield from _authorization_servers(entry, here)


def _check_login_url() -> list[CheckMessage]:
    from mcp_gateway.oauth.login import login_url

    url = login_url()
    if url == path_of("oauth2_provider:login") and settings.LOGIN_URL not in (url, "oauth2_provider:login"):
        return [
            Warning(
                f"LOGIN_URL is {settings.LOGIN_URL!r}, which leads nowhere: people who allow a client something "
                f"log in at {url}, the gateway's own page.",
                hint='Point LOGIN_URL at your login page, or say LOGIN_URL = "oauth2_provider:login".',
                id="mcp_gateway.W005",
            )
        ]
    parts = urlsplit(url)
    if not parts.netloc:
        match = resolve("/" + parts.path.removeprefix(get_script_prefix()).lstrip("/"))
        if match.app_name == "admin":
            return [
                Warning(
                    "LOGIN_URL is the admin's login page, which lets only staff in: others cannot allow a client "
                    "anything.",
                    hint='Point LOGIN_URL at your login page, or say LOGIN_URL = "oauth2_provider:login".',
                    id="mcp_gateway.W006",
                )
            ]
    return []


def _trusts_others() -> bool:
    try:
        return bool(gateway_settings.issuers)
    except ImproperlyConfigured:
        return False


def names_scopes() -> bool:
    """Whether the right of any module's listener names a scope, as the manifests on disk say."""
    try:
        modules = find_modules()[0]
    except ImproperlyConfigured:
        return False
    return any(parse(right).names_scopes for module in modules for right in _rights(module.manifest))


def _rights(manifest: Any) -> Iterator[str]:
    try:
        # A device or a pipe has no size, and no end.
        if not manifest.is_file() or manifest.stat().st_size > _LARGEST_MANIFEST:
            return
        content = json.loads(manifest.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except (OSError, ValueError, RecursionError):
        # An import says what is wrong with it.
        return
    entries = content.get("listen") if isinstance(content, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        right = entry.get("right") if isinstance(entry, dict) else None
        if isinstance(right, str):
            yield right
