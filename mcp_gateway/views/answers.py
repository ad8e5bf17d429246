"""The HTTP responses of the endpoint: JSON, an event stream, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, ValuesView
from functools import lru_cache
from typing import Any, Protocol

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import ResponseHeaders

from mcp_gateway.streams import KEEP_ALIVE, Outlet, event

JSON = "application/json"
EVENT_STREAM = "text/event-stream"

# Streamable HTTP 2026-07-28, “Receiving Messages”: a proxy that gathers a stream before it passes it on would undo it.
_STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


class _Headers(ResponseHeaders):
    """Django's, without the detours of `collections.abc.Mapping`: middlewares and the server ask for every one."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._store

    def items(self) -> ValuesView[tuple[str, str]]:  # type: ignore[override]
        return self._store.values()

    def setdefault(self, key: str, value: str | bytes | int) -> None:
        if not isinstance(value, str):
            super().setdefault(key, value)
            return
        # Middlewares give the same few to every answer.
        stored_as, header = _checked(key, value)
        self._store.setdefault(stored_as, header)


@lru_cache(maxsize=64)
def _checked(name: str, value: str) -> tuple[str, tuple[str, str]]:
    """A header as Django keeps it. Raises ``BadHeaderError`` and ``UnicodeError`` as Django does."""
    ((key, header),) = ResponseHeaders({name: value})._store.items()
    return key, header


class McpResponse(HttpResponse):
    """A response that can do something after it was sent: the server calls ``close`` when the client has it."""

    after: Callable[[], None] | None = None

    def close(self) -> None:
        after, self.after = self.after, None
        try:
            if after is not None:
                after()
        finally:
            super().close()


class Talker(Protocol):
    """What has something to send for a while."""

    outlet: Outlet

    def chunk(self) -> bytes | None:
        """What is to be sent now, perhaps nothing (b""); None once all was sent."""

    def leave(self, *, cancel: bool) -> None:
        """Say that the client has all, or has gone, and wait until that is taken note of."""

    def abandon(self, *, cancel: bool) -> None:
        """The same without waiting."""


class OpenResponse(StreamingHttpResponse):
    """The stream of a call that still runs, or of changes.

    ``cancels`` says whether a client that goes calls the work off (modern era) or not. ``close`` waits for the work:
    only then are the request's database connections its own again.
    """

    after: Callable[[], None] | None = None

    def __init__(self, talker: Talker, seconds: float, *, cancels: bool, asynchronous: bool) -> None:
        self._talker = talker
        self._cancels = cancels
        chunks: Any = _chunks_async(talker, seconds) if asynchronous else _chunks(talker, seconds)
        super().__init__(chunks, content_type=EVENT_STREAM, headers=_STREAM_HEADERS)

    def close(self) -> None:
        after, self.after = self.after, None
        self._talker.leave(cancel=self._cancels)
        try:
            if after is not None:
                after()
        finally:
            super().close()

    def __del__(self) -> None:
        # An ASGI server whose client has left before the response began throws it away.
        self._talker.abandon(cancel=self._cancels)


def _chunks(talker: Talker, seconds: float) -> Iterator[bytes]:
    while (chunk := talker.chunk()) is not None:
        if chunk:
            yield chunk
        elif not talker.outlet.wait(seconds):
            yield KEEP_ALIVE


async def _chunks_async(talker: Talker, seconds: float) -> AsyncIterator[bytes]:
    news = asyncio.Event()
    loop = asyncio.get_running_loop()
    talker.outlet.on_news(lambda: loop.is_closed() or loop.call_soon_threadsafe(news.set))
    while (chunk := talker.chunk()) is not None:
        if chunk:
            yield chunk
            continue
        try:
            async with asyncio.timeout(seconds):
                await news.wait()
        except TimeoutError:
            yield KEEP_ALIVE
        news.clear()


def json_response(body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> McpResponse:
    """A JSON-RPC message."""
    response = McpResponse(body, status=status, content_type=JSON, headers=headers)
    response.headers.__class__ = _Headers
    return response


def stream_response(body: bytes, before: bytes = b"") -> McpResponse:
    """A JSON-RPC message as the last event of a stream that is sent whole, after the events ``before``."""
    return McpResponse(before + event(body), content_type=EVENT_STREAM, headers=_STREAM_HEADERS)


def empty_response(status: int, headers: dict[str, str] | None = None) -> McpResponse:
    """No body and no type: 202 for what needs no answer."""
    response = McpResponse(status=status, headers=headers)
    del response["Content-Type"]
    return response
