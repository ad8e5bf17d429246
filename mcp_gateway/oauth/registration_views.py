"""Dynamic client registration (RFC 7591) and its management by the client (RFC 7592)."""

from __future__ import annotations

from typing import Any

import orjson
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import View
from oauth2_provider.settings import oauth2_settings
from oauth2_provider.utils import parse_bearer_token

from mcp_gateway import request_body
from mcp_gateway.conf import gateway_settings
from mcp_gateway.conf.registration import OFF
from mcp_gateway.models import Client, Tally
from mcp_gateway.oauth import client_metadata, registration
from mcp_gateway.oauth.audience import public
from mcp_gateway.oauth.audit import Kind, record
from mcp_gateway.oauth.client_metadata import AuthMethod, ClientMetadata, InvalidMetadata
from mcp_gateway.oauth.cross_origin import CrossOriginView
from mcp_gateway.oauth.scopes import self_service

#: Bytes of a registration; the largest that clients send are some two thousand.
MAX_BYTES = 16 * 1024

# Changes of one registration in an hour.
_CHANGES = 20

METHODS = tuple(AuthMethod)


class _Refused(Exception):
    """A request that is answered with an error of RFC 7591 section 3.2.2."""

    def __init__(self, error: str, description: str, status: int = 400, **headers: str) -> None:
        super().__init__(description)
        self.error, self.description, self.status, self.headers = error, description, status, headers


class _JsonView(View):
    """What both views have in common: answers and errors are JSON that nobody stores."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer 404 where the site lets nobody register, and turn refusals into answers."""
        if gateway_settings.registration.dynamic == OFF:
            return _error(_Refused("not_found", "This site registers no clients by itself.", 404))
        try:
            return super().dispatch(request, *args, **kwargs)
        except _Refused as refused:
            return _error(refused)
        except registration.TooMany as error:
            return _error(_too_many(str(error), error.seconds))

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """405 in JSON, with what is served."""
        allowed = ", ".join(name.upper() for name in self.http_method_names)
        return _error(_Refused("invalid_request", f"Only {allowed} are served here.", 405, Allow=allowed))


@method_decorator([csrf_exempt, login_not_required], name="dispatch")
class RegistrationView(CrossOriginView, _JsonView):
    """RFC 7591 section 3: POST of a client's metadata; open to anyone, within limits.

    A project that sets the toolkit's ``DCR_REGISTRATION_PERMISSION_CLASSES`` is asked by them.
    """

    http_method_names = ("post", "options")

    def post(self, request: HttpRequest) -> HttpResponseBase:
        """201 with the client as it was registered, 400, 401, 413, 415 or 429."""
        if "DCR_REGISTRATION_PERMISSION_CLASSES" in oauth2_settings.user_settings and not all(
            permission().has_permission(request) for permission in oauth2_settings.DCR_REGISTRATION_PERMISSION_CLASSES
        ):
            raise _Refused("access_denied", "This site decides who may register a client.", 401, **_BEARER)
        metadata = _metadata(request, _document(request))
        registration.admit(request.META)
        made = registration.register(metadata)
        record(
            Kind.REGISTERED,
            request.META,
            application=made.application,
            detail=" ".join(metadata.redirect_uris),
        )
        registration.clean_now_and_then()
        return _answer(_described(made.application, made.client, metadata, made.token, made.secret), 201)


