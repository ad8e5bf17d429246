"""The authorization server's machine endpoints for clients that are web pages."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from mcp_gateway import cors


class CrossOriginView:
    """Mixin before a view that pages of allowed origins may call; for all others it stays as it is."""

    #: The methods a page may use.
    cross_origin_methods = "POST"
    #: ``*`` where any page may.
    cross_origin = ""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a preflight, which has neither token nor body, before anything is asked."""
        if cors.is_preflight(request) and (self.cross_origin or cors.is_allowed(request.META)):
            response: HttpResponseBase = HttpResponse(status=204)
            cors.answer_preflight(response, request.META, self.cross_origin_methods)
        else:
            response = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]
        cors.share(response, request.META, origin=self.cross_origin)
        return response
