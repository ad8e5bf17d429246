"""A project that includes the toolkit's URLs beside ours."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("mcp_gateway.urls")),
    path("o/", include("oauth2_provider.urls")),
    path("oauth/", include("mcp_gateway.oauth.urls")),
]
