"""Every way to write a row tells every worker to look again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import F

from mcp_gateway.models import (
    Client,
    Endpoint,
    Generation,
    Listener,
    Module,
    Prompt,
    Resource,
    Scope,
    ScopeGroup,
    Tool,
    Versioned,
)
from mcp_gateway.models.generation import GENERATION_PK

Context = Callable[[], AbstractContextManager[None]]


def test_every_table_of_the_snapshot_is_versioned() -> None:
    versioned = {model for model in apps.get_app_config("mcp_gateway").get_models() if issubclass(model, Versioned)}
    assert versioned == {Module, Listener, Tool, Resource, Prompt, Scope, ScopeGroup, Endpoint, Client}


@pytest.mark.parametrize("row", ["module", "listener", "tool", "resource", "prompt", "scope", "endpoint", "client_row"])
def test_saving_a_row_raises_it(row: str, request: pytest.FixtureRequest, rises: Context) -> None:
    instance = request.getfixturevalue(row)
    with rises():
        instance.save()
    with rises():
        instance.save(update_fields=[_a_field(instance)])


@pytest.mark.parametrize("row", ["module", "listener", "tool", "resource", "prompt", "scope", "client_row"])
def test_deleting_a_row_raises_it(row: str, request: pytest.FixtureRequest, rises: Context) -> None:
    instance = request.getfixturevalue(row)
    with rises():
        instance.delete()


@pytest.mark.parametrize("row", ["module", "listener", "tool", "resource", "prompt", "scope", "client_row"])
def test_deleting_through_a_queryset_raises_it(row: str, request: pytest.FixtureRequest, rises: Context) -> None:
    instance = request.getfixturevalue(row)
    with rises():
        type(instance).objects.filter(pk=instance.pk).delete()
    assert not type(instance).objects.filter(pk=instance.pk).exists()


@pytest.mark.parametrize("row", ["module", "listener", "tool", "resource", "prompt", "scope", "endpoint", "client_row"])
def test_update_raises_it(row: str, request: pytest.FixtureRequest, rises: Context) -> None:
    instance = request.getfixturevalue(row)
    field = _a_field(instance)
    with rises():
        type(instance).objects.filter(pk=instance.pk).update(**{field: getattr(instance, field)})


def _a_field(instance: Any) -> str:
    return "enabled" if hasattr(instance, "enabled") else "description"


def test_an_update_that_meets_no_row_leaves_it(tool: Tool, stays: Context) -> None:
    with stays():
        assert Tool.objects.filter(name="nobody").update(enabled=False) == 0


def test_bulk_create_raises_it(db: None, rises: Context) -> None:
    with rises():
        Scope.objects.bulk_create([Scope(name="a"), Scope(name="b")])


def test_bulk_create_over_existing_rows_raises_it(scope: Scope, rises: Context) -> None:
    with rises():
        Scope.objects.bulk_create(
            [Scope(name=scope.name, enabled=False)],
            update_conflicts=True,
            unique_fields=["name"],
            update_fields=["enabled"],
        )
    scope.refresh_from_db()
    assert not scope.enabled


def test_bulk_create_of_nothing_leaves_it(db: None, stays: Context) -> None:
    with stays():
        Scope.objects.bulk_create([])


def test_bulk_update_raises_it(tool: Tool, rises: Context) -> None:
    tool.enabled = False
    with rises():
        Tool.objects.bulk_update([tool], ["enabled"])
    tool.refresh_from_db()
    assert not tool.enabled


def test_get_or_create_raises_it_only_when_it_creates(db: None, rises: Context, stays: Context) -> None:
    with rises():
        Scope.objects.get_or_create(name="new")
    with stays():
        Scope.objects.get_or_create(name="new")
    with rises():
        Scope.objects.update_or_create(name="new", defaults={"enabled": False})


def test_a_related_manager_raises_it(module: Module, listener: Listener, tool: Tool, rises: Context) -> None:
    with rises():
        module.listeners.update(priority=F("priority") / 2)
    with rises():
        module.listeners.create(event="other", identity="other")
    with rises():
        listener.tools.clear()
    tool.refresh_from_db()
    assert tool.listener is None
    with rises():
        listener.tools.add(tool)


def test_many_to_many_changes_raise_it(
    tool: Tool, endpoint: Endpoint, client_row: Client, scope: Scope, rises: Context, stays: Context
) -> None:
    other = Scope.objects.create(name="orders:write")
    for relation in (tool.required_scopes, endpoint.baseline_scopes, client_row.allowed_scopes, other.implies):
        with rises():
            relation.add(scope)
        with rises():
            relation.remove(scope)
        with rises():
            relation.set([scope])
        with stays():
            list(relation.all())
        with rises():
            relation.clear()


def test_who_may_grant_a_scope_raises_it(scope: Scope, rises: Context) -> None:
    traders = Group.objects.create(name="traders")
    for change in (
        lambda: scope.groups.add(traders),
        lambda: scope.groups.remove(traders),
        lambda: scope.groups.set([traders]),
        lambda: scope.groups.clear(),
        lambda: ScopeGroup.objects.create(scope=scope, group=traders),
        lambda: ScopeGroup.objects.all().delete(),
    ):
        with rises():
            change()


def test_many_to_many_changes_from_the_scopes_side_raise_it(
    tool: Tool, endpoint: Endpoint, client_row: Client, scope: Scope, rises: Context
) -> None:
    sides: tuple[tuple[Any, Versioned], ...] = (
        (scope.tools, tool),
        (scope.baseline_of, endpoint),
        (scope.clients, client_row),
        (scope.implied_by, Scope.objects.create(name="orders:all")),
    )
    for relation, row in sides:
        with rises():
            relation.add(row)
        with rises():
            relation.set([])


def test_deleting_an_application_raises_it(client_row: Client, rises: Context) -> None:
    with rises():
        client_row.application.delete()
    assert not Client.objects.exists()


def test_deleting_a_service_user_raises_it(client_row: Client, rises: Context) -> None:
    user = get_user_model()._default_manager.create_user("robot")
    client_row.service_user = user
    client_row.save()
    with rises():
        user.delete()
    client_row.refresh_from_db()
    assert client_row.service_user is None


def test_loading_a_fixture_raises_it(scope: Scope, tmp_path: Any, rises: Context) -> None:
    saved = tmp_path / "scopes.json"
    call_command("dumpdata", "mcp_gateway.scope", output=str(saved), stdout=StringIO())
    with rises():
        call_command("loaddata", str(saved), verbosity=0)


def test_async_writes_raise_it(tool: Tool, rises: Context) -> None:
    with rises():
        async_to_sync(Tool.objects.filter(pk=tool.pk).aupdate)(enabled=False)
    with rises():
        async_to_sync(tool.asave)()


def test_raw_sql_bumps_it_by_hand(db: None, rises: Context) -> None:
    with rises():
        Generation.bump()


def test_a_lost_row_of_the_generation_comes_back(db: None, rises: Context) -> None:
    Generation.objects.all().delete()
    assert Generation.current() == 0
    with rises():
        Generation.bump()
    assert Generation.objects.get().pk == GENERATION_PK


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "write",
    [
        lambda: Scope(name="orders:read").save(),
        lambda: Scope.objects.bulk_create([Scope(name="orders:read")]),
        lambda: Scope.objects.filter(name="mcp:tools").update(name="orders:read"),
    ],
    ids=["save", "bulk_create", "update"],
)
def test_rows_and_number_are_committed_together(write: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("the database went away")

    monkeypatch.setattr(Generation, "bump", fail)
    with pytest.raises(ConnectionError):
        write()
    assert not Scope.objects.filter(name="orders:read").exists()


@pytest.mark.django_db(transaction=True)
def test_a_refused_save_can_be_caught_inside_a_transaction() -> None:
    Scope.objects.create(name="orders:read")
    with transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic():
            Scope.objects.create(name="orders:read")
        Scope.objects.create(name="orders:write")
    assert Scope.objects.filter(name="orders:write").exists()


def test_a_number_that_was_rolled_back_is_not_given_again(db: None) -> None:
    given = set()
    for _attempt in range(20):
        with transaction.atomic():
            Generation.bump()
            given.add(Generation.current())
            transaction.set_rollback(True)
    assert len(given) == 20


@pytest.mark.django_db(transaction=True)
def test_no_change_is_lost_when_many_write_at_once() -> None:
    names = [f"scope:{number}" for number in range(8)]
    seen: list[int] = []
    failures: list[BaseException] = []

    def write(name: str) -> None:
        try:
            with transaction.atomic():
                Scope.objects.create(name=name)
                seen.append(Generation.current())
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    before = Generation.current()
    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert len(set(seen)) == len(names)
    assert Generation.current() == max(seen) > before
    assert set(Scope.objects.values_list("name", flat=True)) >= set(names)
