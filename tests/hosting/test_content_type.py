"""A Content-Type that Django cannot read is the client's mistake, on every path and under both kinds of server."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from encodings.aliases import aliases
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import BadRequest, TooManyFieldsSent
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest

from mcp_gateway.hosting.content_type import guard_asgi, guard_wsgi
from tests.live import ROOT, Site

CONTENT_TYPES = [
    "",
    "application/json",
    "application/json; charset=utf-8",
    "application/json; charset=no-such",
    "application/json; charset*=utf-8''utf-8",
    "*/*",
    "multipart/form-data; boundary=" + "x" * 300,
    "application/json; charset*=foo'bar'%FF",
    "application/json; x*=foo'bar'%FF",
    "application/json; charset*0*=foo'bar'%FF",
    "x" * 20_000,
]
UNREADABLE = CONTENT_TYPES[7:10]


def is_readable(content_type: str) -> bool:
    """Whether this Django can read it: only some have a limit of its length."""
    environ: dict[str, Any] = {"CONTENT_TYPE": content_type}
    setup_testing_defaults(environ)
    try:
        WSGIRequest(environ)
    except (BadRequest, LookupError, ValueError):
        return False
    return True


def over_wsgi(content_type: str) -> tuple[int, dict[str, str], bytes]:
    """What a WSGI application that begins as Django does answers behind the guard."""

    def django(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        WSGIRequest(environ)
        start_response("200 OK", [])
        return [b"served"]

    environ: dict[str, Any] = {"CONTENT_TYPE": content_type}
    setup_testing_defaults(environ)
    begun: list[Any] = []
    content = b"".join(guard_wsgi(django)(environ, lambda *answer: begun.extend(answer)))
    return int(begun[0].split()[0]), dict(begun[1]), content


def over_asgi(content_type: str) -> tuple[int, dict[str, str], bytes]:
    """The same of an ASGI application."""

    async def django(scope: Any, receive: Any, send: Any) -> None:
        ASGIRequest(scope, io.BytesIO())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"served"})

    sent: list[Mapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-type", content_type.encode())] if content_type else []
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    async_to_sync(guard_asgi(django))(scope, receive, send)
    shown = {name.decode().title(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], shown, sent[1]["body"]


@pytest.mark.parametrize("ask", [over_wsgi, over_asgi])
@pytest.mark.parametrize("content_type", CONTENT_TYPES, ids=lambda text: text[:45])
def test_what_django_cannot_read_is_refused_and_all_else_goes_through(ask: Any, content_type: str) -> None:
    status, headers, content = ask(content_type)
    assert not (content_type in UNREADABLE and is_readable(content_type))
    if is_readable(content_type):
        assert (status, content) == (200, b"served")
        return
    assert (status, headers["Content-Type"], headers["Content-Length"]) == (400, "application/json", str(len(content)))
    answer = json.loads(content)
    assert answer["error"]["code"] == -32600
    assert "send application/json" in answer["error"]["message"]


ASK = """
import sys
from wsgiref.util import setup_testing_defaults
from zolinga_site.wsgi import application
environ = {"CONTENT_TYPE": sys.argv[1]}
setup_testing_defaults(environ)
application(environ, lambda status, headers: print(status))
"""


def test_the_site_itself_answers_400(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK, "application/json; charset*=foo'bar'%FF"],
        cwd=ROOT,
        env=Site(tmp_path).env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "400 Bad Request\n"


def reads_a_query(charset: str) -> bool:
    """Whether this Django reads the query of a request that names a charset for its body."""
    environ: dict[str, Any] = {"CONTENT_TYPE": f"text/plain; charset={charset}", "QUERY_STRING": "a=%FF&b=\xff"}
    setup_testing_defaults(environ)
    try:
        WSGIRequest(environ).GET.get("a")
    except (LookupError, UnicodeError, TooManyFieldsSent):
        return False
    return True


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_charset_that_makes_no_text_is_refused() -> None:
    refused = set()
    for charset in {*aliases.values(), "idna", "punycode", "undefined", "no-such", '"utf-8"'}:
        content_type = f"text/plain; charset={charset}"
        statuses = {over_wsgi(content_type)[0], over_asgi(content_type)[0]}
        assert statuses == ({200} if reads_a_query(charset) else {400}), charset
        if statuses == {400}:
            refused.add(charset)
    assert {"hex_codec", "base64_codec", "idna"} <= refused
    assert not {"utf_8", "utf_16", "latin_1", "no-such"} & refused
