"""Addresses of sites as settings have them."""

from __future__ import annotations

from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ImproperlyConfigured

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

# "https://…" and "https://<host>" are lines to paste whose blank nobody has filled in.
_BLANKS = frozenset("…<>{}* ")


def checked_url(url: Any, where: str) -> str:
    """A site's address without slashes at its end.

    Parameters: what is written, and the name of the setting it is written in. Raises ``ImproperlyConfigured`` with
    that name for an address that is none.
    """
    parts = split(url)
    if (
        parts is None
        or parts.scheme not in ("http", "https")
        or parts.query
        or parts.fragment
        or not _BLANKS.isdisjoint(parts.hostname or "")
    ):
        raise ImproperlyConfigured(
            f'{where} is {url!r}: write the address clients use, for example "https://mcp.example.com".'
        )
    return str(url).rstrip("/")


def split(url: Any) -> SplitResult | None:
    """The parts of an absolute URL; None where it has no scheme or host, a port that is none, or a password."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        if parts is None or not parts.scheme or not parts.hostname or "@" in parts.netloc:
            return None
        _port = parts.port  # raises ValueError for what is no port
    except ValueError:
        return None
    return parts


def origin_of(scheme: str, host: str, port: int | None) -> str:
    """The origin (RFC 6454), without the port where it is the scheme's own."""
    scheme, host = scheme.lower(), host.lower()
    if ":" in host:
        host = f"[{host}]"
    if port is None or (scheme, port) in (("http", 80), ("https", 443)):
        return f"{scheme}://{host}"
    return f"{scheme}://{host}:{port}"
