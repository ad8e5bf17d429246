"""The compiled statement: the rows of its queryset, whichever way it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, models
from django.db.models import Func, Value
from django.test.utils import CaptureQueriesContext

from mcp_gateway.models import Scope
from mcp_gateway.oauth.statement import Statement

pytestmark = pytest.mark.django_db

MARKER = "?marker?"


@pytest.fixture
def scopes() -> models.QuerySet[Any, Any]:
    Scope.objects.create(name="orders:read", description="Read 100 % of the orders", is_default=True)
    Scope.objects.create(name="orders:write", description="")
    return Scope.objects.filter(name=MARKER).order_by().values_list("name", "description", "is_default", "pk")


@pytest.fixture(params=["directly", "with Django's cursor"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "directly":
        yield request.param
        return

    def look_on(execute: Callable[..., Any], *arguments: Any) -> Any:
        return execute(*arguments)

    with connection.execute_wrapper(look_on):
        yield request.param


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["orders:read", "orders:write"])
def test_the_first_row_is_that_of_the_queryset_with_the_value_in_the_markers_place(
    scopes: models.QuerySet[Any, Any], name: str
) -> None:
    statement = Statement(scopes, "default", MARKER)
    expected = Scope.objects.filter(name=name).values_list("name", "description", "is_default", "pk").get()

    assert [statement.first(name), statement.first(name)] == [list(expected), list(expected)]


KINDS: list[tuple[models.Field[Any, Any], Any]] = [
    *(
        (models.TextField(), text)
        for text in ("", 'a"b\\c', "a\0b", "\u2028 \N{GRINNING FACE} é", "[1,null]", "x" * 100_000)
    ),
    *((models.BigIntegerField(), number) for number in (0, -(2**63), 2**63 - 1)),
    *((models.BooleanField(), value) for value in (True, False)),
    (models.TextField(null=True), None),
    (models.DateTimeField(), datetime(2026, 2, 28, 23, 59, 59, 123456, tzinfo=UTC)),
    (models.DateTimeField(), datetime(2026, 2, 28, tzinfo=UTC)),
    (models.DateField(), date(2026, 2, 28)),
    (models.TimeField(), time(23, 59, 59, 7)),
    (models.DurationField(), timedelta(days=-3, microseconds=1)),
    (models.UUIDField(), UUID(int=7)),
    (models.JSONField(), {"a": [1, None, "b"]}),
    (models.FloatField(), 0.1 + 0.2),
    (models.DecimalField(max_digits=20, decimal_places=10), Decimal("12.5000000001")),
    (models.BinaryField(), b"\xff\0"),
]


@pytest.mark.usefixtures("way", "scopes")
def test_columns_of_every_kind_are_those_of_the_queryset_and_in_its_order() -> None:
    kinds = [kind for kind in KINDS if connection.vendor == "sqlite" or kind[1] != "a\0b"]
    values = {f"v{number}": Value(value, output_field=field) for number, (field, value) in enumerate(kinds)}
    rows = Scope.objects.annotate(**values).order_by().values_list(*values, "name")
    expected = rows.get(name="orders:read")

    assert Statement(rows.filter(name=MARKER), "default", MARKER).first("orders:read") == list(expected)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite keeps bytes where text was promised")
@pytest.mark.usefixtures("way", "scopes")
def test_a_field_that_holds_other_than_its_kind_is_read_all_the_same() -> None:
    odd = Func(template="X'ff'", output_field=models.TextField())
    rows = Scope.objects.annotate(odd=odd).filter(name=MARKER).order_by().values_list("odd", "name")
    statement = Statement(rows, "default", MARKER)

    assert statement.first("orders:read") == [b"\xff", "orders:read"]
    assert statement.first("orders:write") == [b"\xff", "orders:write"]


class _Moment(models.DateTimeField):  # type: ignore[type-arg]
    """A date that is kept as a number, as a project's own field may."""

    def db_type(self, connection: Any) -> str:
        return "real"

    def get_db_converters(self, connection: Any) -> list[Any]:
        return []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only rows of SQLite are packed")
