"""``JsonErrors``: what breaks outside the MCP view, or the gate's, is still JSON for their clients.

``DirectAnswers``: the MCP endpoints are answered before the middlewares that only browsers need.
"""

from __future__ import annotations

import functools
import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.core.handlers.wsgi import WSGIRequest
from django.core.signals import setting_changed
from django.urls import Resolver404, ResolverMatch, get_urlconf, resolve
from django.utils.translation import get_language

from mcp_gateway.oauth.cross_origin import CrossOriginView
from mcp_gateway.oauth.metadata_views import no_document
from mcp_gateway.protocol import jsonrpc
from mcp_gateway.protocol.errors import INTERNAL_ERROR, ProtocolError, invalid_request
from mcp_gateway.views import McpView
from mcp_gateway.views.answers import json_response
from mcp_gateway.views.gate import GateView, refusal

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

logger = logging.getLogger("mcp_gateway")

# Addresses that are remembered with the view they lead to; a site has one or a few endpoints, in two spellings.
_REMEMBERED = 64

# Hosts that Django has let in, under the settings that hold.
_good_hosts: set[tuple[str | None, ...]] = set()

# What Django's technical page is to a client that accepts no HTML.
_TECHNICAL = "text/plain; charset=utf-8"

_MESSAGES = {
    400: "The request was refused before it reached the endpoint; is its Host one that this site serves?",
    403: "The request was refused before it reached the endpoint.",
    404: "There is no endpoint at this address.",
}


class _UnderEither(ABC):
    """A middleware that stands under WSGI and under ASGI, and knows which."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    @abstractmethod
    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """The answer, or what is awaited for it under ASGI."""


class JsonErrors(_UnderEither):
    """Middleware that turns Django's HTML error pages into JSON-RPC errors, on the endpoint's paths only.

    On the gate's paths they become the gate's own errors, on those that OAuth clients call OAuth's.

    A Host that is not allowed, a path below an endpoint that leads nowhere, an exception in another middleware:
    Django answers them with a page before or after the view is asked, and with ``DEBUG`` the page shows settings
    and a trace, in plain text to who does not accept HTML. Put it first in ``MIDDLEWARE``, so that it sees what the
    others answer. Responses that are no error, or no page of Django's, and all other paths pass untouched.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._is_async:
            return self._call_async(request)
        return _checked(request, cast("HttpResponseBase", self.get_response(request)))

    async def _call_async(self, request: HttpRequest) -> HttpResponseBase:
        return _checked(request, await self.get_response(request))


def _checked(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if response.status_code < 400 or not _is_page(response.get("Content-Type", "")):
        return response
    view = _ours(request, below=response.status_code == 404)
    if view is None:
        return response
    status = response.status_code
    if status >= 500:
        incident = secrets.token_hex(6)
        logger.error("A request to %s failed outside the view (incident %s)", request.path, incident)
        fault = ProtocolError(
            INTERNAL_ERROR, f"The server failed. Its log has the details under incident {incident}.", status=status
        )
    else:
        fault = invalid_request(_MESSAGES.get(status, "The request was refused."), status=status)
    if issubclass(view, GateView):
        replaced: HttpResponse = refusal(status, fault.message)
    elif issubclass(view, CrossOriginView):
        replaced = no_document(status, fault.message)
    else:
        replaced = json_response(jsonrpc.error(None, fault), status=status)
    for name in ("Allow", "Retry-After"):
        if name in response:
            replaced[name] = response[name]
    response.close()
    return replaced


def _is_page(content_type: str) -> bool:
    return content_type.startswith("text/html") or (settings.DEBUG and content_type == _TECHNICAL)


def _ours(request: HttpRequest, *, below: bool) -> type | None:
    """The view of ours that a path leads to, or (``below``) that it begins with and leads nowhere; else None."""
    path = request.path_info
    urlconf = getattr(request, "urlconf", None)
    while True:
        try:
            view = resolve(path, urlconf).func
        except Resolver404:
            head = path.rstrip("/") if path.endswith("/") else path.rpartition("/")[0]
            if not below or not head:
                return None
            path = head
        else:
            cls = getattr(view, "view_class", None)
            return cls if isinstance(cls, type) and issubclass(cls, (McpView, GateView, CrossOriginView)) else None


class DirectAnswers(_UnderEither):
    """Middleware that answers the MCP endpoints itself: the middlewares after it do not see their requests.

    Sessions, the CSRF check, messages, frames and redirects are for browsers: an endpoint takes no notice of them,
    yet every call pays for them. Put it after those that the endpoints need (``JsonErrors``, ``SecurityMiddleware``,
    CORS, a project's own log or limits) and before all others. It still checks the Host and sets ``Content-Length``,
    as ``CommonMiddleware`` would. All other paths, and every request under ASGI, go on as before.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        match = None if self._is_async else _endpoint_at(request)
        if match is None:
            return cast("HttpResponseBase", self.get_response(request))
        _check_host(request)
        request.resolver_match = match
        response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        if not response.streaming and "Content-Length" not in response:
            response["Content-Length"] = str(len(cast("HttpResponse", response).content))
        return response


def _check_host(request: HttpRequest) -> None:
    """Raise ``DisallowedHost`` where Django does; the few good hosts of a site are judged once each."""
    meta = request.META
    host = meta.get("HTTP_HOST"), meta.get("HTTP_X_FORWARDED_HOST"), meta.get("SERVER_NAME")
    if host in _good_hosts and type(request) is WSGIRequest:
        return
    request.get_host()
    if len(_good_hosts) >= _REMEMBERED:
        _good_hosts.clear()
    _good_hosts.add(host)


def _forget_hosts(**kwargs: Any) -> None:
    _good_hosts.clear()


setting_changed.connect(_forget_hosts, dispatch_uid="mcp_gateway.middleware")


def _endpoint_at(request: HttpRequest) -> ResolverMatch | None:
    urlconf = getattr(request, "urlconf", None) or get_urlconf()
    # Where no path begins with a language, none leads elsewhere in another one.
    language = get_language() if is_language_prefix_patterns_used(urlconf or settings.ROOT_URLCONF)[0] else None
    try:
        return _leads_to(request.path_info, urlconf, language)
    except Resolver404:
        return None


@functools.lru_cache(_REMEMBERED)
def _leads_to(path: str, urlconf: Any, language: str | None) -> ResolverMatch:
    """The MCP view that a path leads to; only such are remembered. Raises ``Resolver404`` for all others."""
    match = resolve(path, urlconf)
    view = getattr(match.func, "view_class", None)
    if isinstance(view, type) and issubclass(view, McpView):
        return match
    raise Resolver404
