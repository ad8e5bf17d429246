"""Access tokens for tests."""

from __future__ import annotations

import datetime
import secrets
from typing import Any

from django.utils import timezone
from oauth2_provider.models import (
    AbstractApplication,
    get_access_token_model,
    get_application_model,
    set_token_value,
)

from mcp_gateway.oauth.audience import resource_url

CLIENT_ID = "mcp-tests"


def issue_token(
    user: Any,
    scopes: str = "mcp:tools",
    *,
    slug: str = "",
    expires_in: int = 3600,
    resource: list[str] | None = None,
) -> str:
    """An access token of a user, stored as the authorization server stores its own.

    Parameters: ``scopes``, with spaces between; ``slug``, the endpoint the token is bound to (RFC 8707), unless
    ``resource`` lists other URLs; ``expires_in``, in seconds.
    """
    application, _made = get_application_model().objects.get_or_create(
        client_id=CLIENT_ID,
        defaults={
            "name": "Tests",
            "client_type": AbstractApplication.CLIENT_PUBLIC,
            "authorization_grant_type": AbstractApplication.GRANT_AUTHORIZATION_CODE,
        },
    )
    token = secrets.token_urlsafe(24)
    row = get_access_token_model()(
        user=user,
        application=application,
        scope=scopes,
        expires=timezone.now() + datetime.timedelta(seconds=expires_in),
        resource=[resource_url(slug)] if resource is None else resource,
    )
    set_token_value(row, token)
    row.save()
    return token
