"""What the gateway lets an OAuth client do, beside django-oauth-toolkit's own application page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db import router, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.formats import localize
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import AbstractApplication, get_application_model

from mcp_gateway.admin.client_form import ClientForm, beyond, came_by_itself, set_free
from mcp_gateway.admin.display import BAD, GOOD, QUIET, WARN, StyledAdmin, code, lines, mark, pretty_json
from mcp_gateway.models import Client
from mcp_gateway.oauth import machines
from mcp_gateway.oauth.documents import host_of

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


# Whom a client acts as, and what proves that it is the client.
_ACTING = ("service_user", "auth_method", "jwks_uri", "jwks")


class OriginFilter(admin.SimpleListFilter):
    """Who made the client known."""

    title = _("origin")
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("manual", _("an administrator")), ("dcr", _("it registered itself")), ("cimd", _("its document"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Client]) -> QuerySet[Client]:
        value = self.value()
        return queryset.filter(application__registration_source=value) if value else queryset


class UseFilter(admin.SimpleListFilter):
    """Clients that got a token, and those that never did."""

    title = _("use")
    parameter_name = "used"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("used")), ("never", _("never used"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Client]) -> QuerySet[Client]:
        if self.value() == "yes":
            return queryset.filter(last_used__isnull=False)
        if self.value() == "never":
            return queryset.filter(last_used=None, registered_at__isnull=False)
        return queryset


@admin.register(Client)
class ClientAdmin(StyledAdmin):
    """Restrictions of applications, and the clients that registered themselves.

    An application that an administrator made and that has no row here is enabled and may have every scope.
    """

    list_display = ("application", "origin_shown", "state_shown", "scopes", "service_user", "used_shown")
    list_filter = ("enabled", "awaits_approval", OriginFilter, UseFilter, "allowed_scopes")
    date_hierarchy = "registered_at"
    actions = ("enable", "disable")
    list_select_related = ("application__user", "service_user")
    search_fields = ("application__name", "application__client_id")
    filter_horizontal = ("allowed_scopes",)
    raw_id_fields = ("service_user",)
    fieldsets = (
        (None, {"fields": ("application", "state_shown", "enabled", "allowed_scopes", "service_user")}),
        (
            _("How it proves itself"),
            {
                "fields": ("auth_method", "jwks_uri", "jwks"),
                "description": _("Keys are for the authentication by signature (private_key_jwt)."),
            },
        ),
        (
            _("Where it comes from"),
            {"fields": ("origin_shown", "document_shown", "registered_at", "last_used", "registration_shown")},
        ),
    )
    _shown = ("state_shown", "origin_shown", "document_shown", "registered_at", "last_used", "registration_shown")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Client]:
        return super().get_queryset(request).prefetch_related("allowed_scopes")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return self._shown
        if beyond(request, obj):
            return (*self._shown, "application", "allowed_scopes", *_ACTING)
        # What a client says of itself, it would say again: only switching it off holds.
        return (*self._shown, "application", *(_ACTING if came_by_itself(obj) else ()))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ((None, {"fields": ("application", "enabled", "allowed_scopes", "service_user")}), self.fieldsets[1])
        return self.fieldsets

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        client = kwargs.get("obj")
        problem = beyond(request, client) if client is not None and request.method == "GET" else ""
        if problem:
            text = gettext("You can disable this client and delete it. %s")
            self.message_user(request, text % problem, messages.INFO)
        return super().render_change_form(request, context, *args, **kwargs)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "application":
            # A second row would be refused, and every client that registered itself has one.
            kwargs["queryset"] = get_application_model()._default_manager.filter(mcp_client=None)
            kwargs["help_text"] = _("One that has no client yet: make it under Applications first.")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **{"form": ClientForm, **kwargs})
        form.request = request
        return form

    def save_model(self, request: HttpRequest, obj: Client, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        problem = _problem(obj)
        if problem and obj.enabled:
            self.message_user(request, gettext("This client gets no token: %s") % problem, messages.WARNING)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What goes along, and what forbids it: a row that is gone restricts nothing any more."""
        clients = list(objs)
        deleted, counts, lacking, protected = super().get_deleted_objects(clients, request)
        for client in clients:
            if came_by_itself(client):
                deleted.append(gettext("What “%(client)s” registered, and its tokens") % {"client": client})
            problem = set_free(client)
            if problem:
                protected.append(problem)
        return deleted, counts, lacking, protected

    def delete_model(self, request: HttpRequest, obj: Client) -> None:
        # Without its row the application would go on, with its tokens, as if nobody had ever judged it.
        with transaction.atomic(using=router.db_for_write(Client)):
            super().delete_model(request, obj)
            if came_by_itself(obj):
                obj.application.delete()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Client]) -> None:
        for client in queryset.select_related("application"):
            self.delete_model(request, client)

    @admin.action(description=_("Enable the selected clients"), permissions=("change",))
    def enable(self, request: HttpRequest, queryset: QuerySet[Client]) -> None:
        refused = {client.pk: client for client in queryset if not client.enabled and beyond(request, client)}
        for client in refused.values():
            text = gettext("“%(client)s” stays disabled. %(problem)s")
            self.message_user(request, text % {"client": client, "problem": beyond(request, client)}, messages.ERROR)
        self._switch(request, queryset.exclude(pk__in=list(refused)), on=True)

    @admin.action(description=_("Disable the selected clients"), permissions=("change",))
    def disable(self, request: HttpRequest, queryset: QuerySet[Client]) -> None:
        self._switch(request, queryset, on=False)

    def _switch(self, request: HttpRequest, queryset: QuerySet[Client], *, on: bool) -> None:
        # A client that awaits approval is disabled already; what is new is that somebody has decided.
        changed = list(queryset.exclude(enabled=on, awaits_approval=False))
        Client.objects.filter(pk__in=[client.pk for client in changed]).update(enabled=on, awaits_approval=False)
        for client in changed:
            self.log_change(request, client, gettext("Enabled.") if on else gettext("Disabled."))
        text = (
            ngettext("%(count)d client was enabled.", "%(count)d clients were enabled.", len(changed))
            if on
            else ngettext("%(count)d client was disabled.", "%(count)d clients were disabled.", len(changed))
        )
        self.message_user(request, text % {"count": len(changed)}, messages.SUCCESS if changed else messages.INFO)

    @admin.display(description=_("origin"), ordering="application__registration_source")
    def origin_shown(self, client: Client) -> SafeString | str:
        if not came_by_itself(client):
            return gettext("made by an administrator")
        source = client.application.registration_source
        if source == AbstractApplication.RegistrationSource.CIMD:
            return lines([gettext("its document"), code(host_of(client.application.client_id))])
        return gettext("registered itself")

    @admin.display(description=_("state"), ordering="enabled")
    def state_shown(self, client: Client) -> SafeString:
        problem = _problem(client)
        if client.awaits_approval and not client.enabled:
            return mark(WARN, gettext("awaits approval"))
        if client.enabled and problem:
            return mark(WARN, gettext("gets no token: %(problem)s") % {"problem": problem})
        return mark(GOOD, gettext("enabled")) if client.enabled else mark(BAD, gettext("disabled"))

    @admin.display(description=_("last used"), ordering="last_used")
    def used_shown(self, client: Client) -> Any:
        if client.last_used is not None:
            return client.last_used
        return mark(QUIET, gettext("never used") if came_by_itself(client) else gettext("not noted"))

    @admin.display(description=_("document"))
    def document_shown(self, client: Client) -> SafeString:
        application = client.application
        if application.registration_source != AbstractApplication.RegistrationSource.CIMD:
            return mark(QUIET, gettext("none"))
        # No link: the page may be anything.
        rows: list[Any] = [code(application.client_id)]
        if application.cimd_expires_at is not None:
            when = localize(localtime(application.cimd_expires_at))
            rows.append(gettext("is read again when the client comes after %(when)s") % {"when": when})
        return lines(rows)

    @admin.display(description=_("what it says of itself"))
    def registration_shown(self, client: Client) -> SafeString:
        return pretty_json(client.registration)

    @admin.display(description=_("allowed scopes"))
    def scopes(self, client: Client) -> str:
        chosen = client.allowed_scopes.all()
        if not came_by_itself(client):
            return ", ".join(scope.name for scope in chosen) or gettext("every scope")
        if not chosen:
            return gettext("self-service scopes")
        return ", ".join(scope.name for scope in chosen if scope.self_service) or gettext(
            "no scope: none is self-service"
        )


def _problem(client: Client) -> str:
    """Why a client that acts for itself gets no token."""
    if not machines.is_machine(client.application):
        return ""
    return machines.problem(client.application, client.service_user)
