"""Lending a thread's database connections to the thread that works for it.

A call has one connection and one transaction, whichever thread its handler runs on. So the worker uses the very
connections of the request's thread while that one waits, and gives them back.
"""

from __future__ import annotations

import threading

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper


class Loan:
    """All connections of the thread that makes it. They are the borrower's until `back` or `abandon`."""

    __slots__ = ("_abandoned", "_connections", "_detached", "_lock", "_returned")

    def __init__(self) -> None:
        # Also those that were never opened: what the handler opens must be closed with the rest.
        self._connections: list[BaseDatabaseWrapper] = [connections[alias] for alias in connections]
        for connection in self._connections:
            connection.inc_thread_sharing()
        self._lock = threading.Lock()
        self._detached = self._abandoned = self._returned = False

    def take(self, held: dict[str, BaseDatabaseWrapper]) -> None:
        """In the borrower's thread: use them. ``held`` is what this thread borrowed last, and cannot use any more.

        Most loans come from the same few threads, and looking is cheaper than setting.
        """
        for connection in self._connections:
            if held.get(connection.alias) is not connection:
                connections[connection.alias] = held[connection.alias] = connection

    def returned(self) -> None:
        """In the borrower's thread: use them no more."""
        with self._lock:
            self._returned = True
            close = self._abandoned
        if close:
            self._close()

    def detach(self) -> None:
        """In the lender's thread, when it goes on before the borrower has ended: from now on it has none.

        What it needs meanwhile, such as for a middleware that writes a row, is a connection of its own.
        """
        self._detached = True
        for connection in self._connections:
            del connections[connection.alias]

    def back(self) -> None:
        """In the lender's thread, once the borrower has ended: they are its own again."""
        for connection in self._connections:
            connection.dec_thread_sharing()
            if not self._detached:
                continue
            meanwhile = getattr(connections._connections, connection.alias, None)  # type: ignore[attr-defined]
            if meanwhile is not None:
                meanwhile.close()
            connections[connection.alias] = connection

    def abandon(self) -> None:
        """In any thread, instead of `back`: the lender is gone, and whoever is last closes them."""
        with self._lock:
            self._abandoned = True
            close = self._returned
        if close:
            self._close()

    def _close(self) -> None:
        for connection in self._connections:
            connection.close()
