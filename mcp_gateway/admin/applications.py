"""The toolkit's page of applications, which guards clients that act as somebody, or for people who are not asked.

The toolkit registers it (``OAUTH2_PROVIDER["APPLICATION_ADMIN_CLASS"]``, which `mcp_gateway.conf.oauth2_provider`
sets). A project with an admin class of its own puts `ActingGuard` before it.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from oauth2_provider.admin import ApplicationAdmin

from mcp_gateway.admin.display import StyledAdmin, without
from mcp_gateway.oauth.machines import change_problem
from mcp_gateway.rights import is_superuser

_SECRET = "client_secret"  # noqa: S105 (the name of a column)


class ActingGuard:
    """Mixin before an admin class of the application model.

    A new secret, another grant or redirect URI would let whoever writes it act as the client's service user, or as
    whoever comes where people are not asked: so only those may change such an application who may let it. Others can
    look at it and delete it.
    """

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Django's permission, and the right to let the application act as it does."""
        if obj is not None and change_problem(request.user, obj):
            return False
        return bool(super().has_change_permission(request, obj))  # type: ignore[misc]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only a superuser says that people are not asked: the client acts for superusers too."""
        shown = tuple(super().get_readonly_fields(request, obj))  # type: ignore[misc]
        return shown if is_superuser(request.user) else (*shown, "skip_authorization")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Where the toolkit stores the secret in the clear, who may not change it does not see it either."""
        fieldsets = super().get_fieldsets(request, obj)  # type: ignore[misc]
        hidden = obj is not None and not self.has_change_permission(request, obj)
        return without(_SECRET, fieldsets) if hidden else fieldsets

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Nor does anybody find it out by filtering the list, letter by letter."""
        return lookup.partition("__")[0] != _SECRET and bool(super().lookup_allowed(lookup, value, request))  # type: ignore[misc]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Where the list itself can be edited, Django asks about no single application."""
        before = type(obj)._default_manager.filter(pk=obj.pk).first()
        if any(row is not None and change_problem(request.user, row) for row in (before, obj)):
            raise PermissionDenied
        super().save_model(request, obj, form, change)  # type: ignore[misc]


class GuardedApplicationAdmin(ActingGuard, StyledAdmin, ApplicationAdmin):  # type: ignore[misc]
    """The toolkit's page with the guard."""

    # The toolkit's own page is there for the owner alone.
    view_on_site = False
