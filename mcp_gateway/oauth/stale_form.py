"""What people see whose form Django refuses as forged: mostly it lay open while they signed in in another window.

The check is Django's, as strict as ever; only on our own pages it is answered by a page with a way to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.middleware.csrf import REASON_NO_CSRF_COOKIE, CsrfViewMiddleware
from django.shortcuts import render
from django.utils.decorators import decorator_from_middleware
from django.utils.log import log_response
from django.views.decorators.csrf import csrf_exempt

from mcp_gateway.oauth import consent
from mcp_gateway.oauth.form_body import unreadable

_View = Callable[..., Any]

# What a form can be sent by, and what changes nothing: HTML knows no more.
_METHODS = ("GET", "HEAD", "OPTIONS", "POST")


def same_page(request: HttpRequest) -> str:
    """The page that the form was on."""
    return request.get_full_path()


def own_forms(
    again: Callable[[HttpRequest], str] = same_page, concerned: Callable[[HttpRequest], bool] = lambda request: True
) -> Callable[[_View], _View]:
    """A decorator for a view of forms, with or without Django's middleware: 403 with a page of ours, where a form
    is refused.

    ``again`` gives the address at which a person goes on; requests that are not ``concerned`` get the project's
    answer (``CSRF_FAILURE_VIEW``). What cannot be read is answered 400 or 413, and methods that no form is sent by 405.
    """

    class Check(CsrfViewMiddleware):
        def _reject(self, request: HttpRequest, reason: str) -> HttpResponse:
            if not concerned(request):
                theirs: HttpResponse = super()._reject(request, reason)  # type: ignore[misc]
                return theirs
            return _page(request, reason, again(request))

    def decorate(view: _View) -> _View:
        checked = decorator_from_middleware(Check)(view)

        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if request.method not in _METHODS:
                return HttpResponseNotAllowed(_METHODS)
            problem = unreadable(request)
            if problem is not None:
                description, status = problem
                error = {"error": "invalid_request", "description": description, "status_code": status}
                return _rendered(request, "error", status, {"error": error})
            return checked(request, *args, **kwargs)

        # The middleware's own check would answer first.
        return csrf_exempt(answer)

    return decorate


def _page(request: HttpRequest, reason: str, again: str) -> HttpResponse:
    kind = "cookies" if reason == REASON_NO_CSRF_COOKIE else "stale" if reason.startswith("CSRF token") else "foreign"
    response = _rendered(request, "stale", 403, {"kind": kind, "reason": reason, "again": again})
    log_response("Forbidden (%s): %s", reason, request.path, response=response, request=request)
    return response


def _rendered(request: HttpRequest, name: str, status: int, context: dict[str, Any]) -> HttpResponse:
    response = render(request, f"mcp_gateway/oauth/{name}.html", context, status=status)
    for header, value in consent.headers("").items():
        response[header] = value
    return response
