"""Modules and listeners: a read-only mirror of the manifests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_gateway.admin.display import BAD, GOOD, NO_MODULES, QUIET, ReadOnlyAdmin, code, lines, link, mark, pretty_json
from mcp_gateway.events import Origin
from mcp_gateway.models import Listener, Module

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


class ProblemFilter(admin.SimpleListFilter):
    """Sound or refused."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("sound", _("sound")), ("refused", _("refused"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        sound = Q(problem="", tool_problem="") if queryset.model is Listener else Q(problem="")
        if self.value() == "sound":
            return queryset.filter(sound)
        if self.value() == "refused":
            return queryset.exclude(sound)
        return queryset


class OriginFilter(admin.SimpleListFilter):
    """Listeners that hear one origin, by name or by ``*``."""

    title = _("origin")
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(origin, origin) for origin in sorted(Origin.KNOWN - {Origin.ANY})]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        # Not every database can look into a JSON list; all can look into its text.
        found: QuerySet[Any] = queryset.annotate(origins_text=Cast("origins", TextField()))
        return found.filter(Q(origins_text__contains=f'"{value}"') | Q(origins_text__contains='"*"'))


@admin.register(Module)
class ModuleAdmin(ReadOnlyAdmin):
    """Folders with a manifest."""

    when_empty = NO_MODULES

    list_display = ("module_id", "name", "version", "state", "listener_count", "imported_at")
    list_filter = (ProblemFilter, "present")
    search_fields = ("module_id", "name", "description")
    fieldsets = (
        (None, {"fields": ("module_id", "name", "version", "description", "state", "app_label", "imported_at")}),
        (_("Listeners"), {"fields": ("listeners_shown",)}),
        (_("Published files"), {"fields": ("published_shown", "schemes_shown")}),
        (
            _("What else it declares"),
            {"fields": ("dependencies_shown", "emit_shown", "web_components_shown", "config_shown")},
        ),
        (_("Manifest"), {"fields": ("digest", "manifest_shown"), "classes": ("collapse",)}),
    )
    readonly_fields = (
        "state",
        "listeners_shown",
        "published_shown",
        "schemes_shown",
        "dependencies_shown",
        "emit_shown",
        "web_components_shown",
        "config_shown",
        "manifest_shown",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Module]:
        modules: QuerySet[Module] = (
            super()
            .get_queryset(request)
            .annotate(
                listener_total=Count("listeners"),
                listener_refused=Count("listeners", filter=~Q(listeners__problem="") | ~Q(listeners__tool_problem="")),
            )
        )
        return modules

    @admin.display(description=_("state"))
    def state(self, module: Module) -> SafeString:
        if not module.present:
            return lines([mark(QUIET, gettext("gone")), gettext("The folder is gone; its tools are retired.")])
        if module.problem:
            return lines([mark(BAD, gettext("refused")), module.problem])
        return mark(GOOD, gettext("sound"))

    @admin.display(description=_("listeners"), ordering="listener_total")
    def listener_count(self, module: Any) -> str:
        if module.listener_refused:
            return gettext("%(total)d, of which %(refused)d refused") % {
                "total": module.listener_total,
                "refused": module.listener_refused,
            }
        return str(module.listener_total)

    @admin.display(description=_("listeners"))
    def listeners_shown(self, module: Module) -> SafeString | str:
        rows: list[str] = []
        for listener in module.listeners.all():
            rows.append(link(listener))
            if listener.problem or listener.tool_problem:
                rows.append(refusal(listener))
        return lines(rows) if rows else gettext("none")

    @admin.display(description=_("resources and prompts"))
    def published_shown(self, module: Module) -> SafeString | str:
        rows: list[str] = []
        for row in (*module.resources.defer("content"), *module.prompts.defer("content")):
            rows.append(link(row))
            if row.problem:
                rows.append(lines([mark(BAD, gettext("refused")), row.problem]))
        return lines(rows) if rows else gettext("none")

    @admin.display(description=_("URI schemes of its own"))
    def schemes_shown(self, module: Module) -> str:
        return ", ".join(json.loads(module.schemes)) or gettext("none")

    @admin.display(description=_("manifest"))
    def manifest_shown(self, module: Module) -> SafeString:
        return pretty_json(module.manifest)

    @admin.display(description=_("depends on"))
    def dependencies_shown(self, module: Module) -> SafeString:
        return pretty_json(_part(module, "dependencies"))

    @admin.display(description=_("emits"))
    def emit_shown(self, module: Module) -> SafeString:
        return pretty_json(_part(module, "emit"))

    @admin.display(description=_("web components"))
    def web_components_shown(self, module: Module) -> SafeString:
        return pretty_json(_part(module, "webComponents"))

    @admin.display(description=_("config"))
    def config_shown(self, module: Module) -> SafeString:
        return pretty_json(_part(module, "config"))

    def get_urls(self) -> list[Any]:
        drift = self.admin_site.admin_view(self.drift)
        return [path("drift/", drift, name="mcp_gateway_drift"), *super().get_urls()]

    def drift(self, request: HttpRequest) -> TemplateResponse:
        """What differs between files and database, and what is sound and still wanting."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        # Reading manifests takes a good part of the package, which a process that only serves does without.
        from mcp_gateway.manifest.drift import by_kind, findings

        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Drift"),
            "opts": self.opts,
            "media": self.media,
            "groups": [{"kind": kind, "findings": group} for kind, group in by_kind(findings())],
        }
        return TemplateResponse(request, "admin/mcp_gateway/drift.html", context)


def _part(module: Module, key: str) -> str:
    """One member of a stored manifest as JSON text, without its comments; empty where there is none."""
    # As for drift: not before a page shows it.
    from mcp_gateway.manifest.document import without_comments

    try:
        value = without_comments(json.loads(module.manifest or "{}")).get(key)
    except (ValueError, AttributeError):
        return ""
    return json.dumps(value, ensure_ascii=False) if value else ""


def refusal(listener: Listener) -> SafeString:
    """Why a listener is refused, wholly or only as a tool."""
    word = gettext("refused") if listener.problem else gettext("no tool")
    return lines([mark(BAD, word), listener.problem or listener.tool_problem])


@admin.register(Listener)
class ListenerAdmin(ReadOnlyAdmin):
    """Entries of ``listen``."""

    when_empty = NO_MODULES

    list_display = ("event", "state", "module", "origins_shown", "right_shown")
    list_filter = (ProblemFilter, OriginFilter, "module")
    list_select_related = ("module",)
    search_fields = ("event", "class_name", "method", "description", "right")
    fieldsets = (
        (None, {"fields": ("event", "handler", "module_shown", "state", "tools_shown", "title", "description")}),
        (
            _("Dispatch"),
            {"fields": ("origins_shown", "right_shown", "priority", "position", "visibility", "transaction", "task")},
        ),
        (_("Questions"), {"fields": ("needs_shown", "single_use"), "classes": ("collapse",)}),
        (_("Schemas"), {"fields": ("request_shown", "response_shown", "extras_shown"), "classes": ("collapse",)}),
    )
    readonly_fields = (
        "handler",
        "module_shown",
        "state",
        "tools_shown",
        "origins_shown",
        "right_shown",
        "transaction",
        "needs_shown",
        "request_shown",
        "response_shown",
        "extras_shown",
    )

    @admin.display(description=_("handler"), ordering="class_name")
    def handler(self, listener: Listener) -> SafeString:
        return code(f"{listener.class_name}::{listener.method}" if listener.method else listener.class_name)

    @admin.display(description=_("module"))
    def module_shown(self, listener: Listener) -> SafeString:
        return link(listener.module)

    @admin.display(description=_("state"), ordering="problem")
    def state(self, listener: Listener) -> SafeString:
        if listener.problem or listener.tool_problem:
            return refusal(listener)
        if not listener.module.present:
            return mark(QUIET, gettext("module gone"))
        return mark(GOOD, gettext("sound"))

    @admin.display(description=_("tools"))
    def tools_shown(self, listener: Listener) -> SafeString | str:
        tools = list(listener.tools.all())
        return lines(link(tool) for tool in tools) if tools else gettext("none")

    @admin.display(description=_("origins"))
    def origins_shown(self, listener: Listener) -> str:
        return ", ".join(listener.origins) or gettext("none: it hears nothing")

    @admin.display(description=_("right"), ordering="right")
    def right_shown(self, listener: Listener) -> SafeString | str:
        return code(listener.right) if listener.right else gettext("none")

    @admin.display(description=_("transaction"))
    def transaction(self, listener: Listener) -> str:
        if listener.atomic is None:
            return gettext("none: its tool may be a task") if listener.task else gettext("yes, but none in a task")
        return gettext("yes") if listener.atomic else gettext("none")

    @admin.display(description=_("needs"))
    def needs_shown(self, listener: Listener) -> str:
        return ", ".join(listener.needs) or gettext("nothing")

    @admin.display(description=_("request schema"))
    def request_shown(self, listener: Listener) -> SafeString:
        return pretty_json(listener.request_schema, gettext("none: any object is accepted"))

    @admin.display(description=_("response schema"))
    def response_shown(self, listener: Listener) -> SafeString:
        return pretty_json(listener.response_schema)

    @admin.display(description=_("annotations, icons, _meta"))
    def extras_shown(self, listener: Listener) -> SafeString:
        return pretty_json("" if listener.extras == "{}" else listener.extras)
