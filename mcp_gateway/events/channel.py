"""The way from a running handler back to whoever called it: progress, log messages, and whether it is still wanted.

Imports without settings and without loaded apps. The wire, and whatever runs handlers elsewhere, attach channels of
their own.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

#: RFC 5424 section 6.2.1, as MCP spells them; the least severe first.
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Channel:
    """What a handler says while it runs, and what it can learn. This class keeps it all to itself.

    A subclass overrides `on_progress`, `log`, `notify`, `request` and `cancelled` as far as it has somewhere to take
    them. One channel belongs to one call, also where the call's handler runs more than once.
    """

    #: Whether `request` reaches the client.
    can_ask: ClassVar[bool] = False

    def __init__(self) -> None:
        self._done: float | None = None

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more."""
        return False

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that belongs to the call. ``params`` are JSON's values."""

    def request(self, id: str, method: str, params: dict[str, Any]) -> bool:
        """Send a request to the client; False where it does not reach it. ``params`` are JSON's values."""
        return False

    def settle(self, id: str) -> None:
        """Take note that a request needs no answer any more: it was answered, or nobody waits."""

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Pass progress on, where it is more than there was (2026-07-28, “Progress”: it must increase)."""
        if self._done is None or done > self._done:
            self._done = done
            self.on_progress(done, total, message)

    def on_progress(self, done: float, total: float | None, message: str | None) -> None:
        """Take progress that is more than there was before."""

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Take a log message; ``level`` is one of `LEVELS`."""


class _Nowhere(Channel):
    """The channel of everything that has none; one for all, so it remembers nothing."""

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        pass


NOWHERE = _Nowhere()


def checked_number(name: str, value: Any) -> float:
    """A progress value as JSON has it.

    Raises ``TypeError`` for no number, ``ValueError`` for NaN, infinity and integers beyond all floats.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"The {name} of a progress is a number, not {value!r:.100}.")
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise ValueError(f"The {name} of a progress is a finite number that a float can hold.")
    return value


def checked_level(level: Any) -> str:
    """A log level. Raises ``ValueError`` for a word that is none of `LEVELS`."""
    if level not in LEVELS:
        raise ValueError(f"There is no log level {level!r:.100}; it is one of {', '.join(LEVELS)}.")
    return str(level)
