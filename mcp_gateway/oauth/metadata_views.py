"""Views of the metadata documents: JSON for whoever asks, no login, 404 for what does not exist."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import NoReverseMatch
from django.utils.cache import get_conditional_response, set_response_etag
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import View
from oauth2_provider.settings import oauth2_settings
from oauth2_provider.views import (
    ConnectDiscoveryInfoView,
    OAuthProtectedResourceMetadataView,
    OAuthServerMetadataView,
)

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.oauth import metadata
from mcp_gateway.oauth.cross_origin import CrossOriginView
from mcp_gateway.oauth.scopes import own_scopes


# Under LoginRequiredMiddleware too: a client has no session, and a redirect to a login page says nothing to it.
# Without a check for forgery a POST learns that only GET is served, where it would get Django's page.
@method_decorator([csrf_exempt, login_not_required], name="dispatch")
class MetadataView(CrossOriginView, View):
    """GET of one document; ``suffix`` is what follows the well-known path."""

    http_method_names = ("get", "head", "options")
    cross_origin = "*"
    cross_origin_methods = "GET"

    def document(self, suffix: str, snapshot: registry.Snapshot) -> dict[str, Any] | None:
        """What to answer, or None for 404."""
        raise NotImplementedError

    def get(self, request: HttpRequest, suffix: str = "") -> HttpResponseBase:
        """The document, readable from any web page: it holds nothing secret."""
        try:
            document = self.document(suffix, registry.snapshot())
        except NoReverseMatch:
            document = None
        if document is None:
            return no_document(404)
        response = JsonResponse(document)
        set_response_etag(response)
        return get_conditional_response(request, etag=response["ETag"], response=response) or response


def no_document(status: int, description: str = "") -> HttpResponse:
    """The answer where there is no document, in the form of OAuth's errors (RFC 6749 section 5.2)."""
    error = "server_error" if status >= 500 else "not_found" if status == 404 else "invalid_request"
    response = JsonResponse({"error": error, **({"error_description": description} if description else {})})
    response.status_code = status
    response["Access-Control-Allow-Origin"] = "*"
    return response


class ProtectedResourceView(MetadataView):
    """RFC 9728 section 3: the root form describes the default endpoint, the path form the one at that path."""

    def document(self, suffix: str, snapshot: registry.Snapshot) -> dict[str, Any] | None:
        """The document of an enabled endpoint."""
        found = metadata.endpoint_at(suffix, snapshot) if suffix else ("", False)
        if found is None or found[0] not in snapshot.endpoints:
            return None
        slug, trailing_slash = found
        return metadata.protected_resource(slug, trailing_slash=trailing_slash, snapshot=snapshot)


class AuthorizationServerView(MetadataView):
    """RFC 8414 section 3.1: the root form, the form with the issuer's own path, and that of an endpoint's path.

    The last is where clients of the older revisions look that know nothing of RFC 9728.
    """

    def document(self, suffix: str, snapshot: registry.Snapshot) -> dict[str, Any] | None:
        """The one document, where the path means this issuer."""
        own_path = urlsplit(metadata.issuer()).path.removeprefix("/")
        if suffix.rstrip("/") not in ("", own_path):
            found = metadata.endpoint_at(suffix, snapshot)
            if found is None or found[0] in gateway_settings.issuers:
                return None
        return metadata.authorization_server(snapshot)


class IncludedAuthorizationServerView(OAuthServerMetadataView):  # type: ignore[misc]
    """What the toolkit serves below its own prefix, for a project that has clients of its own; ours for all others."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The document: what it lists must be had."""
        if own_scopes():
            theirs: HttpResponseBase = super().get(request, *args, **kwargs)
            return theirs
        ours: HttpResponseBase = AuthorizationServerView.as_view()(request)
        return ours


class IncludedProtectedResourceView(OAuthProtectedResourceMetadataView):  # type: ignore[misc]
    """As above; no endpoint of ours is there."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The project's document, or 404."""
        if own_scopes():
            theirs: HttpResponseBase = super().get(request, *args, **kwargs)
            return theirs
        return no_document(404)


class OpenIDConfigurationView(AuthorizationServerView):
    """The same document where clients of OpenID Connect look; a project that is a provider keeps its own there."""

    def get(self, request: HttpRequest, suffix: str = "") -> HttpResponseBase:
        """The document; the toolkit's own discovery where the project has switched OpenID Connect on."""
        if oauth2_settings.OIDC_ENABLED and not suffix:
            discovery: HttpResponseBase = ConnectDiscoveryInfoView.as_view()(request)
            return discovery
        return super().get(request, suffix)
