"""What may be written of a client, and by whom, and when its row may go."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext
from oauth2_provider.models import AbstractApplication

from mcp_gateway.conf import gateway_settings
from mcp_gateway.conf.registration import OPEN
from mcp_gateway.models import Client
from mcp_gateway.oauth import client_metadata, machines
from mcp_gateway.oauth.fetch import FetchError, checked_url
from mcp_gateway.rights import acting_problem


class ClientForm(forms.ModelForm):  # type: ignore[type-arg]
    """Keys that an administrator gives a client are judged as those of a client that registers itself.

    ``request`` is the administrator's, set by the page.
    """

    request: HttpRequest

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scopes: Any = self.fields.get("allowed_scopes")
        if scopes is not None and came_by_itself(self.instance):
            own = scopes.queryset.filter(Q(self_service=True) | Q(clients=self.instance))
            scopes.queryset = own.distinct()
            scopes.help_text = gettext(
                "It registered itself, so it may ask for self-service scopes alone. Those chosen here limit it "
                "further; none chosen: every self-service scope."
            )

    def clean_service_user(self) -> Any:
        """Somebody whom this administrator may let a client act as."""
        user = self.cleaned_data.get("service_user")
        problem = acting_problem(self.request.user, user) if user is not None else ""
        if problem:
            raise forms.ValidationError(problem)
        return user

    def clean_enabled(self) -> bool:
        """What acts as somebody else is enabled by those alone who may let it."""
        enabled = bool(self.cleaned_data.get("enabled"))
        problem = beyond(self.request, self.instance)
        if problem and enabled and not self.instance.enabled:
            raise forms.ValidationError(problem)
        return enabled

    def clean_jwks(self) -> str:
        """A JSON Web Key Set of public keys."""
        text = str(self.cleaned_data.get("jwks") or "").strip()
        if not text:
            return ""
        try:
            return client_metadata.checked_keys(json.loads(text))
        except ValueError:
            raise forms.ValidationError(gettext("This is no JSON.")) from None
        except client_metadata.InvalidMetadata as error:
            raise forms.ValidationError(str(error)) from None

    def clean_jwks_uri(self) -> str:
        """An https URL that may be fetched."""
        url = str(self.cleaned_data.get("jwks_uri") or "").strip()
        if url:
            try:
                checked_url(url)
            except FetchError as error:
                raise forms.ValidationError(str(error)) from None
        return url

    def clean(self) -> dict[str, Any]:
        """Signatures need keys, of one place."""
        cleaned = super().clean() or self.cleaned_data
        uri, keys = cleaned.get("jwks_uri"), cleaned.get("jwks")
        if uri and keys:
            self.add_error("jwks", gettext("Give the keys or their address, not both."))
        if cleaned.get("auth_method") == Client.AuthMethod.PRIVATE_KEY and not self.errors and not uri and not keys:
            self.add_error("auth_method", gettext("Without keys nothing that the client signs can be checked."))
        return cleaned


def came_by_itself(client: Any) -> bool:
    """Whether a client registered itself."""
    return client is not None and client.registered_at is not None


def beyond(request: HttpRequest, client: Client) -> str:
    """Why the administrator of a request may only look at a client, disable and delete it; empty where more is hers."""
    return acting_problem(request.user, client.service_user) if client.service_user is not None else ""


def set_free(client: Client) -> str:
    """Why a row must stay: without it the client could do what an administrator keeps from it; empty where it may go.

    What has no row is enabled and may have every scope, and a client with a document comes back by itself.
    """
    if came_by_itself(client):
        by_document = client.application.registration_source == AbstractApplication.RegistrationSource.CIMD
        if client.enabled or not by_document or gateway_settings.registration.documents != OPEN:
            return ""
        text = gettext(
            "“%(client)s” would come back, enabled, as soon as its document is read again. Leave it disabled."
        )
        return text % {"client": client}
    limited = client.auth_method == Client.AuthMethod.PRIVATE_KEY or client.allowed_scopes.exists()
    if client.enabled and (machines.is_machine(client.application) or not limited):
        return ""
    text = gettext(
        "The application “%(client)s” would be enabled, with its secret and every scope. Delete the application, which "
        "takes this along, or leave this as it is."
    )
    return text % {"client": client}
