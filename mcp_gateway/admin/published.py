"""Resources and prompts: what the files of modules publish, and what administrators make of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_gateway.admin.display import code, lines, link, mark, pretty_json
from mcp_gateway.admin.offered import OWN_FIELDS, OWN_WIDGETS, NeedsScopesFilter, OfferedAdmin, OfferedForm
from mcp_gateway.admin.status import needs, published_state
from mcp_gateway.models import Listener, Offered, Prompt, Published, Resource
from mcp_gateway.registry import latest
from mcp_gateway.resources.listeners import answer_event, guarding, reached
from mcp_gateway.resources.mime import is_text

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

# Characters of a content that its page shows.
SHOWN = 20_000

# Whose rights count: what guards these is a meta file, and no manifest.
RIGHTS_FROM: list[tuple[str, Any]] = [
    (Offered.RightsFrom.MANIFEST, _("the file's right alone")),
    (Offered.RightsFrom.BOTH, _("the file's right and the required scopes")),
    (Offered.RightsFrom.ADMINISTRATOR, Offered.RightsFrom.ADMINISTRATOR.label),
]

# What the file says, and beside it the administrator.
TEXTS = (("own_title", "title_override"), ("own_description", "description_override"))


class RightsFromFilter(admin.ChoicesFieldListFilter):
    """Whose rights count, in the words of the page."""

    def choices(self, changelist: Any) -> Any:
        words = {str(Offered.RightsFrom(value).label): word for value, word in RIGHTS_FROM}
        for choice in super().choices(changelist):
            yield {**choice, "display": words.get(str(choice["display"]), choice["display"])}


class PublishedForm(OfferedForm):
    """Both come from meta files, tools from manifests: the labels that they share say “manifest”."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("title_override", "description_override", "visibility_override"):
            if name in self.fields:
                self.fields[name].help_text = _("Empty: the file's.")


class ResourceForm(PublishedForm):
    """The administrator's columns of a resource."""

    UNGUARDED = _("Without a required scope anyone could read “%(name)s”")

    class Meta:
        model = Resource
        fields = (*OWN_FIELDS, "visibility_override")
        widgets = OWN_WIDGETS


class PromptForm(PublishedForm):
    """The administrator's columns of a prompt."""

    class Meta:
        model = Prompt
        fields = (*OWN_FIELDS, "visibility_override")
        widgets = OWN_WIDGETS


class PublishedAdmin(OfferedAdmin):
    """What both pages show."""

    list_filter = ("enabled", "available", NeedsScopesFilter, ("rights_from", RightsFromFilter), "module")
    list_select_related = ("module",)
    readonly_fields: ClassVar[Any] = (
        "state_shown",
        "needs_shown",
        "right_shown",
        "own_title",
        "own_description",
        "visibility_shown",
        "module_shown",
        "icons_shown",
        "file",
        "arguments_shown",
        "extras_shown",
        "content_shown",
    )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # What it guarded stays closed until somebody says that it need not.
        retired = obj is not None and not obj.available and not obj.problem
        return retired and super(OfferedAdmin, self).has_delete_permission(request, obj)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("module").defer("content")

    def rights_from(self) -> list[tuple[str, Any]]:
        return RIGHTS_FROM

    @admin.display(description=_("state"))
    def state_shown(self, row: Published) -> SafeString:
        state = published_state(row, latest())
        return lines([mark(state.level, state.word), *state.reasons])

    @admin.display(description=_("it needs"))
    def needs_shown(self, row: Published) -> SafeString | str:
        own = row.effective_right([row.right], (scope.name for scope in row.required_scopes.all()))
        of_listeners = (guard.right for guard in guarding(latest(), answer_event(row)) if guard.right)
        rights = needs(dict.fromkeys((*own, *of_listeners)))
        return lines(rights) if rights else gettext("nothing: anyone may")

    @admin.display(description=_("file's right"))
    def right_shown(self, row: Published) -> SafeString | str:
        return code(row.right) if row.right else gettext("none")

    @admin.display(description=_("file's title"))
    def own_title(self, row: Published) -> str:
        return row.title

    @admin.display(description=_("file's description"))
    def own_description(self, row: Published) -> str:
        return row.description

    @admin.display(description=_("file's visibility"))
    def visibility_shown(self, row: Published) -> str:
        return str(Offered.Visibility(row.visibility).label)

    @admin.display(description=_("module"), ordering="module")
    def module_shown(self, row: Published) -> SafeString:
        return link(row.module)

    @admin.display(description=_("arguments"))
    def arguments_shown(self, row: Published) -> SafeString:
        return pretty_json("" if row.arguments == "[]" else row.arguments)

    @admin.display(description=_("content"))
    def content_shown(self, row: Published) -> SafeString | str:
        if not row.content_digest:
            listeners = [link(listener) for listener in _answering(row)]
            return lines([gettext("a listener answers for it:"), *listeners]) if listeners else gettext("none")
        return self.content(row, bytes(row.content or b""))

    def content(self, row: Any, content: bytes) -> SafeString | str:
        """The content as its page shows it."""
        raise NotImplementedError


