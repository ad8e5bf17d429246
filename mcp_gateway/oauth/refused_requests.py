"""The audit of requests that are refused: anyone can send them, as often as they like, so it is bounded."""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Mapping
from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponseBase
from oauth2_provider.models import get_application_model

from mcp_gateway.models import Tally
from mcp_gateway.oauth import assertions, audit
from mcp_gateway.oauth.address import client_address, network
from mcp_gateway.oauth.gateway_view import concerns_gateway

logger = logging.getLogger("mcp_gateway")

HOUR = 3600

#: Seconds in which equal refusals are noted once, and how many an hour are noted of one network and of all.
EQUAL, PER_NETWORK, PER_HOUR = 600, 20, 200


def note(request: HttpRequest, response: HttpResponseBase) -> None:
    """Write one entry for a refusal of the token endpoint that concerns our endpoints.

    A client that does not exist is not named: whoever makes names up could fill the table.
    """
    if response.status_code in (400, 401) and concerns_gateway(request.POST):
        application, reason = _application(request), _reason(response)
        write(
            request.META,
            reason if application is not None else f"{reason} (a client that is not registered)",
            application=application,
            resource=request.POST.get("resource", ""),
            scopes=request.POST.get("scope", "").split(),
        )


def write(
    meta: Mapping[str, Any], reason: str, *, application: Any, resource: str, scopes: list[str], user: Any = None
) -> None:
    """Write an entry, as far as the bounds allow; where more is refused than noted, one entry an hour says so.

    Parameters as for `mcp_gateway.oauth.audit.record`. What cannot be written keeps nobody from going on.
    """
    address = client_address(meta)
    told = (getattr(application, "pk", None), getattr(user, "pk", None), address, reason)
    try:
        if Tally.take(f"refused {told!r}", limit=1, seconds=EQUAL):
            return
        bounded = Tally.take(f"refused from {network(address)}", limit=PER_NETWORK, seconds=HOUR) or Tally.take(
            "refused", limit=PER_HOUR, seconds=HOUR
        )
    except DatabaseError:
        logger.exception("A refusal could not be noted.")
        return
    if bounded:
        audit.record(audit.Kind.THROTTLED, meta, detail="More is refused than is noted here.", once_in=HOUR)
        return
    audit.record(
        audit.Kind.REFUSED,
        meta,
        user=user,
        application=application,
        resource=resource,
        scopes=scopes,
        detail=reason,
    )


def _reason(response: HttpResponseBase) -> str:
    """The error of RFC 6749 section 5.2 with its description: words of ours and of the toolkit, no secrets."""
    try:
        body = json.loads(response.content)  # type: ignore[attr-defined]
    except ValueError:
        return ""
    return ": ".join(str(body[name]) for name in ("error", "error_description") if body.get(name))


def _application(request: HttpRequest) -> Any:
    """The client that a request says it is of; None where there is no such client."""
    client_id = (
        request.POST.get("client_id")
        or assertions.subject(request.POST.get("client_assertion", ""))
        or _basic(request.META.get("HTTP_AUTHORIZATION", ""))
    )
    if not client_id or "\0" in client_id:
        return None
    return get_application_model()._default_manager.filter(client_id=client_id).first()


def _basic(authorization: str) -> str:
    """The user name of HTTP Basic."""
    scheme, _, credentials = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[0]
    except (binascii.Error, ValueError):
        return ""
