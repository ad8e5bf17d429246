"""The transactions that handlers run in: one in each of ``ZOLINGA["ATOMIC_DATABASES"]``, all kept or none.

SQLite, told to lock for writing at the beginning (``"transaction_mode": "IMMEDIATE"``), lets one transaction at a time
in. A handler that waits for a service elsewhere, and one that never looks at the database, must not hold up all others:
there the transaction begins with the first statement. (PostgreSQL's driver does so by itself.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Self, cast

from django.db import connections, transaction

from mcp_gateway.events.left_open import LEFT_OPEN, Bare, discard


class Rollback(Exception):
    """Leaves the transactions without keeping what was written."""


def in_transactions(aliases: Sequence[str]) -> _One | _All:
    """Run a block in a transaction in each of the databases; ``check`` refuses what will not be kept.

    Whatever the block begins and leaves open, there and in all other databases, is undone at its end.
    """
    # Nearly always one.
    return _One(aliases[0]) if len(aliases) == len(connections.settings) == 1 else _All(aliases)


class _All:
    __slots__ = ("_all", "_stack")

    def __init__(self, aliases: Sequence[str]) -> None:
        self._all = [_One(alias) if alias in aliases else Bare(alias) for alias in connections]

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for one in self._all:
                stack.enter_context(one)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: Any) -> bool | None:
        return self._stack.__exit__(*raised)

    def check(self) -> None:
        for one in self._all:
            one.check()


class _One:
    """``transaction.atomic()`` in one database. As the outermost one on SQLite its ``BEGIN`` waits for a statement.

    For Django, its savepoints and its hooks after a commit the transaction is there from the start; what never began is
    not committed. Of what goes to the driver's own connection, past Django's cursors, only a change of rows begins it.
    """

    __slots__ = ("_atomic", "_connection", "_earlier", "_outermost", "_waits", "_wished", "_wrappers")

    def __init__(self, alias: str) -> None:
        self._atomic = transaction.atomic(using=alias)
        self._connection = connection = cast(Any, connections[alias])
        self._outermost = not connection.in_atomic_block
        self._waits = self._outermost and connection.vendor == "sqlite" and _autocommits(connection)
        self._wished = False
        self._wrappers = len(connection.execute_wrappers)

    def __enter__(self) -> Self:
        connection = self._connection
        if self._waits:
            # As Atomic.__enter__ leaves it, but for the BEGIN; the driver itself begins before a change of rows.
            connection.commit_on_exit, connection.needs_rollback = True, False
            self._switch_autocommit(False)
            connection.in_atomic_block = True
            connection.atomic_blocks.append(self._atomic)
            connection.execute_wrappers.append(self._first)
        else:
            self._atomic.__enter__()
        # An instance's attribute stands before its class's method.
        own = connection.__dict__
        self._earlier = own.get("set_rollback")
        own["set_rollback"] = self._set_rollback
        return self

    def __exit__(self, *raised: Any) -> None:
        connection = self._connection
        own = connection.__dict__
        if self._earlier is None:
            del own["set_rollback"]
        else:
            own["set_rollback"] = self._earlier
        waits, self._waits = self._waits, False
        del connection.execute_wrappers[self._wrappers :]
        try:
            self._undo_what_is_left_open()
            self._leave(waits, raised)
        finally:
            if self._outermost and connection.in_atomic_block:
                discard(connection)

    def _undo_what_is_left_open(self) -> None:
        """Leave the blocks that a handler entered, or a generator of its own that nobody has read to its end."""
        connection = self._connection
        blocks = connection.atomic_blocks
        if self._atomic in blocks:
            while blocks[-1] is not self._atomic:
                # As Atomic.__enter__ added them.
                del blocks[-1], connection.savepoint_ids[-1]
                connection.needs_rollback = True

    def _leave(self, waits: bool, raised: tuple[Any, ...]) -> None:
        connection = self._connection
        if waits and not connection.closed_in_transaction and not connection.connection.in_transaction:
            if not connection.run_on_commit:
                # As Atomic.__exit__ leaves it; there is nothing to commit, to undo or to run.
                connection.atomic_blocks.pop()
                connection.in_atomic_block = connection.needs_rollback = False
                self._switch_autocommit(True)
                return
            own = connection.__dict__
            own["_commit"] = own["_rollback"] = self._end
        if connections[connection.alias] is not connection:
            # Atomic asks for it by its name: another one would leave this one's transaction open.
            connections[connection.alias].close()
            connections[connection.alias] = connection
        try:
            self._atomic.__exit__(*raised)
        finally:
            self._end()

    def check(self) -> None:
        """Refuse to call a success what the database is going to undo.

        A handler that goes on after a database error it caught, or closes the connection, leaves a transaction that is
        rolled back at the end without a word. (``transaction.set_rollback`` is a handler's own wish, and none of our
        business.) Raises ``TransactionManagementError``.
        """
        connection = self._connection
        if self._wished:
            return
        if self._atomic in connection.atomic_blocks and connection.atomic_blocks[-1] is not self._atomic:
            raise transaction.TransactionManagementError(LEFT_OPEN)
        if connection.closed_in_transaction:
            raise transaction.TransactionManagementError(
                "the handler closed the database connection; nothing it wrote was kept "
                '(a handler that must close it is "atomic": false)'
            )
        if connection.needs_rollback or _is_aborted(connection):
            raise transaction.TransactionManagementError(
                "the handler went on after a database error; nothing it wrote was kept "
                "(wrap what may fail in its own transaction.atomic())"
            ) from connection.rollback_exc

    def _first(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        """Begin, and then execute a statement: an execute wrapper for the first one."""
        # A wrapper outside of this one may have executed another before.
        if self._waits:
            self._begin()
        return execute(sql, params, many, context)

    def _begin(self) -> None:
        wrappers = self._connection.execute_wrappers
        place = wrappers.index(self._first)
        self._forget()
        if self._connection.connection.in_transaction:
            return
        try:
            self._connection._start_transaction_under_autocommit()
        except BaseException:
            # The database is locked: what a handler executes after that must not go without a transaction.
            wrappers.insert(place, self._first)
            self._waits = True
            raise

    def _forget(self) -> None:
        self._waits = False
        with suppress(ValueError):
            self._connection.execute_wrappers.remove(self._first)

    def _switch_autocommit(self, on: bool) -> None:
        self._connection._set_autocommit(on)
        self._connection.autocommit = on

    def _end(self) -> None:
        """End what never began; the hooks that Django runs next have transactions of their own."""
        own = self._connection.__dict__
        own.pop("_commit", None)
        own.pop("_rollback", None)

    def _set_rollback(self, rollback: bool) -> None:
        connection = self._connection
        type(connection).set_rollback(connection, rollback)
        # In a block of its own it undoes that one.
        self._wished = rollback and connection.atomic_blocks[-1] is self._atomic


def _autocommits(connection: Any) -> bool:
    # What Django asks an open connection, without what it asks before.
    return bool(connection.get_autocommit() if connection.connection is None else connection.autocommit)


# What libpq says of a transaction in which a statement failed (PQTRANS_INERROR): its COMMIT is a ROLLBACK.
_ABORTED = 3


def _is_aborted(connection: Any) -> bool:
    return connection.vendor == "postgresql" and bool(connection.connection.info.transaction_status == _ABORTED)
