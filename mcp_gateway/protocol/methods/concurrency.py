"""How many calls of one tool run at a time in a worker process: ``ZOLINGA["MAX_CONCURRENT_CALLS"]``.

A call holds one of the worker's threads, so a tool that waits for something slow could hold them all, and every other
tool would wait behind it. A call over the bound is not queued, which would hold a thread as well: its client is told at
once. It is told by a result with ``isError`` and not by HTTP 503: this is what the specification has for a tool that
cannot do what it was asked (“Tools”, “Error Handling”), in both eras; it reaches the model, which can try again, where
clients end a connection at a 503; and a load balancer would take a 503 for a worker that is ill.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_running: Counter[str] = Counter()
_lock = threading.Lock()


@contextmanager
def running(tool: str, limit: int) -> Iterator[bool]:
    """Count a call of a tool as running; what it gives says whether the tool's bound allows it."""
    with _lock:
        allowed = _running[tool] < limit
        if allowed:
            _running[tool] += 1
    try:
        yield allowed
    finally:
        if allowed:
            with _lock:
                _running[tool] -= 1
                if not _running[tool]:
                    del _running[tool]


def bound(tool: str, limits: Mapping[str, int]) -> int | None:
    """What the setting says of a tool: its own name, else ``*``, which is every other tool by itself; None for none."""
    return limits.get(tool, limits.get("*"))


def busy(tool: str) -> str:
    """What the caller of a tool over its bound is told."""
    return f"The tool {tool} is busy: as many calls of it run as this server allows. Try again in a few seconds."
