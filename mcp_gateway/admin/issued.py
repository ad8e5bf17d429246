"""The toolkit's pages of tokens and codes, which superusers alone may change.

The toolkit registers them (``OAUTH2_PROVIDER["ACCESS_TOKEN_ADMIN_CLASS"]`` and so on, which
`mcp_gateway.conf.oauth2_provider` sets). A project with admin classes of its own puts `IssuedGuard` before them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.auth import get_permission_codename
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from oauth2_provider.admin import AccessTokenAdmin, GrantAdmin, IDTokenAdmin, RefreshTokenAdmin
from oauth2_provider.models import get_application_model

from mcp_gateway.admin.display import BAD, StyledAdmin, code, lines, mark
from mcp_gateway.rights import is_superuser

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

# Columns that hold what a client shows, in the clear where a project stores it so.
_SECRETS = ("token", "code")


class IssuedGuard:
    """Mixin before an admin class of access tokens, refresh tokens, ID tokens or authorization codes.

    A row says whom it acts as, with which scopes and where, and by which checksum it is found: whoever may write it
    can act as anybody. Others look at it, and revoke it with Django's permission to change or delete it.
    """

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Django's permission, for superusers."""
        return is_superuser(request.user) and bool(super().has_add_permission(request))  # type: ignore[misc]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Django's permission, for superusers."""
        return is_superuser(request.user) and bool(super().has_change_permission(request, obj))  # type: ignore[misc]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As the page has it, which may offer to revoke instead; along with its user or client it goes by Django's
        permission, or nobody could ever delete those."""
        if obj is None or self._is_own_page(request):
            return bool(super().has_delete_permission(request, obj))  # type: ignore[misc]
        return self._may(request, "delete")

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> Any:
        """Whoever may only look does not revoke. Since Django 6.1 there is a place that the actions are for."""
        place = () if action_location is None else (action_location,)
        actions = super().get_actions(request, *place)  # type: ignore[misc]
        if not self._may(request, "change") and not self._may(request, "delete"):
            actions.pop("revoke_tokens", None)
        return actions

    def _may(self, request: HttpRequest, action: str) -> bool:
        options: Any = self.opts  # type: ignore[attr-defined]
        return request.user.has_perms([f"{options.app_label}.{get_permission_codename(action, options)}"])

    def _is_own_page(self, request: HttpRequest) -> bool:
        options: Any = self.opts  # type: ignore[attr-defined]
        match = request.resolver_match
        return match is None or str(match.url_name).startswith(f"{options.app_label}_{options.model_name}_")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Nobody finds a token out by filtering the list, letter by letter."""
        return lookup.partition("__")[0] not in _SECRETS and bool(super().lookup_allowed(lookup, value, request))  # type: ignore[misc]


class IssuedAdmin(IssuedGuard, StyledAdmin):
    """The toolkit's page with the guard, for sites to which clients come by themselves: there may be thousands.

    Of a token the toolkit keeps a checksum here, so its own column of tokens would be empty.
    """

    # A choice among few; where there are more, the search finds a client.
    most_applications = 50
    raw_id_fields: ClassVar[Any] = ("user", "application")
    list_select_related = ("application", "user")

    def get_list_filter(self, request: HttpRequest) -> Any:
        filters = super().get_list_filter(request)
        applications = get_application_model()._default_manager.all()
        many = len(applications.values_list("pk")[: self.most_applications + 1]) > self.most_applications
        return [entry for entry in filters if not (many and entry == "application")]

    @admin.display(description=_("scopes"))
    def scopes(self, token: Any) -> SafeString:
        return lines(code(name) for name in token.scope.split())

    @admin.display(description=_("endpoint"))
    def endpoint(self, token: Any) -> SafeString:
        return lines(token.resource or ())


class GuardedAccessTokenAdmin(IssuedAdmin, AccessTokenAdmin):  # type: ignore[misc]
    """Access tokens."""

    list_display = ("pk", "user", "application", "scopes", "endpoint", "expires_shown")
    raw_id_fields = (*IssuedAdmin.raw_id_fields, "source_refresh_token", "id_token")

    @admin.display(description=_("works until"), ordering="expires")
    def expires_shown(self, token: Any) -> Any:
        return mark(BAD, gettext("expired")) if token.is_expired() else token.expires


class GuardedRefreshTokenAdmin(IssuedAdmin, RefreshTokenAdmin):  # type: ignore[misc]
    """Refresh tokens; a revoked one stays, so that its reuse is noticed."""

    list_display = ("pk", "user", "application", "endpoint", "created", "revoked")
    raw_id_fields = (*IssuedAdmin.raw_id_fields, "access_token")


class GuardedGrantAdmin(IssuedAdmin, GrantAdmin):  # type: ignore[misc]
    """Authorization codes."""


class GuardedIDTokenAdmin(IssuedAdmin, IDTokenAdmin):  # type: ignore[misc]
    """ID tokens."""
