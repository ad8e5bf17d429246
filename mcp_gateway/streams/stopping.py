"""Ending streams of changes when an ASGI server is told to stop.

Such a server waits for its responses first, and these go on until their clients leave. ASGI itself tells an
application of a shutdown only after all that, so signals have to.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any


def end_streams_at_stop(application: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """The ASGI application, whose streams end gracefully as soon as the server is told to stop.

    The server's own handlers of SIGTERM and SIGINT still do their part. They are there by the first request, which
    is when this adds its own; a server that runs outside the main thread, or leaves signals alone, is left alone.
    """
    listening = False

    async def ending(scope: Any, receive: Any, send: Any) -> None:
        nonlocal listening
        if not listening:
            listening = True
            _listen()
        await application(scope, receive, send)

    return ending


def _listen() -> None:
    from mcp_gateway.streams.changes import finish_all  # needs loaded apps, which asgi.py has only at its end

    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        servers = signal.getsignal(number)
        if callable(servers):
            signal.signal(number, _before(servers, finish_all))


def _before(
    handler: Callable[[int, FrameType | None], Any], finish_all: Callable[[], None]
) -> Callable[[int, FrameType | None], None]:
    def told(number: int, frame: FrameType | None) -> None:
        # Not here: what was interrupted may hold the lock.
        threading.Thread(target=finish_all, name="mcp-end-streams", daemon=True).start()
        handler(number, frame)

    return told
