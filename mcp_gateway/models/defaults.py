"""Rows every installation starts with, made after each ``migrate`` where they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import apps as installed
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db import router, transaction
from django.db.models import ProtectedError

from mcp_gateway.models.endpoint import Endpoint
from mcp_gateway.models.generation import GENERATION_PK, Generation
from mcp_gateway.models.scope import DEFAULT_SCOPE, Scope

if TYPE_CHECKING:
    from django.apps.registry import Apps
    from django.db.models import QuerySet

ADMINISTRATORS = "MCP administrators"

# What the group of that name may do. Letting required scopes replace a manifest's right is not in it, nor making
# personal access tokens for others.
ADMINISTRATORS_MAY = (
    "view_module",
    "view_listener",
    "view_importrun",
    "view_oauthevent",
    "view_tool",
    "change_tool",
    "view_resource",
    "change_resource",
    "view_prompt",
    "change_prompt",
    "view_personaltoken",
    "delete_personaltoken",
    "view_endpoint",
    "add_endpoint",
    "change_endpoint",
    "delete_endpoint",
    "view_tooltask",
    "change_tooltask",
    "delete_tooltask",
    *(f"{action}_{model}" for model in ("scope", "client") for action in ("view", "add", "change", "delete")),
)


def has_current_tables(apps: Apps) -> bool:
    """Whether the state that a ``migrate`` ended in holds the tables and columns of this code.

    It does not after a migration backwards; the default rows then wait for the next one forwards.
    """
    for model in (Generation, Scope, Endpoint, Group, Permission):
        try:
            migrated = apps.get_model(model._meta.label)
        except LookupError:
            return False
        columns = {field.name for field in migrated._meta.local_fields}
        if not columns.issuperset(field.name for field in model._meta.local_fields):
            return False
    return True


def create_defaults(using: str) -> None:
    """Make the generation, the scope ``mcp:tools``, the default endpoint and the group of administrators where missing.

    Not a data migration: its rows would be gone after the first transactional test. What an administrator
    changed or took off an existing row stays as it is.
    """
    if not router.allow_migrate_model(using, Endpoint):
        return
    with transaction.atomic(using=using):
        Generation.objects.using(using).get_or_create(pk=GENERATION_PK)
        scope, _made = Scope.objects.using(using).get_or_create(
            name=DEFAULT_SCOPE,
            defaults={"description": "Use the tools of this site", "is_default": True, "self_service": True},
        )
        endpoint, made = Endpoint.objects.using(using).get_or_create(slug="")
        if made:
            endpoint.baseline_scopes.add(scope)
    _create_administrators(using)


def missing_permissions(using: str) -> list[Permission]:
    """What a new group of administrators would get and the one that is there lacks; nothing where there is none."""
    group = Group.objects.using(using).filter(name=ADMINISTRATORS).first()
    if group is None:
        return []
    return list(_permissions(using).exclude(group=group).order_by("content_type__model", "codename"))


def _permissions(using: str) -> QuerySet[Permission]:
    return Permission.objects.using(using).filter(
        content_type__app_label="mcp_gateway", codename__in=ADMINISTRATORS_MAY
    )


def _create_administrators(using: str) -> None:
    """Make the group of those who run the gateway in admin, where it is missing."""
    if not router.allow_migrate_model(using, Group) or Group.objects.using(using).filter(name=ADMINISTRATORS).exists():
        return
    # Where django.contrib.auth stands after the gateway in INSTALLED_APPS, its own receiver has not run yet.
    create_permissions(installed.get_app_config("mcp_gateway"), using=using, verbosity=0)
    with transaction.atomic(using=using):
        group, _made = Group.objects.using(using).get_or_create(name=ADMINISTRATORS)
        group.permissions.add(*_permissions(using))


def protect_used_scope(sender: type[Scope], instance: Scope, **kwargs: Any) -> None:
    """Receiver of ``pre_delete``: a needed scope (`Scope.needed_by`) may be disabled, not deleted."""
    users = set(instance.needed_by(kwargs.get("using")))
    if users:
        names = ", ".join(sorted(f"{user._meta.verbose_name} “{user}”" for user in users))
        raise ProtectedError(
            f"The scope “{instance.name}” is needed by {names}. Disable it, or take it off them first.", users
        )
