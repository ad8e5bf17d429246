"""Tool calls that go on in the background: who made them, how far they are, and a way to stop them.

Arguments, answers and results are not shown: they are the caller's, and may hold secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from mcp_gateway.admin.display import BAD, GOOD, QUIET, WARN, StyledAdmin, mark, pretty_json
from mcp_gateway.models import ToolTask

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

LEVELS = {
    ToolTask.Status.WORKING: QUIET,
    ToolTask.Status.INPUT_REQUIRED: WARN,
    ToolTask.Status.COMPLETED: GOOD,
    ToolTask.Status.FAILED: BAD,
    ToolTask.Status.CANCELLED: QUIET,
}


@admin.register(ToolTask)
class ToolTaskAdmin(StyledAdmin):
    """Tasks, the newest first. What has expired is cleared away by itself."""

    list_display = ("tool", "status_shown", "user", "application", "created_at", "ended_at")
    list_filter = ("status", "created_at", "tool")
    list_select_related = ("user", "application")
    search_fields = ("tool", "status_message")
    date_hierarchy = "created_at"
    actions = ("cancel",)
    fieldsets = (
        (None, {"fields": ("tool", "status_shown", "status_message", "error_shown")}),
        (_("Who called"), {"fields": ("user", "application", "scopes", "endpoint_shown", "version")}),
        (_("Times"), {"fields": ("created_at", "started_at", "beat_at", "updated_at", "ended_at", "expires_at")}),
    )
    readonly_fields = (
        "tool",
        "status_shown",
        "status_message",
        "error_shown",
        "user",
        "application",
        "scopes",
        "endpoint_shown",
        "version",
        "created_at",
        "started_at",
        "beat_at",
        "updated_at",
        "ended_at",
        "expires_at",
    )

    change_form_template = "admin/mcp_gateway/tooltask/change_form.html"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(description=_("status"), ordering="status")
    def status_shown(self, task: ToolTask) -> SafeString:
        status = ToolTask.Status(task.status)
        if status is not ToolTask.Status.WORKING:
            return mark(LEVELS[status], status.label)
        if task.cancel_requested:
            return mark(WARN, gettext("asked to stop"))
        if task.waits_for:
            return mark(WARN, gettext("waits for the user"))
        return mark(QUIET, gettext("waits for a worker") if task.beat_at is None else status.label)

    @admin.display(description=_("endpoint"))
    def endpoint_shown(self, task: ToolTask) -> str:
        return task.endpoint or gettext("the default one")

    @admin.display(description=_("error"))
    def error_shown(self, task: ToolTask) -> SafeString:
        return pretty_json(task.outcome if task.status == ToolTask.Status.FAILED else "")

    def get_urls(self) -> list[Any]:
        cancel = self.admin_site.admin_view(self.cancel_one)
        return [path("<path:object_id>/cancel/", cancel, name="mcp_gateway_tooltask_cancel"), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        task = self.get_object(request, object_id)
        shown = {
            "show_save": False,
            "show_save_and_continue": False,
            "may_cancel": task is not None and _stoppable(task) and self.has_change_permission(request, task),
            **(extra_context or {}),
        }
        return super().change_view(request, object_id, form_url, shown)

    def cancel_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask whether a task shall be cancelled, and cancel it."""
        task = self.get_object(request, object_id)
        if task is None:
            raise Http404
        if not self.has_change_permission(request, task):
            raise PermissionDenied
        if request.method == "POST":
            self.cancel(request, ToolTask.objects.filter(pk=task.pk))
            return HttpResponseRedirect(reverse("admin:mcp_gateway_tooltask_change", args=[task.pk]))
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Cancel this task?"),
            "opts": self.opts,
            "media": self.media,
            "task": task,
            "runs": task.beat_at is not None,
            "status": self.status_shown(task),
        }
        return TemplateResponse(request, "admin/mcp_gateway/tooltask/cancel.html", context)

    @admin.action(description=_("Cancel the selected tasks"), permissions=["change"])
    def cancel(self, request: HttpRequest, tasks: QuerySet[ToolTask]) -> None:
        chosen = list(ToolTask.objects.filter(pk__in=tasks).unfinished().values_list("pk", flat=True))
        for pk in chosen:
            ToolTask.objects.filter(pk=pk).cancel()
        done = ngettext("%d task was asked to stop.", "%d tasks were asked to stop.", len(chosen)) % len(chosen)
        self.message_user(request, done, messages.SUCCESS if chosen else messages.WARNING)


def _stoppable(task: ToolTask) -> bool:
    return not task.over and not task.cancel_requested
