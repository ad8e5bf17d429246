"""What a handler leaves of a database connection, which the next call on its thread goes on with.

A transaction that it began and did not end would lock SQLite for all, keep what later calls write from everybody, and
be lost in the end. Django takes no notice of one at the end of a request.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.db import InterfaceError, connections, transaction

# What libpq says of a transaction: there is none (PQTRANS_IDLE), or no connection (PQTRANS_UNKNOWN).
_NONE, _UNKNOWN = 0, 4

LEFT_OPEN = (
    "the handler left a transaction open; nothing it wrote in it was kept "
    "(write “with transaction.atomic():”, which ends it)"
)


class Bare:
    """A block in which a database has no transaction of ours; one that was there before is nobody's business here."""

    __slots__ = ("_alias", "_has_one", "_wrappers")

    def __init__(self, alias: str) -> None:
        self._alias = alias
        connection = self._connection()
        self._has_one = connection is not None and connection.in_atomic_block
        self._wrappers = 0 if connection is None else len(connection.execute_wrappers)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: Any) -> None:
        connection = self._connection()
        if connection is None or self._has_one:
            return
        del connection.execute_wrappers[self._wrappers :]
        try:
            ended = not _is_open(connection)
        except Exception:
            ended = False
        if not ended:
            discard(connection)

    def check(self) -> None:
        """Refuse to call a success what the database is going to undo. Raises ``TransactionManagementError``."""
        connection = self._connection()
        if connection is None or self._has_one:
            return
        opened = False
        with suppress(Exception):
            opened = _is_open(connection)
        if opened:
            raise transaction.TransactionManagementError(LEFT_OPEN)

    def _connection(self) -> Any:
        # Only one that there is: most calls use no second database.
        return getattr(connections._connections, self._alias, None)  # type: ignore[attr-defined]


def discard(connection: Any) -> None:
    """Give up what is open on a connection; what comes next has a new one."""
    connection.in_atomic_block = connection.needs_rollback = connection.closed_in_transaction = False
    connection.atomic_blocks, connection.savepoint_ids, connection.run_on_commit = [], [], []
    with suppress(Exception):
        connection.rollback()
    with suppress(Exception):
        connection.close()
        if connection.connection is not None:
            # SQLite's in memory is gone once it is closed, so Django does not.
            connection.set_autocommit(connection.settings_dict["AUTOCOMMIT"])


def _is_open(connection: Any) -> bool:
    """Whether there is a transaction that nobody is going to end. Raises where the driver's connection is closed."""
    if connection.in_atomic_block:
        return True
    driver = connection.connection
    if driver is None or not connection.settings_dict["AUTOCOMMIT"]:
        return False
    if not connection.autocommit:
        return True
    if connection.vendor == "sqlite":
        return bool(driver.in_transaction)
    if connection.vendor != "postgresql":
        return False
    status = driver.info.transaction_status
    if status == _UNKNOWN:
        raise InterfaceError("the connection is closed")
    return bool(status != _NONE)