@admin.register(Resource)
class ResourceAdmin(PublishedAdmin):
    """What ``resources/list`` and ``resources/templates/list`` show."""

    form = ResourceForm
    override_permission = "mcp_gateway.override_resource_rights"
    list_display = ("uri", "title_shown", "state_shown", "needs_shown", "module")
    search_fields = ("uri", "name", "title", "description", "title_override", "description_override")
    fieldsets = (
        (None, {"fields": ("uri", "state_shown", "enabled", "module_shown", "file")}),
        (
            _("Who may read it"),
            {
                "fields": (
                    *("needs_shown", "right_shown", "required_scopes", "rights_from"),
                    ("visibility_shown", "visibility_override"),
                ),
                "description": _("A change holds from the next request on, in every worker."),
            },
        ),
        (
            _("What models read"),
            {
                "fields": (
                    "name",
                    *TEXTS,
                    "mime_type",
                )
            },
        ),
        (_("Content"), {"fields": ("size_shown", "content_shown")}),
        (_("Further"), {"fields": ("arguments_shown", "icons_shown", "extras_shown"), "classes": ("collapse",)}),
    )
    readonly_fields = (*PublishedAdmin.readonly_fields, "uri", "name", "mime_type", "size_shown")

    @admin.display(description=_("size"))
    def size_shown(self, resource: Resource) -> str:
        return gettext("unknown") if resource.size is None else filesizeformat(resource.size)

    def content(self, row: Any, content: bytes) -> SafeString | str:
        if not is_text(row.mime_type):
            return gettext("binary; clients get it in base64")
        return _text(content.decode("utf-8", "replace"))


@admin.register(Prompt)
class PromptAdmin(PublishedAdmin):
    """What ``prompts/list`` shows."""

    form = PromptForm
    override_permission = "mcp_gateway.override_prompt_rights"
    list_display = ("name", "title_shown", "state_shown", "needs_shown", "module")
    search_fields = ("name", "title", "description", "title_override", "description_override")
    fieldsets = (
        (None, {"fields": ("name", "state_shown", "enabled", "module_shown", "file")}),
        (
            _("Who may get it"),
            {
                "fields": (
                    *("needs_shown", "right_shown", "required_scopes", "rights_from"),
                    ("visibility_shown", "visibility_override"),
                ),
                "description": _("A change holds from the next request on, in every worker."),
            },
        ),
        (
            _("What people read"),
            {
                "fields": (
                    *TEXTS,
                    "arguments_shown",
                )
            },
        ),
        (_("Messages"), {"fields": ("content_shown",)}),
        (_("Further"), {"fields": ("icons_shown", "extras_shown"), "classes": ("collapse",)}),
    )
    readonly_fields = (*PublishedAdmin.readonly_fields, "name")

    def content(self, row: Any, content: bytes) -> SafeString | str:
        messages = json.loads(content)
        return lines(_text(f"{message['role']}: {_block(message['content'])}") for message in messages)


def _block(block: Mapping[str, Any]) -> str:
    """A block of a message in words: a text as it is, of anything else where it is, of what kind, and what it says."""
    if block["type"] == "text":
        return str(block["text"])
    held = block.get("resource", block)
    kind = f"{block['type']} {held.get('uri', '')} {held.get('mimeType', '')}".split()
    text = held.get("text", "") if "resource" in block else ""
    return " ".join(kind) + (f"\n{text}" if text else "")


def _answering(row: Published) -> list[Listener]:
    """The listeners that answer for a row without content, in order."""
    found = reached(latest(), answer_event(row))
    rows = Listener.objects.filter(event__startswith="mcp:", module__present=True).select_related("module")
    known = {(listener.module.module_id, listener.position): listener for listener in rows}
    keys = ((entry.module.module_id, entry.position) for entry in found)
    return [known[key] for key in keys if key in known]


def _text(text: str) -> SafeString:
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return format_html('<pre class="mcp-json mcp-text">{}</pre>', shown)
