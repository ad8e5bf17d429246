"""A ``Content-Type`` that Django cannot read is answered before Django sees it.

RFC 8187 lets a parameter name the charset it is written in (``charset*=utf-8''…``). One that Python does not know
makes Django's request object raise, as does a very long value; no middleware is around that, and the client would
get an empty 500. So it would where the charset of the body is a codec that makes no text (``charset=hex``): Django
reads the query with it too, whenever somebody looks at it.
"""

from __future__ import annotations

import codecs
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from django.utils.http import parse_header_parameters

from mcp_gateway.protocol import jsonrpc
from mcp_gateway.protocol.errors import invalid_request

_ANSWER = jsonrpc.error(None, invalid_request("The Content-Type cannot be read; for JSON send application/json."))
_HEADERS = {"Content-Type": "application/json", "Content-Length": str(len(_ANSWER)), "Cache-Control": "no-store"}

# Characters that are not too long for Django, whatever its limit is.
SHORT = 200

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


def guard_wsgi(application: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The WSGI application, which now answers such a request with 400 and a JSON-RPC error."""

    def guarded(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if _is_readable(environ.get("CONTENT_TYPE") or ""):
            return application(environ, start_response)
        start_response("400 Bad Request", list(_HEADERS.items()))
        return [_ANSWER]

    return guarded


def guard_asgi(
    application: Callable[[Scope, Receive, Send], Awaitable[None]],
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The same for the ASGI application."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        # As Django does: of several equal headers one value.
        given = b",".join(value for name, value in scope.get("headers", ()) if name == b"content-type")
        if _is_readable(given.decode("latin-1")):
            await application(scope, receive, send)
            return
        headers = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": _ANSWER})

    return guarded


def _is_readable(content_type: str) -> bool:
    return _is_sound(content_type) if len(content_type) <= SHORT else _is_sound.__wrapped__(content_type)


@lru_cache(128)
def _is_sound(content_type: str) -> bool:
    # Only a parameter with a star has a charset of its own.
    if len(content_type) <= SHORT and "*" not in content_type and "charset" not in content_type.lower():
        return True
    try:
        charset = parse_header_parameters(content_type)[1].get("charset", "")
        return _is_text(charset)
    except (LookupError, ValueError):
        return False


def _is_text(charset: str) -> bool:
    """Whether Django can read a query or a form with it: Python also knows codecs that make no text of bytes, and some
    that cannot replace what they do not understand. Raises ``LookupError`` and ``ValueError`` for such.
    """
    try:
        codecs.lookup(charset)
    except LookupError:
        # Django takes no notice of it.
        return True
    with suppress(UnicodeDecodeError):
        b"a=b".decode(charset)
    b"\xff".decode(charset, "replace")
    return True
