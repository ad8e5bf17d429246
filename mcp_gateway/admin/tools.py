"""Tools: the manifest's columns to read, the administrator's beside them to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import Q
from django.forms import ModelForm
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_gateway.admin.display import QUIET, code, lines, link, mark, pretty_json
from mcp_gateway.admin.modules import refusal
from mcp_gateway.admin.offered import OWN_FIELDS, OWN_WIDGETS, NeedsScopesFilter, OfferedAdmin, OfferedForm
from mcp_gateway.admin.running import manner
from mcp_gateway.admin.status import needs, rights_of, tool_state
from mcp_gateway.events import Origin
from mcp_gateway.models import Listener, Tool
from mcp_gateway.registry import latest, snapshot

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

OVERRIDE_RIGHTS = "mcp_gateway.override_tool_rights"


class ToolForm(OfferedForm):
    """The administrator's columns of a tool."""

    UNGUARDED = _("Without a required scope anyone could call “%(name)s”")

    class Meta:
        model = Tool
        fields = OWN_FIELDS
        widgets = OWN_WIDGETS

    def own_rights(self) -> list[str]:
        """The rights of all listeners that a call reaches."""
        listeners = snapshot().matching(self.instance.name, Origin.MCP)
        return list(dict.fromkeys(listener.right for listener in listeners if listener.right))


@admin.register(Tool)
class ToolAdmin(OfferedAdmin):
    """What ``tools/list`` shows. Tools come from manifests: none is added or deleted here."""

    form = ToolForm
    override_permission = OVERRIDE_RIGHTS
    list_display = ("name", "title_shown", "state_shown", "needs_shown", "module_shown")
    list_filter = ("enabled", "available", NeedsScopesFilter, "rights_from", "listener__module")
    list_select_related = ("listener__module",)
    search_fields = ("name", "title", "description", "title_override", "description_override")
    fieldsets = (
        (None, {"fields": ("name", "state_shown", "enabled")}),
        (
            _("Who may call it"),
            {
                "fields": ("needs_shown", "manifest_rights", "required_scopes", "rights_from"),
                "description": _("A change holds from the next request on, in every worker."),
            },
        ),
        (
            _("What models read"),
            {"fields": (("title", "title_override"), ("description", "description_override"), "icons_shown")},
        ),
        (_("Listeners a call reaches"), {"fields": ("listeners_shown", "runs_shown")}),
        (_("Worth knowing"), {"fields": ("findings_shown",)}),
        (_("Schemas"), {"fields": ("input_shown", "output_shown", "extras_shown"), "classes": ("collapse",)}),
    )
    readonly_fields = (
        "name",
        "state_shown",
        "needs_shown",
        "manifest_rights",
        "title",
        "description",
        "icons_shown",
        "listeners_shown",
        "runs_shown",
        "findings_shown",
        "input_shown",
        "output_shown",
        "extras_shown",
    )

    def save_related(self, request: HttpRequest, form: ModelForm[Any], formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        tool = form.instance
        entry = snapshot().tools.get(tool.name)
        if entry is not None and not entry.rights and any(listener.right for listener in entry.listeners):
            self.message_user(
                request,
                gettext(
                    "Anyone may call “%(tool)s” now: the manifest's right does not count, and no scope is required."
                )
                % {"tool": tool},
                messages.WARNING,
            )

    @admin.display(description=_("state"))
    def state_shown(self, tool: Tool) -> SafeString:
        state = tool_state(tool, latest())
        return lines([mark(state.level, state.word), *state.reasons])

    @admin.display(description=_("a call needs"))
    def needs_shown(self, tool: Tool) -> SafeString | str:
        rights = needs(rights_of(tool, latest().tools.get(tool.name)))
        return lines(rights) if rights else gettext("nothing: anyone may")

    @admin.display(description=_("module"), ordering="listener__module")
    def module_shown(self, tool: Tool) -> str:
        return tool.listener.module.module_id if tool.listener is not None else ""

    @admin.display(description=_("manifest's rights"))
    def manifest_rights(self, tool: Tool) -> SafeString | str:
        rights = list(dict.fromkeys(listener.right for listener in _reached(tool) if listener.right))
        return lines(code(right) for right in rights) if rights else gettext("none")

    @admin.display(description=_("listeners"))
    def listeners_shown(self, tool: Tool) -> SafeString | str:
        rows: list[str] = []
        for listener in _reached(tool):
            rows.append(link(listener))
            if listener.problem or listener.tool_problem:
                rows.append(refusal(listener))
            elif not listener.module.present:
                rows.append(mark(QUIET, gettext("module gone")))
        return lines(rows) if rows else gettext("none")

    @admin.display(description=_("how a call runs"))
    def runs_shown(self, tool: Tool) -> SafeString:
        return lines(manner(_reached(tool)))

    @admin.display(description=_("drift"))
    def findings_shown(self, tool: Tool) -> SafeString:
        # Reading manifests takes a good part of the package, which a process that only serves does without.
        from mcp_gateway.manifest.drift import by_kind, findings_of

        groups = [{"kind": kind, "findings": group} for kind, group in by_kind(findings_of(tool))]
        return render_to_string("admin/mcp_gateway/findings.html", {"groups": groups})

    @admin.display(description=_("input schema"))
    def input_shown(self, tool: Tool) -> SafeString:
        return pretty_json(tool.input_schema, gettext("none: any object is accepted"))

    @admin.display(description=_("output schema"))
    def output_shown(self, tool: Tool) -> SafeString:
        return pretty_json(tool.output_schema, gettext("none: its result is content alone"))


def _reached(tool: Tool) -> list[Listener]:
    """The listeners a call reaches, in order, and after them refused ones of the same event."""
    listeners = {
        (listener.module.module_id, listener.position): listener
        for listener in Listener.objects.filter(Q(event=tool.name) | Q(event__contains="*")).select_related("module")
    }
    entry = latest().tools.get(tool.name)
    reached = [
        listeners.pop(key)
        for found in (entry.listeners if entry is not None else ())
        if (key := (found.module.module_id, found.position)) in listeners
    ]
    refused = [
        listener
        for listener in listeners.values()
        if listener.event == tool.name and (listener.problem or listener.tool_problem)
    ]
    return reached + refused
