"""Which redirect URIs a client may name for itself."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from mcp_gateway.conf import LOOPBACK_HOSTS, gateway_settings

MAX_LENGTH = 2000

# RFC 3986 section 2, and no backslash or quote: browsers read "\" as "/", and a redirect would go elsewhere.
_VISIBLE = re.compile(r"[!#-&(-;=?-\[\]_a-z~]+")


def problem(uri: str) -> str:
    """Why a redirect URI is not safe to register, as the end of a sentence; empty for a safe one.

    Safe are https, http on a loopback address (RFC 8252 section 7.3; MCP specification, authorization,
    communication security: “localhost or HTTPS”), and the private schemes of ``ZOLINGA["REGISTRATION"]``.
    """
    if len(uri) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    if not _VISIBLE.fullmatch(uri):
        return "holds characters that no URI has"
    if "#" in uri:
        return "has a fragment, which RFC 6749 section 3.1.2 forbids"
    if "*" in uri:
        return "has a wildcard; redirect URIs are compared by the letter"
    try:
        parts = urlsplit(uri)
        _port = parts.port
    except ValueError:
        return "is no URI"
    # RFC 3986 section 3.1: a scheme has no case.
    scheme = uri.partition(":")[0].lower()
    if "@" in parts.netloc:
        return "has user information before its host"
    if scheme == "https":
        return "" if parts.hostname else "has no host"
    if scheme == "http":
        return "" if parts.hostname in LOOPBACK_HOSTS else "uses http, which is only for a loopback address; use https"
    if scheme in gateway_settings.registration.redirect_schemes:
        return "" if parts.netloc or parts.path.startswith("/") else "has no path"
    return f"has the scheme {scheme!r}, which this server sends no answers to"
