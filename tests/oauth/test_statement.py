"""The compiled statement: the rows of its queryset, whichever way it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import DatabaseError, connection, models
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
