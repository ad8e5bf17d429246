"""The toolkit's pages on which people register OAuth applications, for those who hold Django's permission.

The toolkit opens them to everyone who is logged in. A client that acts for itself may get every scope that no
administrator withheld from it, so here each page needs the permission that admin asks for the same act.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_permission_codename
from django.contrib.auth.mixins import PermissionRequiredMixin
from oauth2_provider import views as toolkit
from oauth2_provider.models import get_application_model

from mcp_gateway.oauth.login import login_url
from mcp_gateway.oauth.machines import acting_problem, change_problem
from mcp_gateway.oauth.rows import RowPage


class ApplicationPermission(PermissionRequiredMixin):
    """Mixin before a page of the toolkit: 403 without the permission, the login page for who is not logged in."""

    #: What the page does to an application: ``view``, ``add``, ``change`` or ``delete``.
    action: str

    def get_permission_required(self) -> tuple[str]:
        """The permission of the application model, which a project may have swapped."""
        options = get_application_model()._meta
        return (f"{options.app_label}.{get_permission_codename(self.action, options)}",)

    def get_login_url(self) -> str:
        """The project's login page, ours where ``LOGIN_URL`` leads nowhere."""
        return login_url()


class ApplicationList(ApplicationPermission, toolkit.ApplicationList):  # type: ignore[misc]
    """The applications of the person who is logged in."""

    action = "view"


class ApplicationDetail(ApplicationPermission, RowPage, toolkit.ApplicationDetail):  # type: ignore[misc]
    """One of them."""

    action = "view"

    def get_object(self, queryset: Any = None) -> Any:
        """Without a secret with which its owner would act as somebody whom they may not let it act as."""
        application = super().get_object(queryset)
        if acting_problem(self.request.user, application):
            application.client_secret = ""
        return application


class ApplicationRegistration(ApplicationPermission, toolkit.ApplicationRegistration):  # type: ignore[misc]
    """A new one."""

    action = "add"


class ApplicationUpdate(ApplicationPermission, RowPage, toolkit.ApplicationUpdate):  # type: ignore[misc]
    """Change one, unless it acts as somebody whom its owner may not let it act as, or for people who are not asked."""

    action = "change"

    def has_permission(self) -> bool:
        """Django's permission, and the right to let the application act as it does."""
        return super().has_permission() and not change_problem(self.request.user, self.get_object())


class ApplicationDelete(ApplicationPermission, RowPage, toolkit.ApplicationDelete):  # type: ignore[misc]
    """Delete one."""

    action = "delete"
