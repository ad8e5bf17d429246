"""What a handler begins and leaves open is undone and no success, and the next call finds a connection as ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection, connections, transaction

from mcp_gateway.events import transactions

pytestmark = pytest.mark.django_db(transaction=True)

kept: list[Any] = []


def write(name: str = "gone") -> None:
    Group.objects.create(name=name)


def names() -> set[str]:
    return set(Group.objects.filter(name__in=["gone", "next"]).values_list("name", flat=True))


def a_block_that_it_entered() -> None:
    transaction.atomic().__enter__()
    write()


def a_block_without_a_savepoint() -> None:
    transaction.atomic(savepoint=False).__enter__()
    write()


def a_generator_that_nobody_reads_to_its_end() -> None:
    def rows() -> Any:
        with transaction.atomic():
            write()
            yield 1

    kept.append(rows())
    next(kept[-1])


def autocommit_switched_off() -> None:
    transaction.set_autocommit(False)
    write()


def a_transaction_in_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
    write()


LEFT = [
    a_block_that_it_entered,
    a_block_without_a_savepoint,
    a_generator_that_nobody_reads_to_its_end,
    autocommit_switched_off,
    a_transaction_in_sql,
]


@pytest.fixture(autouse=True)
def no_generators() -> Any:
    yield
    kept.clear()


def run(leave: Callable[[], object], aliases: list[str]) -> str:
    """How a handler that does this ends, for its caller."""
    try:
        with transactions.in_transactions(aliases) as opened:
            leave()
            opened.check()
    except (transaction.TransactionManagementError, DatabaseError):
        return "failed"
    return "succeeded"


def names_for_others() -> set[str]:
    seen: list[set[str]] = []

    def look() -> None:
        try:
            seen.append(names())
        finally:
            connections.close_all()

    other = threading.Thread(target=look)
    other.start()
    other.join()
    return seen[0]


def assert_as_ever() -> None:
    """The next handler on this thread writes, whether or not it has a transaction, and all others see it."""
    for aliases in (["default"], []):
        Group.objects.filter(name="next").delete()
        assert run(lambda: write("next"), aliases) == "succeeded"
        assert names_for_others() == {"next"}


@pytest.mark.parametrize("leave", LEFT)
@pytest.mark.parametrize("aliases", [["default"], []])
def test_a_transaction_that_is_left_open_is_no_success(leave: Callable[[], object], aliases: list[str]) -> None:
    if leave is a_transaction_in_sql and aliases and connection.vendor == "postgresql":
        pytest.skip("PostgreSQL takes it for the one that there is")
    assert run(leave, aliases) == "failed"
    assert names() == set()
    assert_as_ever()


@pytest.mark.parametrize("leave", LEFT[:3])
def test_a_block_that_is_left_open_within_another_one_leaves_that_one_as_it_was(leave: Callable[[], object]) -> None:
    with transaction.atomic():
        write("next")
        assert run(leave, ["default"]) == "failed"
        assert names() == {"next"}
        assert len(connection.atomic_blocks) == 1
    assert names() == {"next"}


@pytest.mark.parametrize("aliases", [["default"], []])
def test_a_block_that_is_left_open_with_an_error_is_undone(aliases: list[str]) -> None:
    def leave() -> None:
        a_block_that_it_entered()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(leave, aliases)
    assert names() == set()
    assert_as_ever()


@pytest.mark.parametrize("aliases", [["default"], []])
def test_a_wrapper_that_is_left_hears_nothing_of_the_next_call(aliases: list[str]) -> None:
    def refuse(*args: Any) -> Any:
        raise DatabaseError

    assert run(lambda: connection.execute_wrappers.append(refuse), aliases) == "succeeded"
    assert_as_ever()


@pytest.mark.parametrize("aliases", [["default"], []])
def test_a_connection_that_is_closed_behind_djangos_back_is_replaced(aliases: list[str]) -> None:
    def close() -> None:
        connection.ensure_connection()
        connection.connection.close()

    # What it ends with is the driver's to say.
    with suppress(Exception):
        run(close, aliases)
    assert_as_ever()


def test_what_was_written_on_a_connection_that_is_put_away_is_kept() -> None:
    def put_away() -> None:
        write("next")
        del connections["default"]

    assert run(put_away, ["default"]) == "succeeded"
    assert names() == {"next"}
    assert_as_ever()
