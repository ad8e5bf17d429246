"""Access tokens that this site issues by itself, without a client that asks for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from oauth2_provider.models import AbstractApplication, get_access_token_model, get_application_model

from mcp_gateway import registry
from mcp_gateway.oauth import audience

#: The applications of such tokens: those from the command line, and people's own.
COMMAND_LINE, PERSONAL = "mcp-command-line", "mcp-personal-tokens"

BUILTIN = frozenset({COMMAND_LINE, PERSONAL})


class Disabled(Exception):
    """An administrator has disabled the application that such tokens belong to."""


def builtin_application(client_id: str, name: str) -> Any:
    """The application that a kind of token belongs to, made where it is missing.

    Its grant is one for clients with a secret, and nobody knows its secret: it can get no token by itself. Raises
    `Disabled`.
    """
    application, _made = get_application_model().objects.get_or_create(
        client_id=client_id,
        defaults={
            "name": name,
            "client_type": AbstractApplication.CLIENT_CONFIDENTIAL,
            "authorization_grant_type": AbstractApplication.GRANT_CLIENT_CREDENTIALS,
        },
    )
    client = registry.snapshot().clients.get(application.pk)
    if client is not None and not client.enabled:
        raise Disabled(application.name)
    return application


def issue(text: str, *, user: Any, application: Any, scopes: Iterable[str], slug: str, lifetime: timedelta) -> Any:
    """Store an access token, of which only the SHA-256 is kept, whatever the project says of other clients' tokens.

    Parameters: the token's ``text``; whom it acts as and what it belongs to; its scopes; the ``slug`` of the
    endpoint it is bound to (RFC 8707). Raises ``NoReverseMatch`` where that has no URL.
    """
    row = get_access_token_model()(
        user=user,
        application=application,
        scope=" ".join(scopes),
        expires=timezone.now() + lifetime,
        resource=[audience.canonical_url(slug)],
        token="",
    )
    row._raw_token = text
    row.save()
    return row
