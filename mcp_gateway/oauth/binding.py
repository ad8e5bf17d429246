"""Which endpoint a request to the authorization server is about, if it is about one of ours at all (RFC 8707).

A project's other clients never notice us: a request concerns the gateway only where it names one of our endpoints,
asks for a scope that only we know, comes to a site that has no scopes of its own, or is of a client that registered
itself here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.oauth import audience
from mcp_gateway.oauth.scopes import own_scopes


class InvalidTarget(Exception):
    """The ``resource`` of a request that concerns us cannot be had; the text may be shown to the client."""


def concerns(resources: Sequence[str], scopes: Sequence[str], snapshot: registry.Snapshot) -> bool:
    """Whether what the gateway asks of a request applies to this one.

    Parameters: the values of ``resource`` and the words of ``scope``, as sent.
    """
    if any(audience.resolve(resource, snapshot) is not None for resource in resources):
        return True
    own = own_scopes()
    return not own or any(scope in snapshot.scopes and scope not in own for scope in scopes)


def bind(
    resources: Sequence[str], scopes: Sequence[str], snapshot: registry.Snapshot, *, ours: bool = False
) -> str | None:
    """The slug of the endpoint that the token asked for will be good at; None for a request of other clients.

    ``ours``: the client registered itself here, so it is for our endpoints whatever it says.
    A request without ``resource`` means the only endpoint where there is just one that we issue tokens for. Raises
    `InvalidTarget` for a URL that is no endpoint, for one that trusts another issuer, and for more than one.
    """
    if not ours and not concerns(resources, scopes, snapshot):
        return None
    if not resources:
        slugs_here = audience.issued_here(snapshot)
        if len(slugs_here) == 1:
            return slugs_here[0]
        raise InvalidTarget("The request names no resource: send the URL of the MCP endpoint as resource.")
    slugs = {audience.resolve(resource, snapshot) for resource in resources}
    slug = slugs.pop()
    if slugs:
        raise InvalidTarget("The request names several resources; a token is for one MCP endpoint.")
    if slug is None:
        raise InvalidTarget("The resource is no MCP endpoint of this site.")
    _check_issued_here(slug)
    return slug


def narrow(granted: Sequence[str], resources: Sequence[str], snapshot: registry.Snapshot) -> str | None:
    """The endpoint of a code or refresh token that is exchanged; None for a grant of other clients.

    Parameters: the resources the owner agreed to, and those the exchange names (none: the same). Raises
    `InvalidTarget` where it names an endpoint that was not agreed to, or the one that was is switched off or has come
    to trust another issuer.
    """
    slug = next((slug for entry in granted if (slug := audience.resolve(entry, snapshot)) is not None), None)
    if slug is None and audience.is_switched_off(granted):
        raise InvalidTarget("The MCP endpoint that was agreed to is switched off.")
    asked = {audience.resolve(resource, snapshot) for resource in resources}
    if asked - ({slug} if slug is not None else {None}):
        raise InvalidTarget("The resource is not the one that was agreed to.")
    if slug is not None:
        _check_issued_here(slug)
    return slug


def _check_issued_here(slug: str) -> None:
    elsewhere = gateway_settings.issuers.get(slug)
    if elsewhere is not None:
        raise InvalidTarget(f"Tokens for this MCP endpoint are issued by {elsewhere.issuer}.")


def endpoint(request: Any) -> str | None:
    """The endpoint found for an oauthlib request, None where it concerns none of ours."""
    slug: str | None = vars(request).get("mcp_endpoint")
    return slug
