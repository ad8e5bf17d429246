"""What the database serves: ``manage.py check --database default``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, router

from mcp_gateway.models import Tool
from mcp_gateway.registry import Snapshot, snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig

    from mcp_gateway.manifest.drift import Finding


# Findings of one kind that a check tells one by one.
_TOLD = 20


@register(Tags.database)
def check_drift(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """What differs between files and database, and tools that are sound and still wanting. Never an error."""
    if router.db_for_write(Tool) not in (databases or ()):
        return []
    # Checks are known to every process and run in few: one that only serves does without what reads manifests.
    from mcp_gateway.manifest.drift import by_kind, findings

    try:
        found = by_kind(findings())
    except (DatabaseError, ImproperlyConfigured):
        # Before the first migration, or with settings that another check names.
        return []
    return [
        Warning(_told(kind.title, group), hint=str(kind.cure), id=f"mcp_gateway.W{kind.number:03}")
        for kind, group in found
    ]


@register(Tags.database)
def check_logins(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Every endpoint with protected tools makes a client log in at some time."""
    if router.db_for_write(Tool) not in (databases or ()):
        return []
    try:
        served = snapshot()
    except (DatabaseError, ImproperlyConfigured):
        return []
    return [
        Warning(
            f"Anyone may enter the endpoint “{endpoint.title}”, and all its protected tools exist only for those who "
            "may call them: no client ever hears of one, and none ever logs in.",
            hint="In admin, require a token at the endpoint, or list one of the tools for everyone.",
            id="mcp_gateway.W010",
        )
        for endpoint in served.endpoints.values()
        if not endpoint.token_required and _hides_login(served.at(endpoint.slug))
    ]


def _hides_login(served: Snapshot) -> bool:
    protected = [tool for tool in served.tools.values() if tool.rights]
    return bool(protected) and all(tool.visibility == Tool.Visibility.AUTHORIZED for tool in protected)


def _told(title: Any, group: list[Finding]) -> str:
    lines = [f"{title}:", *(f"  - {finding.subject}: {finding.message}" for finding in group[:_TOLD])]
    if len(group) > _TOLD:
        lines.append(f"  - and {len(group) - _TOLD} more; the admin site lists them all")
    return "\n".join(lines)