@pytest.mark.usefixtures("way", "scopes")
def test_a_field_of_another_type_than_its_kinds_keeps_every_digit() -> None:
    moment = Func(template="1772323199.123456789", output_field=_Moment())
    rows = Scope.objects.annotate(moment=moment).filter(name=MARKER).order_by()
    statement = Statement(rows.values_list("name", "moment", "is_default"), "default", MARKER)

    row = statement.row("orders:read")
    assert row is not None
    assert row[1:] == (1772323199.123456789,)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only rows of SQLite are packed")
@pytest.mark.usefixtures("scopes")
def test_two_threads_that_meet_what_json_cannot_hold_at_the_same_time_both_have_their_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd = Func(template="X'ff'", output_field=models.TextField())
    rows = Scope.objects.annotate(odd=odd).filter(name=MARKER).order_by().values_list("odd", "name")
    statement = Statement(rows, "default", MARKER)
    fetch = statement._fetch
    meanwhile: list[list[Any] | None] = []

    def fetch_as_another_does(*arguments: Any) -> Any:
        try:
            return fetch(*arguments)
        except DatabaseError:
            if not meanwhile:
                meanwhile.append(None)
                meanwhile[0] = statement.first("orders:write")
            raise

    monkeypatch.setattr(statement, "_fetch", fetch_as_another_does)

    assert statement.first("orders:read") == [b"\xff", "orders:read"]
    assert meanwhile == [[b"\xff", "orders:write"]]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only rows of SQLite are packed")
def test_a_statement_that_came_before_its_table_is_packed_once_that_is_there(
    scopes: models.QuerySet[Any, Any],
) -> None:
    statement = Statement(scopes, "default", MARKER)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE mcp_gateway_scope RENAME TO scope_to_come")
        with pytest.raises(DatabaseError, match="no such table"):
            statement.row("orders:read")
        cursor.execute("ALTER TABLE scope_to_come RENAME TO mcp_gateway_scope")
    row = statement.row("orders:read")
    assert row is not None
    assert len(row) == 1


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", ["nothing", "' OR 1=1 --", "%s", "?", ""])
def test_a_value_that_no_row_has_finds_none(scopes: models.QuerySet[Any, Any], name: str) -> None:
    assert Statement(scopes, "default", MARKER).first(name) is None


def test_a_query_log_and_a_wrapper_see_the_statement(scopes: models.QuerySet[Any, Any]) -> None:
    statement = Statement(scopes, "default", MARKER)
    seen: list[str] = []

    def note(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        seen.append(sql)
        return execute(sql, *arguments)

    with CaptureQueriesContext(connection) as log:
        statement.first("orders:read")
    with connection.execute_wrapper(note):
        statement.first("orders:read")

    assert len(log) == len(seen) == 1


def test_what_the_driver_refuses_is_djangos_error() -> None:
    rows = Scope.objects.annotate(none=models.expressions.RawSQL("no_such_column", ())).order_by().values_list("none")

    with pytest.raises(DatabaseError):
        Statement(rows, "default").first()


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_died_is_replaced() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("only a server's connections die")
    Scope.objects.create(name="orders:read")
    statement = Statement(Scope.objects.filter(name=MARKER).order_by().values_list("name"), "default", MARKER)
    statement.first("orders:read")
    # The server ends the connection, as it does when it restarts.
    died = connection.connection
    with died.__class__.connect(died.info.dsn, password=died.info.password, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [died.info.backend_pid])

    assert statement.first("orders:read") == ["orders:read"]
    assert connection.connection is not died


@pytest.mark.django_db(transaction=True)
def test_a_statement_prepared_before_a_column_changed_its_type_goes_on() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL prepares statements")
    Scope.objects.create(name="orders:read", description="Read")
    rows = Scope.objects.filter(name=MARKER).order_by().values_list("description")
    statement = Statement(rows, "default", MARKER)
    statement.first("orders:read")
    table = connection.ops.quote_name(Scope._meta.db_table)
    declared = Scope._meta.get_field("description").db_type(connection)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} ALTER COLUMN description TYPE varchar(5000)")
    try:
        assert statement.first("orders:read") == ["Read"]
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table} ALTER COLUMN description TYPE {declared}")
