"""The form that makes a personal access token, on the user's own page and in admin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from mcp_gateway import registry
from mcp_gateway.models import PersonalToken
from mcp_gateway.oauth import audience, personal


class TokenFields(forms.Form):
    """Endpoint, scopes and lifetime; `offer` says what there is to choose from."""

    endpoint = forms.ChoiceField(label=_("Server"), required=False)
    scopes = forms.MultipleChoiceField(
        label=_("It may"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Tick at least one.")},
    )
    days = forms.TypedChoiceField(
        label=_("It works for"),
        coerce=int,
        initial=personal.DAYS[1],
        choices=[(days, format_lazy("{days} {word}", days=days, word=_("days"))) for days in personal.DAYS],
    )

    def offer(self, scopes: Iterable[str]) -> None:
        """Say which scopes there are, in the administrator's words, and the endpoints of the site."""
        snapshot = registry.snapshot()
        choices = [(name, snapshot.scopes[name].description or name) for name in scopes]
        endpoints = [(slug, snapshot.endpoints[slug].title) for slug in audience.issued_here(snapshot)]
        self.fields["scopes"].choices = choices  # type: ignore[attr-defined]
        self.fields["endpoint"].choices = endpoints  # type: ignore[attr-defined]
        if len(endpoints) == 1:
            self.fields["endpoint"].initial = endpoints[0][0]
            self.fields["endpoint"].widget = forms.HiddenInput()
        baseline = snapshot.endpoints[endpoints[0][0]].baseline if endpoints else ()
        self.fields["scopes"].initial = [name for name, _text in choices if name in baseline]

    def clean_endpoint(self) -> str:
        """An endpoint that is there (the default one has the empty slug, which a required field would refuse)."""
        slug = str(self.cleaned_data["endpoint"])
        if slug not in audience.issued_here(registry.snapshot()):
            raise forms.ValidationError(_("Choose a server."))
        return slug


class OwnTokenForm(TokenFields):
    """A token for oneself."""

    field_order = ("name", "endpoint", "scopes", "days")

    name = forms.CharField(
        label=_("Name"), max_length=100, help_text=_("What it is for, for example “Editor on my laptop”.")
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.offer(personal.offered(user, registry.snapshot()))

    def clean_name(self) -> str:
        """A name that none of the user's tokens has: a form that is sent twice makes one token."""
        name = str(self.cleaned_data["name"])
        if PersonalToken.objects.filter(user=self.user, name=name).exists():
            raise forms.ValidationError(_("You have a token of this name already."))
        return name
