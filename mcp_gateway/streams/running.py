"""A method's work on a thread of its own, so that the request's thread can send what it says meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

from asgiref.sync import _restore_context
from django.core.cache import caches
from django.db.backends.base.base import BaseDatabaseWrapper

from mcp_gateway.streams import threads
from mcp_gateway.streams.lending import Loan
from mcp_gateway.streams.outlet import Outlet, event

# Seconds. The end wakes whoever waits; looking now and then costs nothing.
_PATIENCE = 60


class Running:
    """Work that has begun.

    ``work`` gives the answer, a whole JSON-RPC message; ``explain`` makes one of what it raised, and is asked only
    where the response has begun (before, `answer` raises it). Both run on the other thread, in a copy of the context
    of the one that made this, and with that one's database connections.
    """

    __slots__ = (
        "_back",
        "_committed",
        "_context",
        "_error",
        "_explain",
        "_loan",
        "_lock",
        "_message",
        "_settled",
        "_work",
        "outlet",
    )

    def __init__(self, outlet: Outlet, work: Callable[[], bytes], explain: Callable[[BaseException], bytes]) -> None:
        self.outlet = outlet
        self._work = work
        self._explain = explain
        self._message: bytes | None = None
        self._error: BaseException | None = None
        self._committed = self._settled = self._back = False
        self._lock = threading.Lock()
        self._loan = Loan()
        self._context = copy_context()
        threads.start(self._run)

    # On the thread that works

    def _run(self, held: dict[str, BaseDatabaseWrapper]) -> Callable[[], object]:
        self._loan.take(held)
        self._context.run(self._try)
        self._loan.returned()
        return self.outlet.end

    def _try(self) -> None:
        try:
            _settle_here()
            self._message = self._work()
            self._settled = True
        except BaseException as error:
            with self._lock:
                self._error, self._settled = error, True
                committed = self._committed
            if committed:
                # Nobody else gets it on this thread, and a stream without its answer leaves the client waiting.
                self._message = self._explain(error)

    # On the thread that answers

    def begin(self, seconds: float) -> bool:
        """Wait for the first thing to send, at most so long, and say whether the response must begin as a stream.

        False: the work has ended, and `answer` is what came of it.
        """
        self.outlet.wait(seconds)
        with self._lock:
            # What was called off has no answer.
            self._committed = not self._settled or self.outlet.cancelled
        if self._committed:
            self._loan.detach()
        else:
            self._take_back()
        return self._committed

    def answer(self) -> bytes:
        """The message, where the work ended before the response began. Raises what the work raised."""
        if self._error is not None:
            raise self._error
        if self._message is None:
            raise RuntimeError("the work has not ended")
        return self._message

    def chunk(self) -> bytes | None:
        """What is to be sent now, perhaps nothing (b""); None once all was sent."""
        ended, cancelled = self.outlet.ended, self.outlet.cancelled
        waiting = self.outlet.take()
        if cancelled:
            return waiting or None
        if not ended:
            return waiting
        message, self._message = self._message, None
        if message is None or self.outlet.gone:
            return waiting or None
        return waiting + event(message)

    def leave(self, *, cancel: bool) -> None:
        """Say that the client has all, or has gone, and wait for the work to end.

        ``cancel`` says whether going calls off work that has not ended.
        """
        self.outlet.leave(cancel=cancel)
        self._take_back()

    def abandon(self, *, cancel: bool) -> None:
        """The same for a response that nobody will close; it waits for nothing."""
        self.outlet.leave(cancel=cancel)
        if not self._back:
            self._back = True
            self._loan.abandon()

    def _take_back(self) -> None:
        if not self._back:
            self._back = True
            while not self.outlet.ended:
                self.outlet.wait(_PATIENCE)
            self._loan.back()


def _settle_here() -> None:
    """Let this thread see what the context says: language, URLs, prefix, whatever else an asgiref ``Local`` holds.

    There it is tagged with its thread, and hidden from others. Clients of caches stay with their thread, which goes on
    while this one works.
    """
    _restore_context(copy_context())
    for alias in caches:
        with suppress(AttributeError):
            del caches[alias]
