"""The Django app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.db import router
from django.db.models.signals import m2m_changed, post_delete, post_migrate, post_save, pre_delete
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.apps.registry import Apps


def _import_if_wanted(using: str, verbosity: int) -> None:
    """``ZOLINGA["IMPORT_ON_MIGRATE"]``. What is refused is told and keeps no migration up."""
    from mcp_gateway.conf import gateway_settings
    from mcp_gateway.models import Tool

    if not gateway_settings.import_on_migrate or using != router.db_for_write(Tool):
        return
    from mcp_gateway.manifest.apply import run_import
    from mcp_gateway.manifest.report import render

    plan = run_import()
    if verbosity:
        print(render(plan, dry_run=False))  # as `migrate` itself does in its receivers


class McpGatewayConfig(AppConfig):
    """Connects the receivers that keep the generation and the default rows right."""

    name = "mcp_gateway"
    label = "mcp_gateway"
    verbose_name = _("MCP gateway")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mcp_gateway.checks import administrators, clients, deployment, guards, issuers, oauth, project, served  # noqa: F401
        from mcp_gateway.events.authorize import ask_modules
        from mcp_gateway.models import Client, Endpoint, Offered, Scope, Versioned
        from mcp_gateway.models.defaults import create_defaults, has_current_tables, protect_used_scope
        from mcp_gateway.models.generation import bump_after_write, lock_before_write
        from mcp_gateway.rights.providers import set_ask_modules

        set_ask_modules(ask_modules)
        for model in self.get_models():
            if issubclass(model, Versioned):
                pre_delete.connect(lock_before_write, sender=model, dispatch_uid=f"lock-delete-{model.__name__}")
                post_save.connect(bump_after_write, sender=model, dispatch_uid=f"bump-save-{model.__name__}")
                post_delete.connect(bump_after_write, sender=model, dispatch_uid=f"bump-delete-{model.__name__}")
        offered: list[Any] = [model.required_scopes for model in self.get_models() if issubclass(model, Offered)]
        for field in (*offered, Endpoint.baseline_scopes, Endpoint.tools, Client.allowed_scopes, Scope.implies):
            m2m_changed.connect(
                lock_before_write, sender=field.through, dispatch_uid=f"lock-m2m-{field.through.__name__}"
            )
            m2m_changed.connect(
                bump_after_write, sender=field.through, dispatch_uid=f"bump-m2m-{field.through.__name__}"
            )
        pre_delete.connect(protect_used_scope, sender=Scope, dispatch_uid="protect-used-scope")

        def after_migrate(using: str, apps: Apps | None = None, **kwargs: Any) -> None:
            # `flush` sends the signal without `apps`: then the tables are those of the code.
            if apps is None or has_current_tables(apps):
                create_defaults(using)
            if apps is not None and has_current_tables(apps):
                _import_if_wanted(using, kwargs.get("verbosity", 1))

        post_migrate.connect(after_migrate, sender=self, weak=False, dispatch_uid="mcp_gateway.defaults")
