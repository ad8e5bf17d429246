"""``POST /mcp``: a Django REST framework view that runs only what a request needs.

The order is the transport's: origin, method and headers; the token, before the body is read; who may enter; what a
project's own permission and throttle classes say; the body; the message; its era; its method.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from django.contrib.auth.models import AnonymousUser
from django.db import connections
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.views import APIView

from mcp_gateway import cors, registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import Generation
from mcp_gateway.oauth.authentication import BearerAuthentication, Checked, check_request
from mcp_gateway.protocol import body, headers, jsonrpc, sessions
from mcp_gateway.protocol.eras import Era, era_of
from mcp_gateway.protocol.errors import (
    invalid_params,
    invalid_request,
    method_not_found,
)
from mcp_gateway.protocol.jsonrpc import Kind, Message, RequestId
from mcp_gateway.protocol.methods import Call, cancelling, method_for, tool_calls, waiting
from mcp_gateway.protocol.methods.lifecycle import negotiated
from mcp_gateway.protocol.methods.subscriptions import Subscription
from mcp_gateway.protocol.methods.watching import watch
from mcp_gateway.rights import Principal, decide
from mcp_gateway.views import admission, compression, faults
from mcp_gateway.views.answers import McpResponse, OpenResponse, empty_response, json_response, stream_response
from mcp_gateway.views.calls import open_stream, run
from mcp_gateway.views.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from django.http import HttpRequest
    from rest_framework.request import Request

    from mcp_gateway.registry import EndpointEntry, Snapshot

Response: TypeAlias = McpResponse | OpenResponse

logger = logging.getLogger("mcp_gateway")

# What the default endpoint's door asks of a token where one is required: that it is valid, and the baseline scopes.
_ANY_TOKEN = ("authenticated",)


class _FirstRenderer(BaseContentNegotiation):
    """Leaves the Accept header to the view."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return None

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class McpView(APIView):
    """One MCP endpoint, the default one or that of the URL's ``slug``.

    Every class that Django REST framework would take from a project's settings is pinned, so none of them can
    break the endpoint. A subclass may add ``permission_classes`` and ``throttle_classes``, which are asked before
    the body is read, or replace ``authentication_classes``.
    """

    authentication_classes: Sequence[Any] = (BearerAuthentication,)
    permission_classes: Sequence[Any] = ()
    throttle_classes: Sequence[Any] = ()
    parser_classes: Sequence[Any] = ()
    renderer_classes: Sequence[Any] = (JSONRenderer,)
    content_negotiation_class = _FirstRenderer
    versioning_class = None
    schema = None

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., Any]:  # type: ignore[override]
        """The view function: no CSRF check, no login page, no transaction around the request.

        A handler has its own transaction: errors become answers, so one around the request would commit them.
        """
        view: Any = super().as_view(**initkwargs)
        view._non_atomic_requests = frozenset(connections)
        return cast("Callable[..., Any]", view)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
        """Answer a request; a web page of an allowed origin may read whatever the answer is."""
        self.request = request  # type: ignore[assignment]
        self.args, self.kwargs = args, kwargs
        response = self._respond(Exchange(request, kwargs.get("slug", "")))
        if "HTTP_ORIGIN" in request.META:
            cors.share(response, request.META)
        return response

    def _respond(self, exchange: Exchange) -> Response:
        """The answer; what breaks on the way is a JSON-RPC error too."""
        try:
            return self._answer(exchange)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # A panic in Rust or a timeout of gevent in a handler, too: this call's end, and its client is told.
            first = error
        try:
            return faults.answer(exchange, faults.fault_of(exchange, first))
        except Exception as error:
            # The challenge cannot be written, because the project's URLs lack what it points to.
            return faults.answer(exchange, faults.failure(exchange, error))

    def _answer(self, exchange: Exchange) -> Response:
        request = exchange.request
        meta = request.META
        admission.check_origin(meta)
        admission.check_method(request.method)
        if request.method == "OPTIONS":
            response = empty_response(204, {"Allow": admission.METHODS})
            if cors.is_preflight(request):
                cors.answer_preflight(response, meta, "POST")
            return response
        admission.check_content(meta)
        exchange.accepted = admission.accepted(meta.get("HTTP_ACCEPT"))
        admission.check_length(meta)
        self._enter(exchange)
        value = body.parse(admission.read_body(request), max_depth=gateway_settings.max_json_depth)
        exchange.id = jsonrpc.readable_id(value)
        message = jsonrpc.read(value)
        if message.kind is Kind.RESPONSE:
            exchange.id = None
        era = era_of(message, meta.get("HTTP_MCP_PROTOCOL_VERSION"))
        if not era.modern and "HTTP_MCP_SESSION_ID" in meta:
            era = self._in_session(exchange, message, era)
        if message.kind is Kind.REQUEST:
            exchange.modern = era.modern
            return self._serve(exchange, message, era)
        if message.kind is Kind.RESPONSE and era.modern:
            raise invalid_request("A server of this version asks nothing, so there is nothing to respond to.")
        response = empty_response(202)
        if message.kind is Kind.RESPONSE and exchange.session is not None:
            waiting.receive(message.params, exchange.known()[2], exchange.session)
        if message.kind is Kind.NOTIFICATION and isinstance(message.params, (dict, type(None))):
            response.after = self._watchers(exchange, message)
        return response

    def _in_session(self, exchange: Exchange, message: Message, era: Era) -> Era:
        """The era as the session's ``initialize`` agreed on it, where the request itself does not name a version."""
        if message.method == "initialize":
            return era
        meta = exchange.request.META
        exchange.session = session = sessions.read(meta["HTTP_MCP_SESSION_ID"], exchange.slug)
        return era if session is None or "HTTP_MCP_PROTOCOL_VERSION" in meta else replace(era, version=session.version)

    def _serve(self, exchange: Exchange, message: Message, era: Era) -> Response:
        if era.modern:
            headers.check_request(message, exchange.request.META)
        method = method_for(message.method, modern=era.modern)
        if method is None:
            raise method_not_found(message.method, era.version)
        params = message.params
        if params is None:
            params = {}
        elif not isinstance(params, dict):
            raise invalid_params('The member "params" must be an object.')
        snapshot, endpoint, principal = exchange.known()
        call = Call(snapshot, endpoint, principal, era.version, params, exchange.request.META)
        if exchange.session is not None:
            call = replace(call, session=exchange.session, renew=partial(self._renewed, exchange))
        found = method(call)
        response: Response
        if isinstance(found, Subscription):
            response = self._listen(exchange, message, found)
        elif isinstance(found, bytes):
            answer = jsonrpc.result(_id(message), found)
            response = json_response(answer) if exchange.accepted.json else stream_response(answer)
        else:
            response = run(exchange, message, _id(message), found)
        if isinstance(response, McpResponse):
            shared = found if isinstance(found, bytes) and message.method.endswith("/list") else b""
            compression.pack(response, exchange.request.META, shared=shared)
        if message.method == "initialize":
            session_id = sessions.begin(params, exchange.slug, negotiated(params))
            if session_id is not None:
                response[sessions.HEADER] = session_id
        response.after = self._watchers(exchange, message)
        return response

    def _listen(self, exchange: Exchange, message: Message, subscription: Subscription) -> Response:
        """Open a stream of changes."""
        if not exchange.accepted.stream:
            raise invalid_request("Changes are told on a stream; accept text/event-stream.", status=406)
        principal = subscription.principal
        header, slug = exchange.request.META.get("HTTP_AUTHORIZATION"), exchange.slug
        is_ours = self.authentication_classes is McpView.authentication_classes
        subscription.begin(_id(message), lambda: check_request(header, slug).principal if is_ours else principal)
        for connection in connections.all(initialized_only=True):
            # It may be hours until the next request of this thread.
            if not connection.in_atomic_block:
                connection.close()
        return open_stream(exchange, subscription)

    # Who is asking

    def _enter(self, exchange: Exchange) -> None:
        """Authenticate from the header alone, find the endpoint, ask who may enter it and the project's classes."""
        framework_request: Request | None = None
        checked: Checked | None = None
        if self.authentication_classes is McpView.authentication_classes:
            checked = check_request(exchange.request.META.get("HTTP_AUTHORIZATION"), exchange.slug)
            generation, principal = checked.generation, checked.principal
        else:
            framework_request = self._framework_request(exchange)
            generation, principal = _authenticated_by_project(framework_request)
        exchange.principal = principal
        exchange.snapshot = snapshot = registry.snapshot(generation).at(exchange.slug)
        exchange.endpoint = endpoint = snapshot.endpoints.get(exchange.slug)
        if endpoint is None:
            raise invalid_request("There is no MCP endpoint at this address.", status=404)
        if endpoint.token_required:
            decision = decide(_ANY_TOKEN, principal, snapshot, baseline=endpoint.baseline)
            if not decision.allowed:
                raise tool_calls.refused(decision)
        if self.permission_classes or self.throttle_classes:
            if framework_request is None:
                framework_request = self._framework_request(exchange)
                framework_request.user = principal.user or AnonymousUser()
                framework_request.auth = checked if principal.authenticated else None
            self.check_permissions(framework_request)
            self.check_throttles(framework_request)

    def _renewed(self, exchange: Exchange) -> tuple[Snapshot, EndpointEntry, Principal]:
        """The caller and what is served, in the middle of a call; raises as for a caller who has just come."""
        self._enter(exchange)
        return exchange.known()

    def _framework_request(self, exchange: Exchange) -> Request:
        self.headers: dict[str, str] = {}
        self.format_kwarg = None
        self.request = self.initialize_request(exchange.request, *self.args, **self.kwargs)
        return self.request

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> Any:
        """401 for a caller nobody has authenticated, else 403, as Django REST framework has it."""
        if request.auth is None and not getattr(request.user, "is_authenticated", False):
            raise exceptions.NotAuthenticated
        raise exceptions.PermissionDenied(detail=message, code=code)

    def _watchers(self, exchange: Exchange, message: Message) -> Callable[[], None]:
        snapshot, _, principal = exchange.known()
        session = exchange.session
        if session is None or message.method != cancelling.METHOD:
            return lambda: watch(snapshot, message, principal)

        def cancel_and_watch() -> None:
            cancelling.receive(message.params or {}, principal, session)
            watch(snapshot, message, principal)

        return cancel_and_watch


def _id(message: Message) -> RequestId:
    if message.id is None:
        raise RuntimeError("only requests are served")
    return message.id


def _authenticated_by_project(request: Request) -> tuple[int, Principal]:
    """The caller as a project's own authenticators know it: no scopes but those its ``auth`` says it carries."""
    user, auth = request.user, request.auth
    if isinstance(auth, Checked):
        return auth.generation, auth.principal
    if isinstance(auth, Principal):
        return Generation.current(), auth
    known = bool(getattr(user, "is_authenticated", False))
    scope = getattr(auth, "scope", "")
    scopes = frozenset(scope.split()) if isinstance(scope, str) else frozenset()
    return Generation.current(), Principal(user=user if known else None, scopes=scopes, authenticated=known)
