"""Messages on their way to one client, in order, from the threads that write them to the one that sends them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from mcp_gateway.conf import gateway_settings

#: A comment, which keeps proxies and clients from giving up on a quiet stream.
KEEP_ALIVE = b":\n\n"


def event(message: bytes) -> bytes:
    """A JSON-RPC message as an event of a stream (HTML standard, “Server-sent events”)."""
    return b"event: message\n" + b"".join(b"data: %b\n" % line for line in message.splitlines()) + b"\n"


class Outlet:
    """What waits to be sent.

    ``ended`` is True once nothing more comes, ``gone`` once nobody reads any more, ``cancelled`` once the one who
    read has called the work off.
    """

    __slots__ = ("_news", "_on_news", "_size", "_waiting", "cancelled", "ended", "gone")

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._size = 0
        # Held while there is nothing new; a lock costs a fraction of what an Event does.
        self._news = threading.Lock()
        self._news.acquire()
        self._on_news: Callable[[], object] | None = None
        self.ended = False
        self.gone = False
        self.cancelled = False

    def put(self, message: bytes) -> bool:
        """Send a message; False where nobody reads it, or where the reader is so slow that it is dropped."""
        if self.gone or self.ended or self._size > gateway_settings.max_result_bytes:
            return False
        framed = event(message)
        self._size += len(framed)
        self._waiting.append(framed)
        self._tell()
        return True

    def nudge(self) -> None:
        """Send a comment: a reader that has gone is found out."""
        self._waiting.append(KEEP_ALIVE)
        self._tell()

    def end(self) -> None:
        """Say that nothing more comes."""
        self.ended = True
        self._tell()

    def leave(self, *, cancel: bool) -> None:
        """Say that nobody reads any more, and whether that calls the work off."""
        self.gone = True
        self.cancelled = self.cancelled or (cancel and not self.ended)
        self._waiting.clear()

    def cancel(self) -> None:
        """Call the work off: what waits is still sent, and then the answer ends without a response."""
        if not self.ended:
            self.gone = self.cancelled = True
            self._tell()

    def take(self) -> bytes:
        """All that waits, as it goes over the wire; empty where there is nothing."""
        if not self._waiting:
            return b""
        self._size = 0
        taken = []
        while self._waiting:
            taken.append(self._waiting.popleft())
        return b"".join(taken)

    def wait(self, seconds: float) -> bool:
        """Wait until there is news; False where there was none for so long."""
        return self._news.acquire(timeout=seconds)

    def on_news(self, tell: Callable[[], object]) -> None:
        """Have ``tell`` called at all news from now on, from whichever thread writes; it must not raise."""
        self._on_news = tell
        tell()

    def _tell(self) -> None:
        # It is free where nobody has looked since the last time.
        with suppress(RuntimeError):
            self._news.release()
        if self._on_news is not None:
            self._on_news()
