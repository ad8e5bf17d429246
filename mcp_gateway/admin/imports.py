"""The history of imports, with each plan in a form to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.template.loader import render_to_string
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from mcp_gateway.admin.display import BAD, GOOD, QUIET, WARN, ReadOnlyAdmin, lines, mark
from mcp_gateway.models import ImportRun

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

# The lists of a report, the most pressing first, with their level. What did not change is only counted.
SECTIONS = (
    ("refused", _("Refused"), BAD),
    ("warnings", _("Warnings"), WARN),
    ("added", _("Added"), GOOD),
    ("changed", _("Changed"), GOOD),
    ("removed", _("Removed"), QUIET),
)

LEVELS = {
    ImportRun.Outcome.APPLIED: GOOD,
    ImportRun.Outcome.NOTHING: QUIET,
    ImportRun.Outcome.REFUSED: BAD,
    ImportRun.Outcome.FAILED: BAD,
}


@admin.register(ImportRun)
class ImportRunAdmin(ReadOnlyAdmin):
    """Runs of ``import_manifests``."""

    list_display = ("started_at", "outcome_shown", "counts", "started_by", "host")
    list_filter = ("outcome", "started_at")
    search_fields = ("plan", "started_by", "host")
    date_hierarchy = "started_at"
    fieldsets = (
        (None, {"fields": ("started_at", "outcome_shown", "started_by", "host", "folders_shown")}),
        (_("Report"), {"fields": ("plan_shown",), "classes": ("wide",)}),
    )
    readonly_fields = ("outcome_shown", "folders_shown", "plan_shown")

    @admin.display(description=_("outcome"), ordering="outcome")
    def outcome_shown(self, run: ImportRun) -> SafeString:
        level = LEVELS.get(ImportRun.Outcome(run.outcome), QUIET)
        return mark(WARN if level == GOOD and run.refused else level, run.get_outcome_display())

    @admin.display(description=_("folders"))
    def folders_shown(self, run: ImportRun) -> SafeString | str:
        return lines(run.folders) if run.folders else gettext("none: installed apps only")

    @admin.display(description=_("report"))
    def counts(self, run: ImportRun) -> str:
        report = _report(run)
        parts = [_counted(key, len(report[key])) for key, _title, _level in SECTIONS if report.get(key)]
        return ", ".join(parts) or gettext("nothing to do")

    @admin.display(description=_("report"))
    def plan_shown(self, run: ImportRun) -> SafeString:
        report = _report(run)
        return render_to_string(
            "admin/mcp_gateway/importrun/report.html",
            {
                "sections": [
                    {"title": title, "level": level, "entries": report[key]}
                    for key, title, level in SECTIONS
                    if report.get(key)
                ],
                "unchanged": len(report.get("unchanged", ())),
            },
        )


def _counted(key: str, count: int) -> str:
    """One list of a report in words."""
    words = {
        "refused": gettext("%(count)d refused"),
        "warnings": ngettext("%(count)d warning", "%(count)d warnings", count),
        "added": gettext("%(count)d added"),
        "changed": gettext("%(count)d changed"),
        "removed": gettext("%(count)d removed"),
    }
    return words[key] % {"count": count}


def _report(run: ImportRun) -> dict[str, list[Any]]:
    """The stored report; an empty one where its text is no JSON object."""
    try:
        report = json.loads(run.plan or "{}")
    except ValueError:
        return {}
    return {key: value for key, value in report.items() if isinstance(value, list)} if isinstance(report, dict) else {}
