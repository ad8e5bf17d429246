"""How the admin pages show things: states, JSON, links, and pages that nobody edits."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.utils.safestring import SafeString

# The content of a file in JSON text says nothing to a reader: its beginning is enough.
_DATA_URI = re.compile(r"(data:[^\s\",]{0,100};base64,[A-Za-z0-9+/]{24})[A-Za-z0-9+/=]+")

# Where rows come from files.
NO_MODULES = gettext_lazy(
    "There is nothing here yet. It comes from modules: put one into a folder of modules, and run: "
    "manage.py import_manifests"
)

GOOD, WARN, BAD, QUIET = "good", "warn", "bad", "quiet"


class StyledAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A page with the gateway's few styles."""

    # What to do where there is no row at all.
    when_empty: ClassVar[Any] = ""

    class Media:
        css = {"all": ("mcp_gateway/admin.css",)}  # noqa: RUF012

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, with what to do where there is nothing in it."""
        if self.when_empty and request.method == "GET" and not self.model._default_manager.exists():
            self.message_user(request, self.when_empty, messages.INFO)
        response: HttpResponse = super().changelist_view(request, extra_context)
        return response


class ReadOnlyAdmin(StyledAdmin):
    """Rows that only imports write: they can be looked at."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def without(name: str, fields: Any) -> Any:
    """Fieldsets, or a part of them, without one field."""
    if isinstance(fields, dict):
        return {key: without(name, value) if key == "fields" else value for key, value in fields.items()}
    if isinstance(fields, (list, tuple)):
        return tuple(without(name, entry) for entry in fields if entry != name)
    return fields


def mark(level: str, text: Any) -> SafeString:
    """A word with its colour; the colour repeats what the word says."""
    return format_html('<span class="mcp-mark mcp-{}">{}</span>', level, text)


def lines(texts: Iterable[Any]) -> SafeString:
    """Each text on a line of its own."""
    return format_html_join("", '<div class="mcp-line">{}</div>', ((text,) for text in texts))


def apart(names: Iterable[str]) -> SafeString:
    """Names with a comma between; one that is written from right to left does not turn its neighbours round."""
    return format_html_join(", ", "<bdi>{}</bdi>", ((name,) for name in names))


def code(text: str) -> SafeString:
    """A word of a manifest or a token, to the letter."""
    return format_html('<code class="mcp-code">{}</code>', text)


def pretty_json(text: str, empty: str = "") -> SafeString:
    """JSON text, indented in its own order; what is no JSON is shown as it is."""
    if not text:
        return format_html('<span class="mcp-quiet">{}</span>', empty or _("none"))
    with suppress(ValueError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    text = _DATA_URI.sub(_shortened, text)
    return format_html('<pre class="mcp-json">{}</pre>', text)


def _shortened(found: re.Match[str]) -> str:
    return f"{found[1]}… ({_('%(count)d characters') % {'count': len(found[0])}})"


def link(row: models.Model, request: HttpRequest | None = None) -> SafeString:
    """A row's name, linked to its page where the user may see it (without a request: always)."""
    meta = row._meta
    if request is not None and not request.user.has_perms([f"{meta.app_label}.view_{meta.model_name}"]):
        return format_html("{}", str(row))
    return format_html(
        '<a href="{}">{}</a>', reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk]), str(row)
    )
