"""The endpoints of the authorization server that programs POST to: token, revocation, and that of devices."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider import views as toolkit
from oauth2_provider.models import DeviceCodeResponse, get_access_token_model
from oauthlib.oauth2.rfc6749 import errors

from mcp_gateway.oauth import descriptions, refused_requests
from mcp_gateway.oauth.audience import public
from mcp_gateway.oauth.gateway_view import GatewayView, MachineView, concerns_gateway, refusal

_DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
_NO_DEVICES = "A device code gets no token for an MCP endpoint; use the authorization code flow."


# The toolkit's decorators mark its own dispatch(), which ours replaces.
@method_decorator([csrf_exempt, login_not_required], name="dispatch")
class TokenView(MachineView, toolkit.TokenView):  # type: ignore[misc]
    """RFC 6749 section 3.2."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """With the headers of section 5.1 on every answer: the toolkit has none for what fails while it stores."""
        response = self._answer(request, *args, **kwargs)
        refused_requests.note(request, response)
        return response

    def _answer(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        grant_type = request.POST.get("grant_type")
        if grant_type == _DEVICE_CODE and not request.POST.get("device_code"):
            return refusal("invalid_request", "The parameter device_code is missing.")
        response: HttpResponseBase = super().post(request, *args, **kwargs)
        if not grant_type and _told(response).get("error") == "unsupported_grant_type":
            return refusal("invalid_request", "The parameter grant_type is missing; send a form, not JSON.")
        if "client identifier" in _told(response).get("error_description", ""):
            # oauthlib calls it a server error that a client_id stands beside the proof of another client.
            return refusal("invalid_request", "client_id is not the client that proves itself.")
        _describe(response)
        response["Content-Type"] = "application/json"
        response["Cache-Control"] = "no-store"
        return response

    def authorization_flow_token_response(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The toolkit looks for the token it has just stored, which another request may have revoked by then."""
        try:
            response: HttpResponseBase = super().authorization_flow_token_response(request, *args, **kwargs)
        except get_access_token_model().DoesNotExist:
            return refusal("invalid_grant", "The token was revoked meanwhile.")
        return response

    def device_flow_token_response(
        self, request: HttpRequest, device_code: str, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """RFC 8628 section 3.4, for a project's own clients."""
        if concerns_gateway(request.POST):
            return refusal("unauthorized_client", _NO_DEVICES)
        response: HttpResponseBase = super().device_flow_token_response(request, device_code, *args, **kwargs)
        return response


def _told(response: HttpResponseBase) -> dict[str, Any]:
    """The object of an error's answer; empty for any other."""
    if response.status_code not in (400, 401) or not isinstance(response, HttpResponse):
        return {}
    try:
        told = json.loads(response.content)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _describe(response: HttpResponseBase) -> None:
    """Say what an error means that comes without a word."""
    told = _told(response)
    description = descriptions.of(str(told.get("error", "")))
    if description and not told.get("error_description") and isinstance(response, HttpResponse):
        response.content = json.dumps({**told, "error_description": description})


@method_decorator([csrf_exempt, login_not_required], name="dispatch")
class RevokeTokenView(MachineView, toolkit.RevokeTokenView):  # type: ignore[misc]
    """RFC 7009."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The empty answer of section 2.2, or an error as JSON."""
        response: HttpResponseBase = super().post(request, *args, **kwargs)
        _describe(response)
        response["Content-Type"] = "application/json"
        response["Cache-Control"] = "no-store"
        return response


@method_decorator([csrf_exempt, login_not_required], name="dispatch")
class IntrospectTokenView(GatewayView, toolkit.IntrospectTokenView):  # type: ignore[misc]
    """RFC 7662, for a project's own clients: not for one that is disabled or waits for approval."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The toolkit's answer, or 401 where it does not expect that a client can be refused with a reason."""
        try:
            response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        except errors.OAuth2Error as error:
            challenge = {"WWW-Authenticate": 'Basic realm="OAuth"'}
            return refusal("invalid_client", str(error.description or ""), 401, **challenge)
        return response


@method_decorator([csrf_exempt, login_not_required], name="dispatch")
class DeviceAuthorizationView(MachineView, toolkit.DeviceAuthorizationView):  # type: ignore[misc]
    """RFC 8628 section 3.1, for a project's own clients: whoever agrees on another device sees neither endpoint nor
    scopes in our words, so it leads to no token for an endpoint.
    """

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The codes, or 400 ``unauthorized_client``."""
        if concerns_gateway(request.POST):
            return refusal("unauthorized_client", _NO_DEVICES)
        response: HttpResponseBase = super().post(request, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response

    def create_device_authorization_response(self, request: HttpRequest) -> tuple[Any, Any, int]:
        """The toolkit fails on members that oauthlib adds, and sends nobody anywhere where no page is set."""
        headers, codes, status = super().create_device_authorization_response(request)
        if status == 200:
            codes = {field.name: codes[field.name] for field in fields(DeviceCodeResponse) if field.name in codes}
            codes["verification_uri"] = codes.get("verification_uri") or public(reverse("oauth2_provider:device"))
        return headers, codes, status
