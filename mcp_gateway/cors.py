"""Requests from web pages of other origins: which are let in, and what their browsers are told (CORS).

It is done here and not by django-cors-headers, whose settings are a whole project's: the endpoint needs any request
header allowed (``Mcp-Param-*`` has no end) and three headers exposed, which its other pages may well not want.
Credentials mode is never on: a token is sent by the page itself, and cookies mean nothing to these views.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.cache import patch_vary_headers

from mcp_gateway.conf import LOOPBACK_HOSTS, gateway_settings

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

#: What a page may read of an answer besides its body: how to log in, which session, when to come again.
EXPOSED = "WWW-Authenticate, Mcp-Session-Id, Retry-After"

# Seconds that a browser remembers the answer to a preflight; none remembers longer.
_MAX_AGE = "7200"

# RFC 9110 section 5.1, a list of them.
_HEADER_NAMES = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z, ]{1,4000}")


def is_allowed(meta: Mapping[str, Any]) -> bool:
    """Whether a request comes from no web page, or from one of an origin that is the site's own or allowed.

    The Host header is never asked: in a DNS rebinding attack it is the attacker's. Without a ``PUBLIC_URL`` the
    site's own are the loopback addresses at the port it serves on; with ``DEBUG`` any loopback origin will do.
    """
    origin = meta.get("HTTP_ORIGIN")
    if origin is None or origin in gateway_settings.own_origins or origin in gateway_settings.allowed_origins:
        return True
    known = _normal(origin)
    if known is None:
        return False
    text, host, port = known
    if text in gateway_settings.own_origins or text in gateway_settings.allowed_origins:
        return True
    return host in LOOPBACK_HOSTS and (
        settings.DEBUG or (not gateway_settings.has_public_url and str(port) == str(meta.get("SERVER_PORT")))
    )


def _normal(origin: str) -> tuple[str, str, int] | None:
    """An origin in the spelling of the settings, its host and its port; None for what is no origin."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host or parts.path or parts.query or parts.fragment:
        return None
    if "@" in parts.netloc or not origin.isascii() or origin != origin.strip() or "," in origin:
        return None
    default = 443 if parts.scheme == "https" else 80
    shown = f"[{host}]" if ":" in host else host
    text = f"{parts.scheme}://{shown}" if port in (None, default) else f"{parts.scheme}://{shown}:{port}"
    return text, host, port or default


def is_preflight(request: HttpRequest) -> bool:
    """Whether a browser asks what a page may send, before it sends it."""
    return request.method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META


def share(response: HttpResponseBase, meta: Mapping[str, Any], *, origin: str = "") -> None:
    """Let the page that asked read an answer, errors and challenges too, if its origin is allowed.

    ``origin`` is ``*`` for what any page may read.
    """
    asked = meta.get("HTTP_ORIGIN")
    if origin:
        response["Access-Control-Allow-Origin"] = origin
    elif asked is not None and is_allowed(meta):
        response["Access-Control-Allow-Origin"] = asked
        patch_vary_headers(response, ("Origin",))
    else:
        return
    response["Access-Control-Expose-Headers"] = EXPOSED


def answer_preflight(response: HttpResponseBase, meta: Mapping[str, Any], methods: str) -> None:
    """Allow the headers that a page wants to send, whatever they are called: by name, as ``*`` leaves out tokens."""
    response["Access-Control-Allow-Methods"] = methods
    headers = meta.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS") or ""
    if _HEADER_NAMES.fullmatch(headers):
        response["Access-Control-Allow-Headers"] = headers
    response["Access-Control-Max-Age"] = _MAX_AGE
    patch_vary_headers(response, ("Access-Control-Request-Method", "Access-Control-Request-Headers"))
