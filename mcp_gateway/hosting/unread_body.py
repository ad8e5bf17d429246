"""What a refused request still sends is read before it is answered.

A 401 or a 404 needs nothing of the body. But where a server answers while the body is on its way, it closes the
connection once the answer is out (RFC 9112 section 9.3: who does not read a request to its end must close), and the
client's next request on it, for the metadata or with another token, fails without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

# Bytes that are read of a body that nobody wants. A client that sends more loses its connection.
LIMIT = 1024 * 1024

_AT_ONCE = 64 * 1024


def read_to_end(application: Callable[..., Any]) -> Callable[..., Iterable[bytes]]:
    """The WSGI application, after which nothing is left of the body of a request that it refused or redirected."""

    def finished(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        response: Any = application(environ, start_response)
        if getattr(response, "status_code", 200) >= 300:
            _discard(environ)
        return response  # type: ignore[no-any-return]

    return finished


def _discard(environ: dict[str, Any]) -> None:
    length = environ.get("CONTENT_LENGTH") or ""
    if length.isdecimal() and (len(length) > 18 or int(length) > LIMIT):
        return
    if not environ.get("wsgi.input_terminated"):
        # Who reads on after the body's end may wait for ever (PEP 3333), and how much of it was read is not known.
        return
    left = LIMIT
    try:
        while left > 0 and (read := len(environ["wsgi.input"].read(_AT_ONCE))):
            left -= read
    except OSError:
        # The client has gone.
        return
