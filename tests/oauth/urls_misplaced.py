"""A project that has the toolkit's URLs instead of ours, and the documents below a prefix."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", include("mcp_gateway.urls")),
    path("api/", include("mcp_gateway.urls.well_known")),
    path("o/", include("oauth2_provider.urls")),
]
