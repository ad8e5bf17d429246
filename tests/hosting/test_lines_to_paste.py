"""The lines for a project's own ``wsgi.py`` and ``asgi.py`` do all that the site's own do."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpResponse

from mcp_gateway.hosting import served_by_asgi, served_by_wsgi

UNREADABLE = "application/json; charset*=nonsense''x"


def refuse(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    return HttpResponse(status=401)


def test_wsgi_reads_what_a_refused_request_sends_and_answers_an_unreadable_type() -> None:
    application = served_by_wsgi(refuse)
    body = io.BytesIO(b"x" * 100)
    begun: list[Any] = []
    application({"CONTENT_LENGTH": "100", "wsgi.input": body, "wsgi.input_terminated": True}, begun.append)
    assert body.read() == b""
    answer = b"".join(application({"CONTENT_TYPE": UNREADABLE}, lambda *started: begun.append(started)))
    assert begun[-1][0] == "400 Bad Request"
    assert json.loads(answer)["error"]["code"] == -32600


def test_asgi_answers_an_unreadable_type() -> None:
    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "headers": [(b"content-type", UNREADABLE.encode())]}
    async_to_sync(served_by_asgi(never))(scope, receive, send)
    assert sent[0]["status"] == 400
