"""Who wants to hear of changes: one thread of the process looks, for all streams that are open.

What administrators and imports change raises the generation, in whichever process they do it. While streams are open
this process asks for it a few times a second; while none are, nobody asks.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod

from django.db import DatabaseError, connections

from mcp_gateway import registry
from mcp_gateway.models import Generation
from mcp_gateway.registry import Snapshot
from mcp_gateway.streams.outlet import Outlet

# Seconds between two looks: a change is told within one second.
INTERVAL = 0.4

# Seconds after which a stream is looked at without a change, because tokens expire and are revoked.
REVIEW = 60

logger = logging.getLogger("mcp_gateway")

_lock = threading.Lock()
_open: list[Listening] = []


class Listening(ABC):
    """A stream of changes. ``owner`` is whose it is, None for nobody in particular; ``generation`` what it has seen."""

    def __init__(self, owner: object, generation: int) -> None:
        self.outlet = Outlet()
        self.owner = owner
        self.generation = generation
        self.seen_at = time.monotonic()

    @abstractmethod
    def look(self, snapshot: Snapshot) -> None:
        """Tell what has changed since the last look."""

    @abstractmethod
    def finish(self) -> None:
        """End it gracefully."""

    # What sends it

    def chunk(self) -> bytes | None:
        """What is to be sent now, perhaps nothing (b""); None once all was sent."""
        ended = self.outlet.ended
        return self.outlet.take() or (None if ended else b"")

    def leave(self, *, cancel: bool) -> None:
        """Say that nobody reads any more."""
        self.outlet.leave(cancel=cancel)
        with _lock:
            if self in _open:
                _open.remove(self)

    abandon = leave


def admit(listening: Listening, limit: int) -> bool:
    """Let a stream hear of changes from now on; False where it is one too many.

    There are at most ``limit`` in a process, of each owner one, and half of them for nobody in particular, so that
    others always find a place. Whoever comes back may find the place taken by a stream of its own that nobody reads
    any more: it is written to, so that the server notices.
    """
    with _lock:
        same = [one for one in _open if one.owner == listening.owner]
        most = max(1, limit // 2) if listening.owner is None else 1
        if len(_open) >= limit or len(same) >= most:
            admitted = False
        else:
            admitted = True
            _open.append(listening)
            if len(_open) == 1:
                threading.Thread(target=_watch, name="mcp-changes", daemon=True).start()
    if not admitted:
        for one in same:
            one.outlet.nudge()
    return admitted


def finish_all() -> None:
    """End all streams gracefully, as at a shutdown."""
    with _lock:
        ending = list(_open)
    for one in ending:
        one.finish()


def _watch() -> None:
    try:
        while _look():
            time.sleep(INTERVAL)
    finally:
        connections.close_all()


def _look() -> bool:
    """Look once; False where there is nobody to look for any more."""
    with _lock:
        listening = list(_open)
        if not listening:
            return False
    try:
        number = Generation.current()
        for one in listening:
            if one.generation != number or time.monotonic() - one.seen_at > REVIEW:
                _show(one, registry.snapshot(number))
                one.generation, one.seen_at = number, time.monotonic()
    except DatabaseError:
        # It is looked again, on a new connection.
        logger.warning("Nobody is told of changes while the database does not answer", exc_info=True)
        connections.close_all()
    except Exception:
        logger.exception("Looking for changes failed")
    return True


def _show(listening: Listening, snapshot: Snapshot) -> None:
    try:
        listening.look(snapshot)
    except DatabaseError:
        raise
    except Exception:
        # The others are to hear of it all the same, and this one not to wait for ever.
        logger.exception("A stream of changes could not be told")
        listening.finish()
