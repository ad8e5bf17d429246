"""What tests/hostile_settings.py names: URLs in language folders, a proxy, a handler that breaks DRF's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class Ordinary(APIView):
    """A view that takes the settings as they are."""

    def post(self, request: Request) -> Response:
        return Response({})


def plain(request: HttpRequest) -> HttpResponse:
    """A view that is no APIView."""
    return HttpResponse("plain")


urlpatterns = [
    path("ordinary", Ordinary.as_view()),
    path("plain", plain),
    *i18n_patterns(path("admin/", admin.site.urls)),
    path("", include("mcp_gateway.urls")),
    path("", include("mcp_gateway.urls.well_known")),
    path("", include("mcp_gateway.urls.gate")),
    path("oauth/", include("mcp_gateway.oauth.urls")),
]


class TlsProxy:
    """Plays the proxy that ends TLS: every request came by https."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.META.setdefault("HTTP_X_FORWARDED_PROTO", "https")
        return self.get_response(request)


def handle_nothing(error: Exception, context: dict[str, Any]) -> NoReturn:
    """An exception handler of a project that answers for its own views only."""
    raise AssertionError(f"A project's exception handler was asked about {error!r}.")
