"""The endpoint: who may enter, and what clients read when they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_gateway.admin.display import BAD, StyledAdmin, code, mark
from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import Endpoint

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


@admin.register(Endpoint)
class EndpointAdmin(StyledAdmin):
    """The default endpoint is always there: it is switched off, not deleted, and its address follows the URLconf.

    Further ones are at ``mcp/<slug>``. A slug stays: clients and tokens know the endpoint by its address.
    """

    list_display = ("title", "address", "access", "baseline", "enabled")
    filter_horizontal = ("baseline_scopes", "tools")
    radio_fields = {"access": admin.VERTICAL}  # noqa: RUF012
    fieldsets = (
        (None, {"fields": ("title", "address", "enabled")}),
        (_("Who may enter"), {"fields": ("access", "baseline_scopes")}),
        (_("What it serves"), {"fields": ("all_tools", "tools")}),
        (_("What models read"), {"fields": ("instructions",)}),
    )
    readonly_fields = ("address",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Endpoint]:
        return super().get_queryset(request).prefetch_related("baseline_scopes")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is not None:
            return super().get_fieldsets(request, obj)
        first = (None, {"fields": ("title", "slug", "enabled")})
        return (first, *self.fieldsets[1:])

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        if obj is None:
            # The empty one is the default endpoint's.
            form.base_fields["slug"].required = True
        return form

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(obj is not None and obj.slug and super().has_delete_permission(request, obj))

    @admin.display(description=_("address"))
    def address(self, endpoint: Endpoint) -> SafeString:
        try:
            path = (
                reverse("mcp_gateway:endpoint-slug", args=[endpoint.slug])
                if endpoint.slug
                else reverse("mcp_gateway:endpoint")
            )
        except NoReverseMatch:
            return mark(BAD, gettext("none: the project does not include mcp_gateway.urls"))
        return code(gateway_settings.origin + path)

    @admin.display(description=_("baseline scopes"))
    def baseline(self, endpoint: Endpoint) -> str:
        return ", ".join(scope.name for scope in endpoint.baseline_scopes.all()) or gettext("none")