@method_decorator([csrf_exempt, login_not_required], name="dispatch")
class RegistrationManagementView(CrossOriginView, _JsonView):
    """RFC 7592 section 2: a client reads, replaces or deletes its own registration with its access token."""

    http_method_names = ("get", "put", "delete", "options")
    cross_origin_methods = "GET, PUT, DELETE"

    def get(self, request: HttpRequest, client_id: str) -> HttpResponseBase:
        """The registration as it is; a secret is told only once, when it is made."""
        client, token = _authenticate(request, client_id)
        metadata = client_metadata.read(orjson.loads(client.registration), methods=METHODS, default=AuthMethod.NONE)
        return _answer(_described(client.application, client, metadata, token, ""))

    def put(self, request: HttpRequest, client_id: str) -> HttpResponseBase:
        """Replace the whole registration."""
        client, token = _authenticate(request, client_id)
        if not client.enabled:
            raise _Refused("access_denied", "A client that is not enabled cannot change its registration.", 403)
        application = client.application
        document = _document(request)
        if document.get("client_id") != client_id:
            raise _Refused("invalid_client_metadata", "client_id must be the one that was issued.")
        wait = Tally.take(f"change {application.pk}", limit=_CHANGES, seconds=registration.HOUR)
        if wait:
            raise _too_many(f"The registration was changed too often; try again in {wait} seconds.", wait)
        metadata = _metadata(request, document, application)
        try:
            secret = registration.change(application, client, metadata)
        except registration.Gone:
            raise _Refused("access_denied", "The client was deleted or disabled meanwhile.", 403) from None
        record(
            Kind.REGISTRATION_CHANGED,
            request.META,
            application=application,
            detail=" ".join(metadata.redirect_uris),
        )
        return _answer(_described(application, client, metadata, token, secret))

    def delete(self, request: HttpRequest, client_id: str) -> HttpResponseBase:
        """Delete the client with its tokens; one that waits for approval, or is disabled, may go as well."""
        client, _token = _authenticate(request, client_id)
        application = client.application
        record(Kind.REGISTRATION_DELETED, request.META, application=application)
        registration.remove(application, client)
        return HttpResponse(status=204, headers=_NO_STORE)


_NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_BEARER = {"WWW-Authenticate": "Bearer"}


def _document(request: HttpRequest) -> dict[str, Any]:
    """The JSON object of the body."""
    if request.content_type != "application/json":
        raise _Refused("invalid_client_metadata", "The Content-Type must be application/json.", 415)
    try:
        request_body.check_length(request.META, MAX_BYTES)
        document = orjson.loads(request_body.read(request, MAX_BYTES))
    except request_body.TooLong:
        raise _Refused("invalid_client_metadata", f"The body is longer than {MAX_BYTES} bytes.", 413) from None
    except (request_body.Broken, orjson.JSONDecodeError):
        raise _Refused("invalid_client_metadata", "The body is no JSON in UTF-8.") from None
    if not isinstance(document, dict):
        raise _Refused("invalid_client_metadata", "The body must be a JSON object.")
    return document


def _metadata(request: HttpRequest, document: dict[str, Any], application: Any = None) -> ClientMetadata:
    try:
        # RFC 7591 section 2: without a word about it, a client has a secret that it sends in a header.
        return client_metadata.read(document, methods=METHODS, default=AuthMethod.BASIC)
    except InvalidMetadata as error:
        record(Kind.REGISTRATION_REFUSED, request.META, application=application, detail=str(error), once_in=60)
        raise _Refused(error.error, str(error)) from None


def _authenticate(request: HttpRequest, client_id: str) -> tuple[Client, str]:
    """The client whose registration access token came with the request, and that token."""
    token = parse_bearer_token(request.META.get("HTTP_AUTHORIZATION", ""))
    if not token:
        raise _Refused("invalid_token", "Send the registration access token as Bearer token.", 401, **_BEARER)
    client = registration.find_by_token(token, client_id)
    if client is None:
        challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
        raise _Refused("invalid_token", "The token does not manage this registration.", 401, **challenge)
    return client, token


def _described(application: Any, client: Client, metadata: ClientMetadata, token: str, secret: str) -> dict[str, Any]:
    """RFC 7591 section 3.2.1 and RFC 7592 section 3: the client, and how it may come back to this registration."""
    described: dict[str, Any] = {"client_id": application.client_id, **metadata.as_registered()}
    if client.registered_at is not None:
        described["client_id_issued_at"] = int(client.registered_at.timestamp())
    if secret:
        described.update(client_secret=secret, client_secret_expires_at=0)
    asked = str(described.pop("scope", "")).split()
    may = [scope for scope in asked if scope in self_service()]
    if may:
        described["scope"] = " ".join(may)
    management = reverse("oauth2_provider:dcr-register-management", kwargs={"client_id": application.client_id})
    return {**described, "registration_access_token": token, "registration_client_uri": public(management)}


def _answer(document: dict[str, Any], status: int = 200) -> JsonResponse:
    return JsonResponse(document, status=status, headers=_NO_STORE)


def _error(refused: _Refused) -> JsonResponse:
    body = {"error": refused.error, "error_description": refused.description}
    return JsonResponse(body, status=refused.status, headers={**_NO_STORE, **refused.headers})


def _too_many(description: str, seconds: int) -> _Refused:
    return _Refused("too_many_requests", description, 429, **{"Retry-After": str(seconds)})
