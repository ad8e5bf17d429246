"""The site's addresses: the front page, admin, the MCP endpoint, the gate and, at the root, OAuth's documents."""

from __future__ import annotations

from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

from zolinga_site.views import front_page

admin.site.site_header = admin.site.site_title = "Zolinga on Django"

handler400 = "zolinga_site.views.bad_request"

urlpatterns = [
    path("", front_page, name="front"),
    # Browsers ask for it on every page that names no icon, as admin's do not.
    path("favicon.ico", RedirectView.as_view(url=static("zolinga_site/icon.svg"))),
    path("admin/", admin.site.urls),
    path("", include("mcp_gateway.urls")),
    path("", include("mcp_gateway.urls.well_known")),
    path("", include("mcp_gateway.urls.gate")),
    path("oauth/", include("mcp_gateway.oauth.urls")),
]
