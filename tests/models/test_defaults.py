"""What every installation starts with, and what stays as the administrator left it."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import ProtectedError

from mcp_gateway.models import DEFAULT_SCOPE, Client, Endpoint, Generation, Scope, Tool
from mcp_gateway.models.defaults import create_defaults


def test_after_migrate_there_is_an_endpoint_that_anyone_may_enter(db: None) -> None:
    endpoint = Endpoint.objects.get()
    assert endpoint.slug == ""
    assert endpoint.enabled
    assert endpoint.access == Endpoint.Access.ANYONE
    assert [scope.name for scope in endpoint.baseline_scopes.all()] == [DEFAULT_SCOPE]


def test_after_migrate_there_is_the_scope_that_clients_ask_for(db: None) -> None:
    scope = Scope.objects.get(name="mcp:tools")
    assert DEFAULT_SCOPE == "mcp:tools"
    assert scope.enabled
    assert scope.self_service
    assert scope.is_default
    assert scope.description


def test_what_an_administrator_changed_stays(db: None) -> None:
    Scope.objects.filter(name=DEFAULT_SCOPE).update(enabled=False, description="Everything")
    endpoint = Endpoint.objects.get()
    endpoint.baseline_scopes.clear()
    endpoint.access = Endpoint.Access.TOKEN
    endpoint.save()
    number = Generation.current()
    create_defaults("default")
    assert Generation.current() == number
    scope = Scope.objects.get(name=DEFAULT_SCOPE)
    assert not scope.enabled
    assert scope.description == "Everything"
    endpoint.refresh_from_db()
    assert endpoint.access == Endpoint.Access.TOKEN
    assert not endpoint.baseline_scopes.exists()


def test_a_missing_row_comes_back(db: None) -> None:
    Endpoint.objects.all().delete()
    Scope.objects.all().delete()
    create_defaults("default")
    assert Endpoint.objects.get().baseline_scopes.get().name == DEFAULT_SCOPE


@pytest.mark.django_db(transaction=True)
def test_after_a_flush_the_rows_are_there_again() -> None:
    call_command("flush", interactive=False, verbosity=0)
    assert Endpoint.objects.filter(slug="").exists()
    assert Scope.objects.filter(name=DEFAULT_SCOPE).exists()
    assert Generation.current() > 0


@pytest.mark.django_db(transaction=True)
def test_the_app_can_be_migrated_away_and_back() -> None:
    try:
        call_command("migrate", "mcp_gateway", "zero", verbosity=0)
        tables = connection.introspection.table_names()
        assert not [table for table in tables if table.startswith("mcp_gateway_")]
    finally:
        call_command("migrate", verbosity=0)
    assert Endpoint.objects.filter(slug="").exists()


def test_a_scope_that_a_tool_needs_cannot_be_deleted(tool: Tool, scope: Scope) -> None:
    tool.required_scopes.add(scope)
    with pytest.raises(ProtectedError, match="needed by tool “echo”"), transaction.atomic():
        scope.delete()
    with pytest.raises(ProtectedError), transaction.atomic():
        Scope.objects.filter(pk=scope.pk).delete()
    assert tool.required_scopes.get() == scope


def test_a_scope_that_an_endpoint_needs_cannot_be_deleted(endpoint: Endpoint) -> None:
    with pytest.raises(ProtectedError, match="MCP gateway"), transaction.atomic():
        Scope.objects.get(name=DEFAULT_SCOPE).delete()
    assert endpoint.baseline_scopes.exists()


def test_a_clients_last_allowed_scope_cannot_be_deleted_into_every_scope(client_row: Client, scope: Scope) -> None:
    client_row.allowed_scopes.add(scope)
    with pytest.raises(ProtectedError, match="Agent"), transaction.atomic():
        scope.delete()
    assert client_row.allowed_scopes.get() == scope


def test_a_scope_that_nothing_needs_can_be_deleted(scope: Scope) -> None:
    scope.delete()
    assert not Scope.objects.filter(name="orders:read").exists()


@pytest.mark.parametrize("name", ["mcp:tools", "orders:read", "https://example.com/scope", "!#[]~"])
def test_a_scope_is_named_as_rfc_6749_allows(db: None, name: str) -> None:
    Scope(name=name).full_clean(exclude=["description"], validate_unique=False)


@pytest.mark.parametrize("name", ["", "two words", 'quo"te', "back\\slash", "umläut", "tab\t", "end\n"])
def test_a_scope_with_another_name_is_refused(db: None, name: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Scope(name=name).full_clean()
    assert "name" in caught.value.message_dict
