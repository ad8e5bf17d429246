"""A project that serves the endpoint and forgot everything about OAuth."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("api/", include([])), path("", include("mcp_gateway.urls"))]
