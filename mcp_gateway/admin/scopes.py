"""OAuth scopes: what they are called, what people read, and what they guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from mcp_gateway.admin.display import WARN, StyledAdmin, apart, lines, link, mark
from mcp_gateway.admin.scope_uses import full, named_in_files, names_of, short, tokens_with, with_users
from mcp_gateway.models import Client, Scope, ScopeGroup

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


class ConsentTextFilter(admin.SimpleListFilter):
    """Scopes with or without a text that people can understand."""

    title = _("consent text")
    parameter_name = "text"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("given", _("given")), ("missing", _("missing"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Scope]) -> QuerySet[Scope]:
        if self.value() == "given":
            return queryset.exclude(description="")
        if self.value() == "missing":
            return queryset.filter(description="")
        return queryset


class ScopeGroupInline(admin.TabularInline):  # type: ignore[type-arg]
    """Who may grant the scope: who may change it decides that too."""

    model = ScopeGroup
    extra = 0
    verbose_name_plural = _("Only members of these groups can grant it (none: everyone can)")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perms(["mcp_gateway.view_scope"]) or self._may_change(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_change(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_change(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may_change(request)

    @staticmethod
    def _may_change(request: HttpRequest) -> bool:
        return request.user.has_perms(["mcp_gateway.change_scope"])


@admin.register(Scope)
class ScopeAdmin(StyledAdmin):
    """Scopes. One that something needs can be disabled, not deleted."""

    list_display = ("name", "text_shown", "use_count", "enabled", "self_service", "granted_by")
    list_filter = ("enabled", ConsentTextFilter, "is_default", "advertised", "self_service")
    search_fields = ("name", "description")
    filter_horizontal = ("implies",)
    inlines = (ScopeGroupInline,)
    fieldsets = (
        (None, {"fields": ("name", "description", "enabled")}),
        (_("Who gets it"), {"fields": ("is_default", "advertised", "self_service", "implies")}),
        (_("Is used by"), {"fields": ("used_by",)}),
    )
    readonly_fields = ("used_by",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Scope]:
        return with_users(super().get_queryset(request).prefetch_related("groups"))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        naming = named_in_files()
        for scope in changelist.result_list:
            scope.naming = naming.get(scope.name, ())
        return changelist

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fieldsets if obj is not None else self.fieldsets[:-1]

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "implies":
            kwargs["label"] = _("Implied scopes")
            kwargs["widget"] = FilteredSelectMultiple(_("implied scopes"), is_stacked=False)
            match = request.resolver_match
            own = match.kwargs.get("object_id", "") if match is not None else ""
            if own.isdecimal():
                kwargs["queryset"] = Scope.objects.exclude(pk=own)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Scope, form: ModelForm[Any], change: bool) -> None:
        super().save_model(request, obj, form, change)
        before = form.initial.get("name")
        if change and before and before != obj.name:
            self._warn_of_lost_name(request, before)
        if change and form.initial.get("enabled") and not obj.enabled:
            self._warn_of_closed(request, obj)
        if not obj.description:
            self.message_user(
                request,
                gettext("“%(scope)s” has no consent text: people who are asked for it see only its name.")
                % {"scope": obj},
                messages.WARNING,
            )

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What deleting would take along, and what forbids it (`mcp_gateway.models.defaults.protect_used_scope`)."""
        scopes = list(objs)
        if "post" not in request.POST:
            self._warn_of_losing(request, scopes)
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        for scope in scopes:
            for user in scope.needed_by():
                protected.append(
                    format_html(
                        gettext("{}: {} needs “{}”. Take the scope off it first, or disable the scope instead."),
                        str(user._meta.verbose_name).capitalize(),
                        link(user, request),
                        scope.name,
                    )
                )
        return deleted, counts, lacking, protected

    def _warn_of_losing(self, request: HttpRequest, scopes: list[Scope]) -> None:
        """Say on the page that asks for confirmation what would be closed."""
        named = named_in_files()
        for scope in scopes:
            if scope.name in named:
                text = gettext("Files of modules guard with “%(scope)s” what nobody could reach without it: %(rows)s.")
                self.message_user(
                    request, text % {"scope": scope, "rows": names_of(named[scope.name])}, messages.WARNING
                )

    def delete_model(self, request: HttpRequest, obj: Scope) -> None:
        super().delete_model(request, obj)
        self._warn_of_lost_name(request, obj.name)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Scope]) -> None:
        lost = [scope.name for scope in queryset]
        super().delete_queryset(request, queryset)
        for name in lost:
            self._warn_of_lost_name(request, name)

    def _warn_of_lost_name(self, request: HttpRequest, name: str) -> None:
        """Files and tokens hold names of scopes, which nobody can change there for them."""
        naming, tokens = named_in_files().get(name, ()), tokens_with(name)
        if naming:
            text = gettext(
                "Files of modules still name “%(scope)s”: what they guard with it is closed until they name another "
                "scope, or a scope “%(scope)s” exists again. They are: %(rows)s."
            )
            self.message_user(request, text % {"scope": name, "rows": names_of(naming)}, messages.WARNING)
        if tokens:
            text = ngettext(
                "%(count)d access token carries “%(scope)s”, which is worth nothing now.",
                "%(count)d access tokens carry “%(scope)s”, which is worth nothing now.",
                tokens,
            )
            self.message_user(request, text % {"count": tokens, "scope": name}, messages.WARNING)

    def _warn_of_closed(self, request: HttpRequest, scope: Scope) -> None:
        needing = [row for row in scope.needed_by() if not isinstance(row, Client)]
        naming = named_in_files().get(scope.name, ())
        if needing or naming:
            text = gettext("No token carries “%(scope)s” any more. It is needed by: %(rows)s.")
            rows = names_of((*needing, *naming))
            self.message_user(request, text % {"scope": scope, "rows": rows}, messages.WARNING)

    @admin.display(description=_("consent text"), ordering="description")
    def text_shown(self, scope: Scope) -> SafeString | str:
        return scope.description or lines([mark(WARN, gettext("missing")), gettext("People see only the name.")])

    @admin.display(description=_("can be granted by"))
    def granted_by(self, scope: Scope) -> SafeString | str:
        return apart(sorted(group.name for group in scope.groups.all())) or gettext("everyone")

    @admin.display(description=_("is used by"))
    def use_count(self, scope: Any) -> SafeString | str:
        return short(scope, scope.naming)

    @admin.display(description=_("is used by"))
    def used_by(self, scope: Scope) -> SafeString:
        return full(scope)
