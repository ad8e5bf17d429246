"""System checks of the clients that administrators made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.core.checks import CheckMessage, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, router

from mcp_gateway.models import Client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig

# Clients that a message names; admin lists them all.
_NAMED = 5


@register(Tags.database)
def check_machines(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Every client that acts for itself has somebody to act as."""
    if not apps.is_installed("oauth2_provider") or router.db_for_write(Client) not in (databases or ()):
        return []
    # Not before the toolkit is known to be installed: its models cannot be imported without.
    from mcp_gateway.oauth import machines

    try:
        found = [str(application.name or application.client_id) for application in machines.without_service_user()]
    except (DatabaseError, ImproperlyConfigured):
        return []
    if not found:
        return []
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    names = ", ".join(f"“{name}”" for name in found[:_NAMED])
    return [
        Warning(
            "Clients that act for themselves have no service user, and get no token for an MCP endpoint: "
            f"{names}{more}.",
            hint="In admin, under Clients, add each application and choose the user whom its calls act as.",
            id="mcp_gateway.W019",
        )
    ]
