"""The transactions that handlers run in: one in each of ``ZOLINGA["ATOMIC_DATABASES"]``, all kept or none.

SQLite, told to lock for writing at the beginning (``"transaction_mode": "IMMEDIATE"``), lets one transaction at a time
in. A handler that waits for a service elsewhere, and one that never looks at the database, must not hold up all others:
there the transaction begins with the first statement. (PostgreSQL's driver does so by itself.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper


class Rollback(Exception):
    """Leaves the transactions without keeping what was written."""


def in_transactions(aliases: Sequence[str]) -> AbstractContextManager[object]:
    """Run a block in a transaction in each of the databases."""
    # Nearly always: the stack costs more than it would hold.
    return _in_one(aliases[0]) if len(aliases) == 1 else _in_all(aliases)


@contextmanager
def _in_all(aliases: Sequence[str]) -> Iterator[None]:
    with ExitStack() as transactions:
        for alias in aliases:
            transactions.enter_context(_in_one(alias))
        yield


def _in_one(alias: str) -> AbstractContextManager[object]:
    connection = transaction.get_connection(alias)
    if connection.vendor != "sqlite" or connection.in_atomic_block or not connection.get_autocommit():
        return transaction.atomic(using=alias)
    return _Late(connection)


class _Late:
    """``transaction.atomic()`` as the outermost one on SQLite, whose ``BEGIN`` waits for the first statement.

    For Django, its savepoints and its hooks after a commit the transaction is there from the start. At its end SQLite
    takes no notice of a ``COMMIT`` or ``ROLLBACK`` of a transaction that never began. What goes to the driver's own
    connection, past Django's cursors, begins none.
    """

    __slots__ = ("_atomic", "_connection")

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._atomic = transaction.atomic(using=connection.alias)

    def __enter__(self) -> None:
        # As an instance's attribute, it stands before the class's method.
        self._connection.__dict__[_BEGIN] = _nothing
        try:
            self._atomic.__enter__()
        finally:
            del self._connection.__dict__[_BEGIN]
        self._connection.execute_wrappers.append(self._first)

    def __exit__(self, *raised: Any) -> None:
        self._forget()
        self._atomic.__exit__(*raised)

    def _first(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        self._forget()
        getattr(self._connection, _BEGIN)()
        return execute(sql, params, many, context)

    def _forget(self) -> None:
        wrappers = self._connection.execute_wrappers
        if self._first in wrappers:
            wrappers.remove(self._first)


_BEGIN = "_start_transaction_under_autocommit"


def _nothing() -> None:
    """Begin nothing yet."""


def errors_so_far(aliases: Sequence[str]) -> dict[str, BaseException | None]:
    """The error that each connection remembers; it forgets none."""
    return {alias: transaction.get_connection(alias).rollback_exc for alias in aliases}


def check(earlier: dict[str, BaseException | None]) -> None:
    """Refuse to call a success what the database is going to undo.

    A handler that goes on after a database error it caught leaves a transaction that Django rolls back at the end
    without a word. (``transaction.set_rollback`` is a handler's own wish, and none of our business.) ``earlier`` is
    what `errors_so_far` said before. Raises ``TransactionManagementError``.
    """
    for alias, error in earlier.items():
        connection = transaction.get_connection(alias)
        if connection.needs_rollback and connection.rollback_exc is not error:
            raise transaction.TransactionManagementError(
                "the handler went on after a database error; nothing it wrote was kept "
                "(wrap what may fail in its own transaction.atomic())"
            ) from connection.rollback_exc
