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
    kept alive, heard and called off. Only the first such call after many short ones has none.
    """

    __slots__ = ("_short", "_slow")

    def __init__(self) -> None:
        self._short = 0
        self._slow = False

    @property
    def is_quick(self) -> bool:
        """Whether the next call may run on the request's thread."""
        return self._short >= ENOUGH and not self._slow

    def note(self, seconds: float, keep_alive: float, *, said: bool) -> None:
        """Take note of a call: how long it took, and whether it said something before its answer."""
        if said or seconds > keep_alive * PART:
            self._slow = True
        else:
            self._short += 1
