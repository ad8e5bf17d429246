"""The resources that access tokens are bound to: one canonical URL per endpoint (RFC 8707, RFC 9728).

All URLs start with ``PUBLIC_URL``; where the project includes ``mcp_gateway.urls`` decides the path. ``/mcp`` and
``/mcp/`` are one audience, whose canonical form has no trailing slash.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.core.signals import setting_changed
from django.urls import get_script_prefix, get_urlconf, reverse
from django.utils.translation import get_language

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import Endpoint

_DEFAULT_PORTS = {"http": 80, "https": 443}

# Longer ones are nobody's endpoint, and are not worth remembering.
MAX_URL_LENGTH = 2000


def base_url() -> str:
    """The public URL of the site's root, with its path prefix (``https://host/prefix``), without a trailing slash.

    It is also the issuer of the authorization server (RFC 8414 section 2).
    """
    public = gateway_settings.public_url
    if urlsplit(public).path:
        return public
    return gateway_settings.origin + get_script_prefix().rstrip("/")


def public(path: str) -> str:
    """The absolute URL of what ``reverse()`` gave, whatever prefix the process believes it runs under."""
    return f"{base_url()}/{path.removeprefix(get_script_prefix()).lstrip('/')}"


def resource_url(slug: str, *, trailing_slash: bool = False) -> str:
    """The URL of an endpoint, which is the ``resource`` its tokens are bound to.

    Parameters: the endpoint's slug (empty for the default one), and whether to give the spelling with a slash at
    its end. Raises ``NoReverseMatch`` where the project does not include ``mcp_gateway.urls``.
    """
    return _resource_url(slug, trailing_slash, *surroundings())


def surroundings() -> tuple[str | None, ...]:
    """What an endpoint's URL hangs on beside its slug and the settings: prefix, URLs and language of the request."""
    urlconf = get_urlconf() or settings.ROOT_URLCONF
    return get_script_prefix(), urlconf, get_language() if is_language_prefix_patterns_used(urlconf)[0] else None


@lru_cache(maxsize=512)
def _resource_url(slug: str, trailing_slash: bool, *surroundings: str | None) -> str:
    name = "mcp_gateway:endpoint" + ("-slug" if slug else "") + ("-slash" if trailing_slash else "")
    return public(reverse(name, kwargs={"slug": slug} if slug else None))


@lru_cache(maxsize=1024)
def canonicalise(url: str) -> str | None:
    """One spelling for all that mean the same resource, or None for what cannot be a resource (RFC 8707 section 2).

    Scheme and host are in lower case, a default port and slashes at the end are left out. A fragment, user
    information, white space or a missing scheme or host make a URL no resource. Path and query stay as they are.
    """
    if len(url) > MAX_URL_LENGTH or "#" in url or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname
    if not parts.scheme or not host or "@" in parts.netloc:
        return None
    scheme = parts.scheme.lower()
    host = f"[{host}]" if ":" in host else host
    authority = host if port is None or port == _DEFAULT_PORTS.get(scheme) else f"{host}:{port}"
    query = f"?{parts.query}" if "?" in url else ""
    return f"{scheme}://{authority}{parts.path.rstrip('/')}{query}"


def canonical_url(slug: str) -> str:
    """The one spelling of an endpoint's URL that tokens are stored with and compared by."""
    url = resource_url(slug)
    return canonicalise(url) or url


def is_for(resources: Iterable[object], slug: str) -> bool:
    """Whether a token bound to these resources is good at an endpoint: an exact match of canonical forms."""
    wanted = canonical_url(slug)
    return any(isinstance(entry, str) and canonicalise(entry) == wanted for entry in resources)


def resolve(resource: str, snapshot: registry.Snapshot | None = None) -> str | None:
    """The slug of the enabled endpoint that a ``resource`` parameter means, or None for any other URL."""
    wanted = canonicalise(resource)
    if wanted is None:
        return None
    endpoints = (snapshot or registry.snapshot()).endpoints
    return next((slug for slug in endpoints if canonical_url(slug) == wanted), None)


def issued_here(snapshot: registry.Snapshot) -> list[str]:
    """The slugs of the enabled endpoints whose tokens this site issues itself, sorted."""
    return sorted(slug for slug in snapshot.endpoints if slug not in gateway_settings.issuers)


def is_switched_off(resources: Iterable[object]) -> bool:
    """Whether one of these resources is an endpoint of this site that an administrator has disabled."""
    known = {canonicalise(entry) for entry in resources if isinstance(entry, str)}
    if not known:
        return False
    slugs = Endpoint.objects.filter(enabled=False).values_list("slug", flat=True)
    return any(canonical_url(slug) in known for slug in slugs)


def _on_setting_changed(*, setting: str, **kwargs: object) -> None:
    if setting in ("ZOLINGA", "OAUTH2_PROVIDER", "ROOT_URLCONF", "FORCE_SCRIPT_NAME"):
        _resource_url.cache_clear()


setting_changed.connect(_on_setting_changed, dispatch_uid="mcp_gateway.oauth.audience")
