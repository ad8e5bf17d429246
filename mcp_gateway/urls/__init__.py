"""The MCP endpoints: ``path("", include("mcp_gateway.urls"))``.

Both spellings, with and without a slash at the end, answer alike, and neither redirects to the other. Beside them, at
``mcp/zolinga.schema.json``, is the JSON Schema of manifests, for editors; no endpoint's slug has a dot. Under
``mcp/question/`` are pages for people; no endpoint has two segments.
"""

from django.urls import path

from mcp_gateway.views import McpView
from mcp_gateway.views.manifest_schema import ManifestSchemaView
from mcp_gateway.views.question import QuestionView

app_name = "mcp_gateway"

_view = McpView.as_view()

urlpatterns = [
    path("mcp/zolinga.schema.json", ManifestSchemaView.as_view(), name="manifest-schema"),
    path("mcp/question/<slug:key>", QuestionView.as_view(), name="question"),
    path("mcp", _view, name="endpoint"),
    path("mcp/", _view, name="endpoint-slash"),
    path("mcp/<slug:slug>", _view, name="endpoint-slug"),
    path("mcp/<slug:slug>/", _view, name="endpoint-slug-slash"),
]
