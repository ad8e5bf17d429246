"""What the admin pages of tools, resources and prompts have in common: files decide, administrators override."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from mcp_gateway.admin.display import NO_MODULES, StyledAdmin, pretty_json
from mcp_gateway.admin.icons import pictures
from mcp_gateway.models import Offered
from mcp_gateway.registry import snapshot

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

OWN_FIELDS = ("enabled", "required_scopes", "rights_from", "title_override", "description_override")
OWN_WIDGETS = {
    "title_override": AdminTextInputWidget(attrs={"size": 60}),
    "description_override": AdminTextareaWidget(attrs={"rows": 5}),
}


class OfferedForm(forms.ModelForm):  # type: ignore[type-arg]
    """The administrator's columns; an empty text means the manifest's."""

    # What anybody could do where no right is left.
    UNGUARDED: ClassVar[Any] = _("Without a required scope anyone could get “%(name)s”")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, own in (("title_override", self.instance.title), ("description_override", self.instance.description)):
            if name in self.fields:
                self.fields[name].widget.attrs["placeholder"] = own

    def own_rights(self) -> list[str]:
        """The rights that the module's files name."""
        return [self.instance.right] if self.instance.right else []

    def clean(self) -> dict[str, Any]:
        """Refuse to set the manifest's right aside where no scope takes its place."""
        cleaned = super().clean() or self.cleaned_data
        alone = cleaned.get("rights_from") == Offered.RightsFrom.ADMINISTRATOR
        if alone and "required_scopes" in cleaned and not cleaned["required_scopes"]:
            rights = self.own_rights()
            if rights:
                text = gettext(
                    "%(unguarded)s, as the manifest's right (%(rights)s) would not count. Choose the scopes that a "
                    "call needs, or let the manifest's right count."
                )
                unguarded = self.UNGUARDED % {"name": self.instance}
                self.add_error("required_scopes", text % {"unguarded": unguarded, "rights": ", ".join(rights)})
        return cleaned


class NeedsScopesFilter(admin.SimpleListFilter):
    """Rows with or without required scopes."""

    title = _("required scopes")
    parameter_name = "scopes"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("some", _("some")), ("none", _("none"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        return queryset.filter(required_scopes__isnull=self.value() == "none").distinct()


class OfferedAdmin(StyledAdmin):
    """Rows that come from files: none is added or deleted here, each can be switched, renamed and guarded."""

    # Whoever has it may let required scopes replace the right that the files name.
    override_permission: ClassVar[str]

    when_empty = NO_MODULES
    filter_horizontal = ("required_scopes",)
    # Its choices are sentences, which a closed list would cut on a phone.
    radio_fields: ClassVar[Any] = {"rights_from": admin.VERTICAL}
    actions = ("switch_on", "switch_off")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # Brings the snapshot up to date once; the columns of every row then read `latest`.
        snapshot()
        return super().get_queryset(request).prefetch_related("required_scopes")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        fields = tuple(self.readonly_fields)
        if obj is not None and obj.rights_from == Offered.RightsFrom.ADMINISTRATOR and not self._may_override(request):
            # Here the required scopes are all that guards it: taking one off is the same power.
            return (*fields, "required_scopes", "rights_from")
        return fields

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "rights_from":
            alone = () if self._may_override(request) else (Offered.RightsFrom.ADMINISTRATOR,)
            kwargs["choices"] = [choice for choice in self.rights_from() if choice[0] not in alone]
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    def rights_from(self) -> list[tuple[str, Any]]:
        """The choices of whose rights count, in the words of the page."""
        return list(Offered.RightsFrom.choices)

    def _may_override(self, request: HttpRequest) -> bool:
        return request.user.has_perms([self.override_permission])

    @admin.action(description=_("Switch on the selected %(verbose_name_plural)s"), permissions=("change",))
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch(request, queryset, on=True)

    @admin.action(description=_("Switch off the selected %(verbose_name_plural)s"), permissions=("change",))
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch(request, queryset, on=False)

    def _switch(self, request: HttpRequest, queryset: QuerySet[Any], *, on: bool) -> None:
        changed = list(queryset.exclude(enabled=on))
        self.model.objects.filter(pk__in=[row.pk for row in changed]).update(enabled=on)
        for row in changed:
            self.log_change(request, row, gettext("Switched on.") if on else gettext("Switched off."))
        text = (
            ngettext("%(count)d %(one)s was switched on.", "%(count)d %(many)s were switched on.", len(changed))
            if on
            else ngettext("%(count)d %(one)s was switched off.", "%(count)d %(many)s were switched off.", len(changed))
        )
        words = {
            "count": len(changed), "one": self.opts.verbose_name, "many": self.opts.verbose_name_plural,
        }  # fmt: skip
        self.message_user(request, text % words, messages.SUCCESS)

    @admin.display(description=_("title"), ordering="title")
    def title_shown(self, row: Offered) -> str:
        return row.effective_title

    @admin.display(description=_("icons"))
    def icons_shown(self, row: Offered) -> SafeString:
        return pictures(json.loads(row.extras or "{}").get("icons", ()))

    @admin.display(description=_("annotations, icons, _meta"))
    def extras_shown(self, row: Offered) -> SafeString:
        return pretty_json("" if row.extras == "{}" else row.extras)
