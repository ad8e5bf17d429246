"""What the consent page says, and the headers it is sent with.

MCP specification (authorization, security considerations): people see which client asks, where its answer goes,
and what they allow, before anything is issued.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.templatetags.static import static
from oauth2_provider.models import AbstractApplication

from mcp_gateway import registry
from mcp_gateway.oauth import audience
from mcp_gateway.oauth.documents import host_of
from mcp_gateway.oauth.scopes import GatewayScopes, is_manual

STYLESHEET = "mcp_gateway/oauth.css"

#: What the names of the form's boxes begin with; the scope follows.
CHOICE = "grant:"


@dataclass(frozen=True, slots=True)
class ScopeLine:
    """One scope in the administrator's words; ``includes`` are the texts of what it implies."""

    name: str
    text: str
    includes: tuple[str, ...]

    @property
    def field(self) -> str:
        """The name of its box in the form."""
        return f"{CHOICE}{self.name}"


@dataclass(frozen=True, slots=True)
class Page:
    """What the template shows.

    ``registered_itself``: nobody here knows the client, and its name is its own word. ``document_host`` is the host
    that vouches for it with a metadata document, empty where none does. ``withheld`` are the texts of scopes that
    this person may not grant.
    """

    client_name: str
    client_id: str
    redirect_uri: str
    redirect_target: str
    is_loopback: bool
    is_app_link: bool
    registered_itself: bool
    document_host: str
    endpoint_title: str
    endpoint_url: str
    scopes: tuple[ScopeLine, ...]
    withheld: tuple[str, ...]


def page(
    *,
    application: Any,
    redirect_uri: str,
    scopes: Sequence[str],
    withheld: Sequence[str],
    slug: str,
    snapshot: registry.Snapshot,
) -> Page:
    """Gather it; ``redirect_uri`` is one the application registered, ``slug`` the endpoint's."""
    texts = GatewayScopes().get_all_scopes()
    lines = []
    for name in scopes:
        entry = snapshot.scopes.get(name)
        implied = sorted(entry.implies - set(scopes)) if entry else ()
        lines.append(ScopeLine(name, texts.get(name, name), tuple(texts.get(other, other) for other in implied)))
    parts = urlsplit(redirect_uri)
    vouched = application.registration_source == AbstractApplication.RegistrationSource.CIMD
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    return Page(
        client_name=application.name or application.client_id,
        client_id=application.client_id,
        redirect_uri=redirect_uri,
        redirect_target=parts.netloc if is_web else f"{parts.scheme}:",
        is_loopback=is_web and _is_loopback(parts.hostname or ""),
        is_app_link=not is_web,
        registered_itself=not is_manual(application),
        document_host=host_of(application.client_id) if vouched else "",
        endpoint_title=snapshot.endpoints[slug].title,
        endpoint_url=audience.resource_url(slug),
        scopes=tuple(lines),
        withheld=tuple(texts.get(name, name) for name in withheld),
    )


def chosen(form: Mapping[str, Any], asked: Iterable[str]) -> list[str]:
    """Of the scopes asked for, those whose boxes are ticked in a submitted form."""
    return [name for name in asked if f"{CHOICE}{name}" in form]


def headers(redirect_uri: str, *, own_forms_only: bool = False) -> dict[str, str]:
    """The headers of our pages: never framed, never stored, nothing loaded but our stylesheet.

    A project's own policy with ``form-action 'self'`` would stop Chromium at the redirect that answers the form,
    so the page brings its own, which names where that redirect goes; Django's and django-csp's middlewares leave a
    policy that is there as it is. ``own_forms_only``: no form of the page leads off this site.
    """
    policy = [
        "default-src 'none'",
        f"style-src {_source(static(STYLESHEET))}",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
    if redirect_uri:
        policy.append(f"form-action 'self' {_source(redirect_uri)}")
    elif own_forms_only:
        policy.append("form-action 'self'")
    return {
        "Content-Security-Policy": "; ".join(policy),
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-store",
    }


def _source(url: str) -> str:
    """A URL as a source expression of CSP level 3; ``'self'`` for one of this site."""
    parts = urlsplit(url)
    if not parts.scheme:
        return "'self'"
    if not parts.hostname or ":" in parts.hostname or parts.scheme not in ("http", "https"):
        # The grammar knows no IPv6 addresses, and a link to an app has no host worth naming.
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
