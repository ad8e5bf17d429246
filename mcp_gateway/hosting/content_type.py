"""A ``Content-Type`` that Django cannot read is answered before Django sees it.

RFC 8187 lets a parameter name the charset it is written in (``charset*=utf-8''…``). One that Python does not know
makes Django's request object raise, as does a very long value; no middleware is around that, and the client would
get an empty 500.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
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
    # Only a parameter with a star has a charset of its own.
    if len(content_type) <= SHORT and "*" not in content_type:
        return True
    try:
        parse_header_parameters(content_type)
    except (LookupError, ValueError):
        return False
    return True
