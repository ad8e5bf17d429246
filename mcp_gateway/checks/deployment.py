"""System checks of what stands between clients and a deployed site: names, TLS, proxies, workers.

``manage.py check --deploy`` runs them, and ``manage.py mcp_doctor`` tells them beside what it sees from outside. Like
the others about OAuth they stay silent until a right names a scope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Info, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.http.request import validate_host

from mcp_gateway.checks.oauth import names_scopes
from mcp_gateway.conf import gateway_settings
from mcp_gateway.doctor import proxy
from mcp_gateway.oauth.audience import base_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig

_CACHED_SESSIONS = "django.contrib.sessions.backends.cache"
_OF_ONE_PROCESS = ("django.core.cache.backends.locmem.LocMemCache", "django.core.cache.backends.dummy.DummyCache")


@register(Tags.security, deploy=True)
def check_way_in(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """The site answers to its public name, knows that it is behind TLS, and what a path prefix asks of the proxy."""
    if not names_scopes():
        return []
    try:
        if not gateway_settings.has_public_url:
            return []
        url, origin = gateway_settings.public_url, gateway_settings.origin
    except ImproperlyConfigured:
        return []
    messages: list[CheckMessage] = []
    host = urlsplit(url).hostname or ""
    shown = f"[{host}]" if ":" in host else host
    if not settings.DEBUG and not validate_host(shown, settings.ALLOWED_HOSTS):
        messages.append(
            Warning(
                f"Clients come to {origin}, and ALLOWED_HOSTS does not hold {shown!r}: each of them gets 400.",
                hint=f"ALLOWED_HOSTS += [{shown!r}]",
                id="mcp_gateway.W015",
            )
        )
    if (
        origin.startswith("https:")
        and not settings.SECURE_PROXY_SSL_HEADER
        and origin not in settings.CSRF_TRUSTED_ORIGINS
    ):
        messages.append(
            Info(
                "If TLS ends at a proxy, Django takes each request for plain http: the forms of login and consent are "
                "refused as forged.",
                hint='SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https"), where the proxy sets this header; '
                f"or CSRF_TRUSTED_ORIGINS = [{origin!r}].",
                id="mcp_gateway.I002",
            )
        )
    rules = proxy.rules(base_url())
    if rules:
        messages.append(
            Info(
                f"The site lives at {base_url()}, below the root of {origin}, where clients look for the metadata "
                "documents too.",
                hint=f"The proxy must bring the root's documents from the site.\n{rules}",
                id="mcp_gateway.I003",
            )
        )
    return messages


@register(Tags.caches, deploy=True)
def check_shared_sessions(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Whoever logs in at one worker is logged in at all of them."""
    if settings.SESSION_ENGINE != _CACHED_SESSIONS or not names_scopes():
        return []
    backend = settings.CACHES.get(settings.SESSION_CACHE_ALIAS, {}).get("BACKEND", "")
    if backend not in _OF_ONE_PROCESS:
        return []
    return [
        Warning(
            f"Sessions live in the cache “{settings.SESSION_CACHE_ALIAS}”, which each worker has for itself: people "
            "who log in to allow a client something are asked to log in again and again.",
            hint='SESSION_ENGINE = "django.contrib.sessions.backends.db", or a cache that all workers share (Redis).',
            id="mcp_gateway.W016",
        )
    ]
