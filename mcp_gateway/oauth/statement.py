"""A queryset compiled once, and run without what Django does anew for each query.

The text, its parameters and its converters are those of Django's own compiler. What is left out per request is the
rewriting of placeholders on SQLite and what its driver does for each column (`packing`), the planning on PostgreSQL
(the statement is prepared on the server), and the health check of its connections, which is a statement of its own:
one that proves dead is replaced, and the statement, which only reads, is run again. Where Django would look on (query
logging, execute wrappers, other databases) Django's own cursor runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, InterfaceError, NotSupportedError, OperationalError, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from mcp_gateway.oauth.packing import Packing

# What SQLite answers to a statement that it cannot run as it is written (sqlite3.SQLITE_ERROR, where there is sqlite3).
_ERROR = 1

_Run = Callable[[BaseDatabaseWrapper, str, tuple[Any, ...]], Any]


class Statement:
    """A queryset of plain columns, compiled for one alias, whose marker a request replaces."""

    def __init__(self, queryset: models.QuerySet[Any, Any], alias: str, marker: Any = None) -> None:
        self._alias = alias
        compiler = queryset.using(alias).query.get_compiler(using=alias)
        sql, parameters = compiler.as_sql()
        self._parameters = tuple(parameters)
        self._marked = [position for position, entry in enumerate(parameters) if marker is not None and entry == marker]
        expressions = [column[0] for column in compiler.select]
        self._converters: Any = [
            (position, converters, expression)
            for position, (converters, expression) in compiler.get_converters(expressions).items()
        ]
        connection = connections[alias]
        self._packing = Packing(expressions, connection)
        self._plain = _Text(sql)
        packs = connection.vendor == "sqlite" and self._packing.pays
        # What is sent now. Other threads may be in the middle of it: it is replaced, and never changed.
        self._text = _Text(self._packing.sql(sql)) if packs else self._plain
        self._run = _runner(connection)

    def first(self, value: Any = None) -> list[Any] | None:
        """The first row for a value in the marker's place, converted as Django would.

        Raises Django's ``DatabaseError`` and its kind.
        """
        row = self.row(value)
        return None if row is None else self.converted(row)

    def row(self, value: Any = None) -> tuple[Any, ...] | None:
        """The same as the driver has it: two equal rows are equal once they are converted."""
        parameters = list(self._parameters)
        for position in self._marked:
            parameters[position] = value
        connection = connections[self._alias]
        text = self._text
        try:
            row: tuple[Any, ...] | None = self._fetch(connection, text, tuple(parameters))
        except DatabaseError as error:
            if text is self._plain or not _is_no_sql(error):
                raise
            # That may not be it: before a migration there are no tables.
            row = self._fetch(connection, self._plain, tuple(parameters))
            # A field of the project's own holds what JSON cannot, or this SQLite has no JSON.
            self._text = self._plain
        return row

    def converted(self, row: tuple[Any, ...]) -> list[Any]:
        """A row's columns as Django would have them."""
        connection = connections[self._alias]
        columns = self._packing.columns(row)
        for position, converters, expression in self._converters:
            for convert in converters:
                columns[position] = convert(columns[position], expression, connection)
        return columns

    def _fetch(self, connection: BaseDatabaseWrapper, text: _Text, parameters: tuple[Any, ...]) -> Any:
        run = self._run
        if run is None or connection.execute_wrappers or connection.queries_logged:
            with connection.cursor() as cursor:
                cursor.execute(text.sql, parameters)
                return cursor.fetchone()
        lasting = connection.connection is not None
        if lasting and connection.vendor == "postgresql":
            connection.health_check_done = True  # type: ignore[attr-defined]
        try:
            return _direct(run, connection, text, parameters)
        except (OperationalError, InterfaceError, NotSupportedError):
            # The server went away, or what it had prepared did; SQLite has only locks to wait for, and did wait.
            if not lasting or connection.in_atomic_block or connection.vendor == "sqlite":
                raise
            connection.close()
            return _direct(run, connection, text, parameters)


class _Text:
    """A statement as Django's cursors take it, and as the driver does."""

    __slots__ = ("_driver_sql", "sql")

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._driver_sql = ""

    def for_driver(self, connection: BaseDatabaseWrapper) -> str:
        """The same on every connection that is open, so it is made once."""
        if not self._driver_sql:
            self._driver_sql = _driver_sql(connection, self.sql)
        return self._driver_sql


def _direct(run: _Run, connection: BaseDatabaseWrapper, text: _Text, parameters: tuple[Any, ...]) -> Any:
    # It is this thread's own, and nearly always open.
    if connection.connection is None:
        connection.ensure_connection()
    try:
        return run(connection, text.for_driver(connection), parameters)
    except Exception:
        with connection.wrap_database_errors:
            raise


def _runner(connection: BaseDatabaseWrapper) -> _Run | None:
    """How the driver runs a statement; None where Django's cursor does."""
    if connection.vendor == "sqlite":
        return _on_sqlite
    # DISABLE_SERVER_SIDE_CURSORS is how a project says that a pool hands each transaction another connection,
    # where nothing prepared can be found again. psycopg2 prepares nothing.
    pooled = connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    if connection.vendor == "postgresql" and not pooled and hasattr(_driver(connection), "Cursor"):
        return _on_postgresql
    return None


def _is_no_sql(error: DatabaseError) -> bool:
    """Whether SQLite would not run a statement as it is written; it may run another."""
    return getattr(error.__cause__, "sqlite_errorcode", None) == _ERROR


def _driver(connection: BaseDatabaseWrapper) -> Any:
    """The module that Django talks to the database with."""
    return connection.Database  # type: ignore[attr-defined]


def _driver_sql(connection: BaseDatabaseWrapper, sql: str) -> str:
    if connection.vendor == "sqlite":
        return str(connection.create_cursor().convert_query(sql))
    return sql


def _on_sqlite(connection: BaseDatabaseWrapper, sql: str, parameters: tuple[Any, ...]) -> Any:
    cursor = _driver(connection).Cursor(connection.connection)
    try:
        return cursor.execute(sql, parameters).fetchone()
    finally:
        cursor.close()


def _on_postgresql(connection: BaseDatabaseWrapper, sql: str, parameters: tuple[Any, ...]) -> Any:
    driver: Any = connection.connection
    # Django switches preparing off for a connection; its own cursors bind on the client and never prepare.
    threshold, driver.prepare_threshold = driver.prepare_threshold, 0
    try:
        with _driver(connection).Cursor(driver) as cursor:
            return cursor.execute(sql, parameters, prepare=True).fetchone()
    finally:
        driver.prepare_threshold = threshold
