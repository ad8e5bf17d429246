"""The JSON Schema of ``zolinga.json`` at a URL, so that editors complete and check manifests."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, set_response_etag
from django.utils.decorators import method_decorator
from django.views.generic import View

# Seconds that an editor may keep it.
MAX_AGE = 3600


@cache
def manifest_schema() -> bytes:
    """The schema's bytes, as the package holds them."""
    return (files("mcp_gateway.manifest") / "zolinga.schema.json").read_bytes()


@method_decorator(login_not_required, name="dispatch")
class ManifestSchemaView(View):
    """GET of the schema, for whoever asks and from any web page: it is the same on every site."""

    http_method_names = ("get", "head", "options")

    def get(self, request: HttpRequest) -> HttpResponse:
        """The schema."""
        response = HttpResponse(manifest_schema(), content_type="application/schema+json")
        response["Cache-Control"] = f"public, max-age={MAX_AGE}"
        set_response_etag(response)
        found = get_conditional_response(request, etag=response["ETag"], response=response) or response
        found["Access-Control-Allow-Origin"] = "*"
        return found
