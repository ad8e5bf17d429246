"""The authorization server. Paste into the project's ``urls.py``, *instead of* ``include("oauth2_provider.urls")``::

    path("oauth/", include("mcp_gateway.oauth.urls")),

Every URL of the toolkit is here under its name, so ``reverse("oauth2_provider:…")`` and other clients go on as
before; authorize, token and revocation are our subclasses, registration is ours, the pages of applications ask for a
permission, and a login page and the page “Connected applications” are added. Every URL answers without the slash at
its end as it does with it: a client that POSTs to the other spelling would lose its body in a redirect.
"""

from __future__ import annotations

from typing import Any

from django.db import connections
from django.urls import URLPattern, path
from django.urls.resolvers import RoutePattern
from oauth2_provider import urls as toolkit_urls

from mcp_gateway.oauth import (
    applications,
    connection_views,
    login,
    metadata_views,
    registration_views,
    token_views,
    views,
)

app_name = "oauth2_provider"

_OURS: dict[str, Any] = {
    "oauth-server-metadata": metadata_views.IncludedAuthorizationServerView,
    "oauth-server-metadata-issuer": metadata_views.IncludedAuthorizationServerView,
    "oauth-resource-metadata": metadata_views.IncludedProtectedResourceView,
    "oauth-resource-metadata-path": metadata_views.IncludedProtectedResourceView,
    "authorize": views.AuthorizationView,
    "token": token_views.TokenView,
    "revoke-token": token_views.RevokeTokenView,
    "introspect": token_views.IntrospectTokenView,
    "device-authorization": token_views.DeviceAuthorizationView,
    "dcr-register": registration_views.RegistrationView,
    "dcr-register-management": registration_views.RegistrationManagementView,
    "authorized-token-delete": connection_views.RevokeTokenPage,
    "list": applications.ApplicationList,
    "register": applications.ApplicationRegistration,
    "detail": applications.ApplicationDetail,
    "update": applications.ApplicationUpdate,
    "delete": applications.ApplicationDelete,
}

# They may have to fetch a client's document or keys, and what they store has transactions of its own: one around the
# whole request would hold its locks while somebody else's server takes its time.
_WITHOUT_TRANSACTION = (views.AuthorizationView, token_views.TokenView, token_views.RevokeTokenView)


def _replace(pattern: URLPattern) -> URLPattern:
    view = _OURS.get(pattern.name or "")
    if view is None:
        return pattern
    callback = view.as_view()
    if view in _WITHOUT_TRANSACTION:
        callback._non_atomic_requests = frozenset(connections)
    return URLPattern(pattern.pattern, callback, pattern.default_args, pattern.name)


def _without_slash(pattern: URLPattern) -> URLPattern:
    """The same view at the other spelling, which has no name: ``reverse()`` gives the one with the slash."""
    route = str(pattern.pattern).removesuffix("/")
    return URLPattern(RoutePattern(route, is_endpoint=True), pattern.callback, pattern.default_args)


_with_slash = [
    *(_replace(pattern) for pattern in toolkit_urls.urlpatterns),
    path("connections/", connection_views.ConnectionsView.as_view(), name="connections"),
    path("login/", login.LoginView.as_view(), name="login"),
]

urlpatterns = [
    *_with_slash,
    *(_without_slash(pattern) for pattern in _with_slash if str(pattern.pattern).endswith("/")),
]
