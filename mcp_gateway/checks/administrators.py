"""System check of the ready-made group of those who run the gateway in admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import Group
from django.core.checks import CheckMessage, Info, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, router

from mcp_gateway.models.defaults import ADMINISTRATORS, missing_permissions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig


@register(Tags.database)
def check_administrators(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """The group has what a new installation gives it. No warning: it may be somebody's wish that it has less."""
    using = router.db_for_write(Group)
    if using not in (databases or ()):
        return []
    try:
        missing = [permission.name for permission in missing_permissions(using)]
    except (DatabaseError, ImproperlyConfigured):
        # Before the first migration.
        return []
    if not missing:
        return []
    return [
        Info(
            f"The group “{ADMINISTRATORS}” lacks permissions that a new installation gives it; an earlier version may "
            f"have made it: {', '.join(f'“{name}”' for name in missing)}.",
            hint="Add them to the group in admin, under Groups; an upgrade gives none by itself. If it is not meant to "
            'have them: SILENCED_SYSTEM_CHECKS = ["mcp_gateway.I004"].',
            id="mcp_gateway.I004",
        )
    ]
