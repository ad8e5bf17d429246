"""A handler's transaction is there from the start, for Django and for all it can see; only SQLite's lock comes late."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import (
    DatabaseError,
    IntegrityError,
    OperationalError,
    close_old_connections,
    connection,
    connections,
    transaction,
)
from django.test.utils import CaptureQueriesContext

from mcp_gateway.events import transactions

pytestmark = pytest.mark.django_db(transaction=True)


def names() -> set[str]:
    return set(Group.objects.filter(name__in=["gone", "kept", "kept, too", "twice"]).values_list("name", flat=True))


def in_transactions() -> Any:
    return transactions.in_transactions(["default"])


def test_without_a_statement_there_is_a_transaction_that_sqlite_hears_nothing_of() -> None:
    with CaptureQueriesContext(connection) as heard, in_transactions():
        assert connection.in_atomic_block
    if connection.vendor == "sqlite":
        assert not heard.captured_queries
    assert not connection.in_atomic_block
    assert connection.get_autocommit()
    assert not connection.execute_wrappers


def known_of_the_connection() -> dict[str, Any]:
    """All that Django keeps of a connection, but for what makes the BEGIN wait."""
    connection.ensure_connection()
    kept = {**vars(connections["default"]), "atomic_blocks": len(connection.atomic_blocks)}
    for ours in ("execute_wrappers", "set_rollback"):
        kept.pop(ours, None)
    return kept


@pytest.mark.parametrize("ends", ["well", "with an error", "with a hook"])
def test_for_django_it_is_its_own_at_every_moment(ends: str) -> None:
    seen: list[list[dict[str, Any]]] = []
    ran: list[str] = []
    for block in (transaction.atomic, in_transactions, transaction.atomic, in_transactions):
        moments = [known_of_the_connection()]
        with suppress(ZeroDivisionError), block():
            moments.append(known_of_the_connection())
            if ends == "with a hook":
                transaction.on_commit(lambda: ran.append("hook"))
            if ends == "with an error":
                raise ZeroDivisionError
        moments.append(known_of_the_connection())
        seen.append(moments)
    # The first block may have opened the connection.
    assert seen[1] == seen[2] == seen[3]
    assert len(ran) == (4 if ends == "with a hook" else 0)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL's driver begins by itself")
def test_the_first_statement_begins_it() -> None:
    with CaptureQueriesContext(connection) as heard, in_transactions():
        Group.objects.create(name="one")
        Group.objects.create(name="two")
    statements = [query["sql"].split()[0] for query in heard.captured_queries]
    assert statements == ["BEGIN", "INSERT", "INSERT", "COMMIT"]


@pytest.mark.parametrize("nested", [False, True])
def test_what_was_written_is_undone_with_it(nested: bool) -> None:
    with suppress(transactions.Rollback), in_transactions():
        if nested:
            with transaction.atomic():
                Group.objects.create(name="gone")
        else:
            Group.objects.create(name="gone")
        assert names() == {"gone"}
        raise transactions.Rollback
    assert names() == set()
    assert connection.get_autocommit()


def test_what_was_written_is_kept() -> None:
    with in_transactions():
        with transaction.atomic():
            Group.objects.create(name="kept")
        Group.objects.create(name="kept, too")
    assert names() == {"kept", "kept, too"}


def test_an_inner_failure_undoes_the_inner_part_alone() -> None:
    with in_transactions():
        with suppress(IntegrityError), transaction.atomic():
            Group.objects.create(name="twice")
            Group.objects.create(name="twice")
        Group.objects.create(name="kept")
    assert names() == {"kept"}


@pytest.mark.parametrize("writes", [False, True])
def test_hooks_run_after_a_commit_and_only_then(writes: bool) -> None:
    ran = []
    with in_transactions():
        if writes:
            Group.objects.create(name="kept")
        transaction.on_commit(lambda: ran.append("kept"))
        assert not ran
    assert ran == ["kept"]
    with suppress(transactions.Rollback), in_transactions():
        transaction.on_commit(lambda: ran.append("undone"))
        raise transactions.Rollback
    assert ran == ["kept"]


def test_a_handler_may_ask_for_a_rollback() -> None:
    with in_transactions():
        Group.objects.create(name="gone")
        transaction.set_rollback(True)
    assert names() == set()


def test_a_wrapper_of_the_handlers_own_sees_its_statements() -> None:
    seen = []

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        seen.append(sql.split()[0])
        return execute(sql, params, many, context)

    with in_transactions():
        with connection.execute_wrapper(watch):
            Group.objects.create(name="kept")
        Group.objects.create(name="kept, too")
    assert [word for word in seen if word != "BEGIN"] == ["INSERT"]
    assert not connection.execute_wrappers
    assert names() == {"kept", "kept, too"}


def test_one_within_another_is_part_of_it() -> None:
    with suppress(transactions.Rollback), in_transactions():
        with in_transactions():
            Group.objects.create(name="gone")
        raise transactions.Rollback
    assert names() == set()


def test_a_first_statement_that_fails_leaves_the_connection_as_it_was() -> None:
    with pytest.raises(DatabaseError), in_transactions(), connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")
    assert connection.get_autocommit()
    assert not connection.execute_wrappers
    with in_transactions():
        Group.objects.create(name="kept")
    assert names() == {"kept"}


def test_a_connection_closed_within_is_no_trouble_for_the_next() -> None:
    with in_transactions():
        connection.close()
    with in_transactions():
        Group.objects.create(name="kept")
    assert names() == {"kept"}


INSERT = "INSERT INTO auth_group (name) VALUES ('gone')"


def by_the_driver() -> None:
    connection.connection.cursor().execute(INSERT)


def by_a_cursors_cursor() -> None:
    with connection.cursor() as cursor:
        cursor.cursor.execute(INSERT)


@pytest.mark.parametrize("write", [by_the_driver, by_a_cursors_cursor])
@pytest.mark.parametrize("more", [False, True])
def test_what_was_written_past_djangos_cursors_is_undone_and_kept_as_all_else(
    write: Callable[[], None], more: bool
) -> None:
    def run() -> None:
        write()
        if more:
            with transaction.atomic():
                Group.objects.create(name="kept")

    connection.ensure_connection()
    with suppress(transactions.Rollback), in_transactions():
        run()
        raise transactions.Rollback
    assert names() == set()
    with in_transactions():
        run()
    assert names() == ({"gone", "kept"} if more else {"gone"})
    assert connection.get_autocommit()


def test_the_transactions_of_a_hook_are_its_own() -> None:
    def hook() -> None:
        with suppress(transactions.Rollback), transaction.atomic():
            Group.objects.create(name="gone")
            raise transactions.Rollback
        with in_transactions():
            pass
        with suppress(transactions.Rollback), in_transactions():
            Group.objects.create(name="gone")
            raise transactions.Rollback
        with transaction.atomic():
            Group.objects.create(name="kept")

    with in_transactions():
        transaction.on_commit(hook)
    assert names() == {"kept"}
    assert connection.get_autocommit()


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL locks rows")
def test_a_handler_that_goes_on_after_the_lock_has_a_transaction_all_the_same() -> None:
    def ignore(execute: Any, *args: Any) -> Any:
        return execute(*args)

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 0")
    with suppress(transactions.Rollback), in_transactions():
        with connection.execute_wrapper(ignore), closing(sqlite3.connect(connection.settings_dict["NAME"])) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(OperationalError):
                Group.objects.count()
        Group.objects.create(name="gone")
        raise transactions.Rollback
    assert names() == set()
    assert not connection.execute_wrappers
    # The next one waits for its turn as ever.
    connection.close()


def test_a_wrapper_around_it_may_ask_the_database_itself() -> None:
    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("INSERT"):
            Group.objects.count()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain), suppress(transactions.Rollback), in_transactions():
        Group.objects.create(name="gone")
        raise transactions.Rollback
    assert names() == set()
    with connection.execute_wrapper(explain), in_transactions():
        Group.objects.create(name="kept")
    assert names() == {"kept"}


def an_error_within_a_block_without_a_savepoint() -> None:
    with suppress(ValueError), transaction.atomic(savepoint=False):
        raise ValueError


def an_error_of_the_database() -> None:
    with suppress(DatabaseError), connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")


def an_error_of_many_rows() -> None:
    with suppress(IntegrityError):
        Group.objects.bulk_create([Group(name="twice"), Group(name="twice")])


@pytest.mark.parametrize(
    "fault",
    [
        an_error_within_a_block_without_a_savepoint,
        an_error_of_the_database,
        an_error_of_many_rows,
        connection.close,
        close_old_connections,
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_no_rollback_is_a_success(fault: Callable[[], object], inside: bool) -> None:
    told = False
    try:
        with in_transactions() as outer:
            if inside:
                with in_transactions() as inner:
                    Group.objects.create(name="kept")
                    fault()
                    inner.check()
            else:
                Group.objects.create(name="kept")
                fault()
            outer.check()
    except transaction.TransactionManagementError:
        told = True
    assert told is ("kept" not in names())


def test_an_earlier_wish_for_an_inner_part_hides_no_later_rollback() -> None:
    with in_transactions() as outer:
        with transaction.atomic():
            transaction.set_rollback(True)
        an_error_within_a_block_without_a_savepoint()
        with pytest.raises(transaction.TransactionManagementError):
            outer.check()
    with in_transactions() as outer:
        Group.objects.create(name="gone")
        with in_transactions() as inner:
            inner.check()
        transaction.set_rollback(True)
        outer.check()
    assert names() == set()
