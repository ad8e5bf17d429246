"""The front page: what this site is, and where."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import Tool
from mcp_gateway.registry import snapshot


@require_safe
def front_page(request: HttpRequest) -> HttpResponse:
    """Tell where the endpoint and admin are, and which tools anyone may see there."""
    held = snapshot()
    endpoint = held.endpoints.get("")
    tools = []
    if endpoint is not None and not endpoint.token_required:
        tools = [tool for tool in held.tools.values() if tool.visibility == Tool.Visibility.LISTED]
    context = {
        "endpoint": endpoint,
        "endpoint_url": gateway_settings.origin + reverse("mcp_gateway:endpoint"),
        "tools": [
            {
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "protected": bool(tool.rights),
            }
            for tool in tools
        ],
    }
    return render(request, "zolinga_site/front.html", context)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer to what nobody can read. Django's own looks for a form in it, for the sake of the check against forged
    ones, and fails where that form is what cannot be read.
    """
    return HttpResponseBadRequest("<!doctype html><title>Bad request</title><h1>Bad request</h1>")
