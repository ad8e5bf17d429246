"""The gate for events of the site's own pages, opt-in. Paste into the project's ``urls.py``::

    path("", include("mcp_gateway.urls.gate")),

Both spellings, with and without a slash at the end, answer alike.
"""

from __future__ import annotations

from django.urls import path

from mcp_gateway.views.gate import GateView

app_name = "mcp_gateway_gate"

_view = GateView.as_view()

urlpatterns = [
    path("dist/system/gate", _view, name="gate"),
    path("dist/system/gate/", _view, name="gate-slash"),
]
