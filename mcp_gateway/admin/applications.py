"""The toolkit's page of applications, which guards the secrets of clients that act as somebody.

The toolkit registers it (``OAUTH2_PROVIDER["APPLICATION_ADMIN_CLASS"]``, which `mcp_gateway.conf.oauth2_provider`
sets). A project with an admin class of its own puts `ActingGuard` before it.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from oauth2_provider.admin import ApplicationAdmin

from mcp_gateway.oauth.machines import acting_problem


class ActingGuard:
    """Mixin before an admin class of the application model.

    A new secret or another grant would let whoever writes it act as the client's service user: so only those may
    change such an application who may let it act as that user. Others can look at it and delete it.
    """

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Django's permission, and the right to let the application act as its service user."""
        if obj is not None and acting_problem(request.user, obj):
            return False
        return bool(super().has_change_permission(request, obj))  # type: ignore[misc]

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> Any:
        """Where the toolkit stores the secret in the clear, who may not change it does not see it either."""
        exclude = tuple(super().get_exclude(request, obj) or ())  # type: ignore[misc]
        return (*exclude, "client_secret") if obj is not None and acting_problem(request.user, obj) else exclude


class GuardedApplicationAdmin(ActingGuard, ApplicationAdmin):  # type: ignore[misc]
    """The toolkit's page with the guard."""
