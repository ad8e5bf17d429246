"""The floor: a Django view that answers a constant, without middleware or database.

``without_django`` is the floor below it, the server alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

ECHOED = '{"echo": "The quick brown fox jumps over the lazy dog."}'
ANSWER = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "content": [{"type": "text", "text": ECHOED}],
            "isError": False,
            "structuredContent": json.loads(ECHOED),
        },
    }
).encode()


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse(ANSWER, content_type="application/json")


view.csrf_exempt = True  # type: ignore[attr-defined]

if not settings.configured:
    settings.configure(
        SECRET_KEY="x" * 50, ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, MIDDLEWARE=[], USE_TZ=True
    )

urlpatterns = [path("mcp", view)]
application = get_wsgi_application()


def without_django(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(ANSWER)))])
    return [ANSWER]
