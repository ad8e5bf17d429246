"""Which tools can be relied on to answer at once: their calls need no thread of their own.

To stream, a call must run on another thread than the one that sends, and handing it over costs as much as a tenth of a
short call. For a tool that always answers before there would be anything to send it buys nothing.
"""

from __future__ import annotations

#: Calls in a row that show it.
ENOUGH = 32

#: The part of ``KEEP_ALIVE_SECONDS`` that each of them may take.
PART = 1 / 20


class Pace:
    """How a tool has answered in this worker process, since it was imported.

    One call that took long or said something meanwhile settles it: from then on each has a thread, so that it can be
    kept alive, heard and called off. Of many short ones only those have none that began before the first was seen to
    take long.
    """

    __slots__ = ("_begun", "_short", "_slow")

    def __init__(self) -> None:
        self._short = 0
        self._slow = False
        # When the calls began that run on their requests' threads.
        self._begun: list[float] = []

    def enter(self, now: float, keep_alive: float) -> bool:
        """Whether a call may run on the request's thread; `leave` says that it has ended."""
        if self._slow or self._short < ENOUGH:
            return False
        if now - min(self._begun, default=now) > keep_alive * PART:
            self._slow = True
            return False
        self._begun.append(now)
        return True

    def leave(self, begun: float) -> None:
        """Take note that a call has ended that was let `enter` at that time."""
        self._begun.remove(begun)

    def note(self, seconds: float, keep_alive: float, *, said: bool) -> None:
        """Take note of a call: how long it took, and whether it said something before its answer."""
        if said or seconds > keep_alive * PART:
            self._slow = True
        else:
            self._short += 1
