"""Personal access tokens: whose there are, what they may do, and new ones for those who cannot make their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mcp_gateway import registry
from mcp_gateway.admin.display import BAD, StyledAdmin, code, lines, mark
from mcp_gateway.models import PersonalToken
from mcp_gateway.oauth import personal
from mcp_gateway.oauth.issuing import Disabled, builtin_application
from mcp_gateway.oauth.personal_form import TokenFields
from mcp_gateway.rights import acting_problem, not_grantable

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


class NewTokenForm(TokenFields, forms.ModelForm):  # type: ignore[type-arg]
    """A token for a user; ``request`` is the administrator's, set by the page."""

    request: HttpRequest

    class Meta:
        model = PersonalToken
        fields = ("user", "name")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer(personal.offered_by_administrators(registry.snapshot()))

    def clean(self) -> dict[str, Any]:
        """No more than the user could grant, and nobody becomes more than they are by a token."""
        data: dict[str, Any] = super().clean() or {}
        user = data.get("user")
        if user is None:
            return data
        beyond = acting_problem(self.request.user, user)
        if beyond:
            self.add_error("user", beyond)
        if not getattr(user, "is_active", True):
            self.add_error("user", _("This user is disabled, and so would the token be."))
        refused = not_grantable(user, data.get("scopes", ()), registry.snapshot())
        if refused:
            self.add_error(
                "scopes",
                gettext("This user may not grant: %(scopes)s. It takes a member of another group.")
                % {"scopes": ", ".join(sorted(refused))},
            )
        try:
            builtin_application(personal.CLIENT_ID, personal.APPLICATION_NAME)
        except Disabled:
            self.add_error(None, _("The client “Personal access tokens” is disabled."))
        return data


@admin.register(PersonalToken)
class PersonalTokenAdmin(StyledAdmin):
    """They are made and revoked; what a token may do never changes."""

    list_display = ("name", "user", "scopes", "endpoint", "expires", "last_used")
    list_select_related = ("user", "access_token")
    search_fields = ("name",)
    date_hierarchy = "created"
    raw_id_fields = ("user",)
    fields = ("name", "user", "scopes", "endpoint", "expires", "created", "last_used")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is not None:
            return super().get_form(request, obj, change, **kwargs)
        kwargs = {**kwargs, "form": NewTokenForm, "fields": NewTokenForm.Meta.fields}
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.request = request
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = self.fields if obj is not None else ("user", "name", "endpoint", "scopes", "days")
        return ((None, {"fields": fields}),)

    def save_model(self, request: HttpRequest, obj: PersonalToken, form: Any, change: bool) -> None:
        data = form.cleaned_data
        token, text = personal.make(
            user=obj.user,
            name=obj.name,
            slug=data["endpoint"],
            scopes=data["scopes"],
            days=data["days"],
            made_by=request.user,
            meta=request.META,
        )
        obj.pk, obj.access_token, obj.created = token.pk, token.access_token, token.created
        obj._state.adding = False
        obj.text = text  # type: ignore[attr-defined]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # What follows is the page with the token, whatever the button.
        alone = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**alone, **(extra_context or {})})

    def response_add(self, request: HttpRequest, obj: PersonalToken, post_url_continue: Any = None) -> HttpResponse:
        """A page with the token, this once: a message would travel through cookies and sessions."""
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": gettext("The new token"),
            "token": obj,
            "text": obj.text,  # type: ignore[attr-defined]
        }
        response = TemplateResponse(request, "admin/mcp_gateway/personaltoken/made.html", context)
        response["Cache-Control"] = "no-store"
        return response

    def delete_model(self, request: HttpRequest, obj: PersonalToken) -> None:
        personal.revoke(obj, revoked_by=request.user, meta=request.META)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[PersonalToken]) -> None:
        for token in queryset.select_related("user", "access_token"):
            self.delete_model(request, token)

    @admin.display(description=_("scopes"))
    def scopes(self, token: PersonalToken) -> SafeString:
        return lines(code(name) for name in token.access_token.scope.split())

    @admin.display(description=_("endpoint"))
    def endpoint(self, token: PersonalToken) -> SafeString:
        return lines(token.access_token.resource)

    @admin.display(description=_("works until"), ordering="access_token__expires")
    def expires(self, token: PersonalToken) -> Any:
        expires = token.access_token.expires
        return expires if expires > timezone.now() else mark(BAD, gettext("expired"))
