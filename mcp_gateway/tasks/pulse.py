"""The sign of life of a task that runs: its progress goes out, a wish to cancel comes in.

A thread with database connections of its own does it: the handler's may be inside a transaction that nobody else
sees into, and the handler itself may be busy for minutes.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from django.db import DatabaseError, InterfaceError, connections

from mcp_gateway.events.channel import Channel
from mcp_gateway.tasks import store

logger = logging.getLogger("mcp_gateway")

# Seconds between two looks at whether the task was cancelled, and at most so often is progress written.
LOOK = 0.5

# A sign of life is given at every so many looks: every five seconds.
LOOKS_PER_BEAT = 10

# Characters of a progress message that are kept.
MAX_MESSAGE = 1000


def _shown(number: float) -> str:
    # A count of a million is no 1e+06.
    return f"{number:.15g}" if isinstance(number, float) else str(number)


class Pulse(Channel):
    """The channel of a call that runs as a task, from `__enter__` to `__exit__`.

    ``seen`` says whether anyone looked and was told that the task was cancelled. Log messages go nowhere: the
    extension has no place for them (“Task Status Notifications”).
    """

    def __init__(self, pk: int) -> None:
        super().__init__()
        self.seen = False
        self._pk = pk
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        self._message: str | None = None
        self._thread = threading.Thread(target=self._beat, name=f"task {pk}", daemon=True)

    @property
    def cancelled(self) -> bool:
        """Whether ``tasks/cancel`` has come, or the task is over without us."""
        self.seen = self.seen or self._cancelled.is_set()
        return self.seen

    def on_progress(self, done: float, total: float | None, message: str | None) -> None:
        """What a client reads as the task's ``statusMessage``."""
        counted = _shown(done) if total is None else f"{_shown(done)} of {_shown(total)}"
        self._message = f"{message} ({counted})"[:MAX_MESSAGE] if message else counted

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        looks = 0
        try:
            while not self._ended.wait(LOOK):
                looks += 1
                # A database that does not answer now may answer the next time.
                with suppress(DatabaseError, InterfaceError):
                    self._look(looks % LOOKS_PER_BEAT == 0)
        except Exception:
            logger.exception("The pulse of a task failed")
        finally:
            connections.close_all()

    def _look(self, due: bool) -> None:
        rows = store.tasks().filter(pk=self._pk)
        message = self._message
        alive = rows.beat(message) if due or message is not None else True
        if message is self._message:
            # It is written; one that came meanwhile waits for the next look.
            self._message = None
        if not alive or rows.filter(cancel_requested=True).exists():
            self._cancelled.set()
