"""A request that is refused by its headers leaves the connection good for the next one."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterable
from http.client import HTTPResponse
from typing import Any

import pytest
from django.http import HttpResponse

from mcp_gateway.hosting.unread_body import LIMIT, read_to_end
from tests.live import LIST_TOOLS, PATIENCE, Site

METADATA = "/.well-known/oauth-protected-resource/mcp"


def left_of(body: bytes, status: int, *, read: int = 0, **environ: Any) -> int:
    """How many bytes of a body are left after an application that read some of it answered."""
    stream = io.BytesIO(body)

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ["wsgi.input"].read(read)
        return HttpResponse(status=status)

    given = {"CONTENT_LENGTH": str(len(body)), "wsgi.input": stream, "wsgi.input_terminated": True, **environ}
    read_to_end(application)(given, lambda *answer: None)
    return len(stream.read())


@pytest.mark.parametrize("status", [301, 401, 403, 404, 413, 415, 429, 500])
def test_the_body_of_a_refused_request_is_read(status: int) -> None:
    assert left_of(b"x" * LIMIT, status) == 0
    assert left_of(b"x" * 100, status, read=40) == 0
    assert left_of(b"x" * 100, status, CONTENT_LENGTH="") == 0


def test_what_was_served_is_left_alone() -> None:
    assert left_of(b"x" * 100, 200) == 100


def test_a_body_that_is_too_long_is_not_read_to_its_end() -> None:
    assert left_of(b"x" * (LIMIT + 1), 413) == LIMIT + 1
    assert left_of(b"x" * (LIMIT + 1), 413, CONTENT_LENGTH="9" * 5000) == LIMIT + 1
    assert left_of(b"x" * 2 * LIMIT, 413, CONTENT_LENGTH="") == LIMIT


def test_nothing_is_read_where_the_server_would_wait_for_more() -> None:
    assert left_of(b"x" * 100, 401, **{"wsgi.input_terminated": False}) == 100


def test_a_client_that_has_gone_is_no_error() -> None:
    class Gone(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise ConnectionResetError

    answer = read_to_end(lambda environ, start_response: HttpResponse(status=401))(
        {"wsgi.input": Gone(), "wsgi.input_terminated": True, "CONTENT_LENGTH": "9"}, lambda *answer: None
    )
    assert isinstance(answer, HttpResponse)


def test_after_a_401_the_metadata_come_over_the_same_connection(site: Site) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    headers = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{site.port}",
        "Authorization: Bearer unknown",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    with site.up(), site.client() as other, socket.create_connection(("127.0.0.1", site.port), PATIENCE) as connection:
        connection.sendall("\r\n".join([*headers, "", ""]).encode())
        # The server has time to answer before the body comes, which it used to do.
        assert other.post("/mcp", json=LIST_TOOLS).status_code == 200
        connection.sendall(body)
        assert _answer(connection) == 401
        connection.sendall(f"GET {METADATA} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode())
        assert _answer(connection) == 200


def _answer(connection: socket.socket) -> int:
    response = HTTPResponse(connection)
    response.begin()
    response.read()
    return response.status
