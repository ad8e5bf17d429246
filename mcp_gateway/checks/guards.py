"""System check of the admin pages on which somebody could make a client or a token act as somebody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.core.checks import CheckMessage, Tags, Warning, register

from mcp_gateway.checks.oauth import PROVIDER_LINE, names_scopes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig


@register(Tags.security)
def check_admin_guards(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """The toolkit's pages in admin are those with our guards, or a project's own behind them."""
    needed = ("django.contrib.admin", "oauth2_provider")
    if not all(apps.is_installed(name) for name in needed) or not names_scopes():
        return []
    # Not before both are known to be installed.
    from django.contrib import admin
    from oauth2_provider import models

    from mcp_gateway.admin.applications import ActingGuard
    from mcp_gateway.admin.issued import IssuedGuard

    guards = {
        models.get_application_model(): ActingGuard,
        models.get_access_token_model(): IssuedGuard,
        models.get_refresh_token_model(): IssuedGuard,
        models.get_grant_model(): IssuedGuard,
        models.get_id_token_model(): IssuedGuard,
    }
    bare = [
        (type(admin.site.get_model_admin(model)).__name__, f"{guard.__module__}.{guard.__name__}")
        for model, guard in guards.items()
        if admin.site.is_registered(model) and not isinstance(admin.site.get_model_admin(model), guard)
    ]
    if not bare:
        return []
    return [
        Warning(
            "Who may change applications or tokens in admin can act as anybody, superusers too: nothing guards "
            f"{', '.join(name for name, _guard in bare)}.",
            hint=f"{PROVIDER_LINE}; or put before a class of your own: "
            f"{', '.join(sorted({guard for _name, guard in bare}))}.",
            id="mcp_gateway.W020",
        )
    ]
