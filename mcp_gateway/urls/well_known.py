"""The metadata documents that OAuth clients look for at the origin's root. Paste into the project's ``urls.py``::

    path("", include("mcp_gateway.urls.well_known")),

No prefix, no ``i18n_patterns``: RFC 9728 section 3 and RFC 8414 section 3 fix the paths. A slash at the end, which
clients put there that write their issuer with one, changes nothing.
"""

from __future__ import annotations

from django.urls import path

from mcp_gateway.oauth.metadata_views import AuthorizationServerView, OpenIDConfigurationView, ProtectedResourceView

app_name = "mcp_gateway_well_known"

_documents = {
    "protected-resource": ("oauth-protected-resource", ProtectedResourceView.as_view()),
    "authorization-server": ("oauth-authorization-server", AuthorizationServerView.as_view()),
    "openid-configuration": ("openid-configuration", OpenIDConfigurationView.as_view()),
}

urlpatterns = [
    pattern
    for name, (place, view) in _documents.items()
    for pattern in (
        path(f".well-known/{place}", view, name=name),
        path(f".well-known/{place}/", view),
        path(f".well-known/{place}/<path:suffix>", view, name=f"{name}-of"),
    )
]
