"""The toolkit's pages of tokens and codes, which superusers alone may change.

The toolkit registers them (``OAUTH2_PROVIDER["ACCESS_TOKEN_ADMIN_CLASS"]`` and so on, which
`mcp_gateway.conf.oauth2_provider` sets). A project with admin classes of its own puts `IssuedGuard` before them.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from oauth2_provider.admin import AccessTokenAdmin, GrantAdmin, IDTokenAdmin, RefreshTokenAdmin

from mcp_gateway.rights import is_superuser

# Columns that hold what a client shows, in the clear where a project stores it so.
_SECRETS = ("token", "code")


class IssuedGuard:
    """Mixin before an admin class of access tokens, refresh tokens, ID tokens or authorization codes.

    A row says whom it acts as, with which scopes and where, and by which checksum it is found: whoever may write it
    can act as anybody. Others look at it and revoke it.
    """

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Django's permission, for superusers."""
        return is_superuser(request.user) and bool(super().has_add_permission(request))  # type: ignore[misc]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Django's permission, for superusers."""
        return is_superuser(request.user) and bool(super().has_change_permission(request, obj))  # type: ignore[misc]

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Nobody finds a token out by filtering the list, letter by letter."""
        return lookup.partition("__")[0] not in _SECRETS and bool(super().lookup_allowed(lookup, value, request))  # type: ignore[misc]


class GuardedAccessTokenAdmin(IssuedGuard, AccessTokenAdmin):  # type: ignore[misc]
    """The toolkit's page with the guard."""


class GuardedRefreshTokenAdmin(IssuedGuard, RefreshTokenAdmin):  # type: ignore[misc]
    """The toolkit's page with the guard."""


class GuardedGrantAdmin(IssuedGuard, GrantAdmin):  # type: ignore[misc]
    """The toolkit's page with the guard."""


class GuardedIDTokenAdmin(IssuedGuard, IDTokenAdmin):  # type: ignore[misc]
    """The toolkit's page with the guard."""
