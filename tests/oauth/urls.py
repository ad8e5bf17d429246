"""A project that serves the endpoint, the metadata documents and the authorization server."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("mcp_gateway.urls")),
    path("", include("mcp_gateway.urls.well_known")),
    path("oauth/", include("mcp_gateway.oauth.urls")),
]
