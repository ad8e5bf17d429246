"""Which snapshot this process has: the generation of the database tells when it is out of date."""

from __future__ import annotations

import threading

from mcp_gateway.models import Generation
from mcp_gateway.registry.entries import Snapshot
from mcp_gateway.registry.reading import read_tables

_current: Snapshot | None = None
_loading = threading.Lock()


def snapshot(generation: int | None = None) -> Snapshot:
    """The snapshot of a generation, or (without one) of the generation the database has now.

    Tables are read only when the number differs from that of the snapshot held.
    """
    global _current
    held = _current
    if generation is None:
        generation = Generation.current()
    if held is not None and held.generation == generation:
        return held
    with _loading:
        held = _current
        if held is None or held.generation < generation or held.generation > Generation.current():
            _current = held = _load()
        return held


def latest() -> Snapshot:
    """The snapshot held, whatever its age; read from the database only where there is none yet."""
    return _current or snapshot()


def forget() -> None:
    """Drop the snapshot held (a test that swaps databases calls it)."""
    global _current
    _current = None


def _load() -> Snapshot:
    """Read number, tables, number, and again until nobody wrote in between.

    Under PostgreSQL's READ COMMITTED two statements can see two states; the number tells.
    """
    while True:
        before = Generation.current()
        loaded = read_tables(before)
        if Generation.current() == before:
            return loaded
