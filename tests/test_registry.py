"""The snapshot: what it holds, when it is read again, and that it never shows half of a change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from oauth2_provider.models import get_application_model
from pytest_django import DjangoAssertNumQueries

from mcp_gateway import registry
from mcp_gateway.models import Client, Endpoint, Generation, Listener, Module, Scope, Tool
from mcp_gateway.registry import holding, reading

Make = Callable[..., Listener]


@pytest.fixture
def make(db: None) -> Make:
    """Make a listener and, where it names a plain event, its tool."""

    def make(event: str = "echo", module: str = "demo", *, tool: bool = True, **columns: Any) -> Listener:
        owner, _made = Module.objects.get_or_create(module_id=module)
        columns = {"origins": ["mcp"], "class_name": "demo.Handler", "method": "on_echo", **columns}
        identity = f"{module}-{event}-{Listener.objects.count()}"
        listener = Listener.objects.create(module=owner, event=event, identity=identity, **columns)
        if tool and "*" not in event:
            Tool.objects.get_or_create(
                name=event, defaults={"listener": listener, "title": event.title(), "output_schema": "{}"}
            )
        return listener

    return make


def names(listeners: tuple[registry.ListenerEntry, ...]) -> list[str]:
    return [f"{entry.module.module_id}/{entry.event}/{entry.position}" for entry in listeners]


def test_it_is_read_once_per_generation(make: Make, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    make()
    held = registry.snapshot()
    with django_assert_num_queries(0):
        assert registry.snapshot(held.generation) is held
        assert registry.latest() is held
    with django_assert_num_queries(1):
        assert registry.snapshot() is held


def test_a_change_holds_for_the_next_reader(make: Make) -> None:
    make()
    held = registry.snapshot()
    Tool.objects.update(enabled=False)
    changed = registry.snapshot()
    assert "echo" in held.tools
    assert "echo" not in changed.tools
    assert changed.generation > held.generation


def test_reading_it_takes_the_same_statements_for_any_number_of_tools(
    make: Make, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make()
    with django_assert_num_queries(15) as few:
        registry.snapshot()
    for number in range(20):
        make(f"tool{number}")
    with django_assert_num_queries(len(few)):
        registry.snapshot()


def test_a_number_from_before_a_change_gives_what_is_newest(make: Make) -> None:
    make()
    old = registry.snapshot()
    Tool.objects.update(enabled=False)
    new = registry.snapshot()
    assert registry.snapshot(old.generation) is new


def test_a_restored_database_is_read_again_although_its_number_is_lower(make: Make) -> None:
    make()
    before = Generation.current()
    Tool.objects.update(title="Changed")
    assert registry.snapshot().tools["echo"].title == "Changed"
    Tool.objects.update(title="Restored")
    Generation.objects.update(number=before)
    assert registry.snapshot(before).tools["echo"].title == "Restored"


def test_what_was_rolled_back_is_not_served(make: Make) -> None:
    make()
    with transaction.atomic():
        Tool.objects.update(title="Never")
        assert registry.snapshot().tools["echo"].title == "Never"
        transaction.set_rollback(True)
    assert registry.snapshot().tools["echo"].title == "Echo"
    Tool.objects.update(description="Something else")
    assert registry.snapshot().tools["echo"].title == "Echo"


def test_a_change_during_the_reading_makes_it_read_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make()
    read = reading.read_tables
    reads: list[int] = []

    def read_while_another_writes(generation: int) -> registry.Snapshot:
        loaded = read(generation)
        reads.append(generation)
        if len(reads) == 1:
            Tool.objects.update(title="Newer")
        return loaded

    monkeypatch.setattr(holding, "read_tables", read_while_another_writes)
    held = registry.snapshot()
    assert held.tools["echo"].title == "Newer"
    assert held.generation == Generation.current()
    assert len(reads) == 2


def test_nothing_in_it_can_be_changed(make: Make) -> None:
    make()
    held = registry.snapshot()
    with pytest.raises(TypeError):
        held.tools["other"] = held.tools["echo"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        held.tools["echo"].title = "Mine"  # type: ignore[misc]


def test_listeners_run_by_priority_then_event_then_module_then_file(make: Make) -> None:
    make("echo", "beta", position=1)
    make("echo", "beta", position=0)
    make("echo", "alpha", position=7)
    make("e*", "alpha", position=3)
    make("echo", "gamma", position=9, priority=0.9)
    make("echo", "alpha", position=1, priority=0.1)
    assert names(registry.snapshot().matching("echo", "mcp")) == [
        "gamma/echo/9",
        "alpha/e*/3",
        "alpha/echo/7",
        "beta/echo/0",
        "beta/echo/1",
        "alpha/echo/1",
    ]


@pytest.mark.parametrize(
    ("event", "origins", "type_", "origin", "reached"),
    [
        ("echo", ["mcp"], "echo", "mcp", True),
        ("echo", ["mcp"], "echo", "remote", False),
        ("echo", [], "echo", "mcp", False),
        ("echo", ["*"], "echo", "cli", True),
        ("echo", ["remote", "mcp"], "echo", "mcp", True),
        ("Echo", ["mcp"], "echo", "mcp", False),
        ("orders:*", ["mcp"], "orders:list", "mcp", True),
        ("orders:*", ["mcp"], "orders", "mcp", False),
        ("*:list", ["mcp"], "orders:list", "mcp", True),
        ("*", ["internal"], "anything", "internal", True),
        ("orders:list", ["mcp"], "orders:*", "mcp", False),
        ("*[ab]", ["mcp"], "xa", "mcp", False),
        ("*[ab]", ["mcp"], "x[ab]", "mcp", True),
        ("*?", ["mcp"], "xy", "mcp", False),
        ("*?", ["mcp"], "x?", "mcp", True),
        ("*[!a]", ["mcp"], "x[!a]", "mcp", True),
        ("*[!a]", ["mcp"], "xb", "mcp", False),
    ],
)
def test_only_the_star_of_a_listener_is_a_wildcard(
    make: Make, event: str, origins: list[str], type_: str, origin: str, reached: bool
) -> None:
    make(event, origins=origins, tool=False)
    assert bool(registry.snapshot().matching(type_, origin)) is reached


def test_a_refused_listener_is_not_served(make: Make) -> None:
    make(problem="No such class.")
    held = registry.snapshot()
    assert held.listeners == ()
    assert held.tools == {}


def test_the_tools_of_a_module_that_is_gone_are_not_served(make: Make) -> None:
    make()
    make("other", "second")
    Module.objects.filter(module_id="demo").update(present=False)
    assert list(registry.snapshot().tools) == ["other"]


@pytest.mark.parametrize(
    "change",
    [{"enabled": False}, {"available": False}, {"visibility_override": "off"}, {"visibility": "off"}],
    ids=lambda change: next(iter(change)),
)
def test_a_tool_that_is_off_or_retired_is_not_served(make: Make, change: dict[str, Any]) -> None:
    make()
    Tool.objects.update(**change)
    assert registry.snapshot().tools == {}


def test_tools_come_in_the_order_of_their_names(make: Make) -> None:
    for name in ("zeta", "alpha", "Midi"):
        make(name)
    assert list(registry.snapshot().tools) == sorted(("zeta", "alpha", "Midi"))


def test_a_tool_needs_the_rights_of_every_listener_it_would_reach(make: Make) -> None:
    make(right="")
    make(right="oauth2:scope orders:read")
    make("ec*", right="staff")
    make(right="perm x.y", origins=["remote"])
    assert set(registry.snapshot().tools["echo"].rights) == {"oauth2:scope orders:read", "staff"}


@pytest.mark.parametrize(
    "columns",
    [
        {"problem": "No such class."},
        {"problem": "An unknown origin.", "origins": []},
        {"problem": "No response schema.", "tool_problem": "No response schema."},
        {"tool_problem": "No response schema.", "origins": ["remote"]},
        {"event": "ec*", "problem": "No such class."},
    ],
    ids=lambda columns: ", ".join(columns),
)
def test_a_refused_listener_still_protects_its_tool(make: Make, columns: dict[str, Any]) -> None:
    make()
    make(**{"right": "oauth2:scope orders:read", **columns})
    entry = registry.snapshot().tools["echo"]
    assert entry.rights == ("oauth2:scope orders:read",)
    assert len(entry.listeners) == 1


def test_a_refused_listener_of_other_origins_protects_no_tool(make: Make) -> None:
    make()
    make(right="staff", origins=["remote"], problem="No such class.")
    assert registry.snapshot().tools["echo"].rights == ()


def test_a_required_scope_that_is_disabled_is_still_needed(make: Make) -> None:
    make()
    scope = Scope.objects.create(name="orders:read", enabled=False)
    Tool.objects.get().required_scopes.add(scope)
    held = registry.snapshot()
    assert held.tools["echo"].rights == ("oauth2:scope orders:read",)
    assert held.close(["orders:read"]) == frozenset()


def test_a_scope_counts_for_all_it_implies_along_the_whole_way(db: None) -> None:
    rows = {name: Scope.objects.create(name=name) for name in ("admin", "write", "read", "loop")}
    rows["admin"].implies.add(rows["write"])
    rows["write"].implies.add(rows["read"])
    rows["read"].implies.add(rows["loop"])
    rows["loop"].implies.add(rows["admin"])
    held = registry.snapshot()
    assert held.close(["admin"]) == {"admin", "write", "read", "loop"}
    assert held.scopes["admin"].implies == {"write", "read", "loop"}
    assert held.close(["unknown"]) == frozenset()


def test_a_disabled_scope_implies_nothing_and_is_not_implied(db: None) -> None:
    rows = {name: Scope.objects.create(name=name) for name in ("admin", "write", "read")}
    rows["admin"].implies.add(rows["write"])
    rows["write"].implies.add(rows["read"])
    rows["write"].enabled = False
    rows["write"].save()
    assert registry.snapshot().close(["admin", "write"]) == {"admin"}


def test_a_renamed_scope_holds_at_once(make: Make) -> None:
    make()
    scope = Scope.objects.create(name="orders:read")
    Tool.objects.get().required_scopes.add(scope)
    assert registry.snapshot().tools["echo"].rights == ("oauth2:scope orders:read",)
    scope.name = "orders:view"
    scope.save()
    assert registry.snapshot().tools["echo"].rights == ("oauth2:scope orders:view",)


def test_endpoints_tell_who_may_enter_and_keep_a_disabled_baseline(db: None) -> None:
    Scope.objects.update(enabled=False)
    Endpoint.objects.update(access="token", instructions="Ask before you buy.")
    Endpoint.objects.create(slug="closed", enabled=False)
    held = registry.snapshot()
    assert list(held.endpoints) == [""]
    assert held.endpoints[""].token_required
    assert held.endpoints[""].baseline == ("mcp:tools",)
    assert held.endpoints[""].instructions == "Ask before you buy."


def test_clients_are_known_by_their_application(db: None) -> None:
    application = get_application_model()._default_manager.create(
        name="Agent", client_type="public", authorization_grant_type="authorization-code"
    )
    client = Client.objects.create(application=application, enabled=False)
    client.allowed_scopes.add(Scope.objects.get(name="mcp:tools"))
    entry = registry.snapshot().clients[application.pk]
    assert not entry.enabled
    assert entry.allowed_scopes == {"mcp:tools"}
    assert entry.service_user_id is None


def test_what_is_derived_is_made_once(db: None) -> None:
    held = registry.snapshot()
    made: list[int] = []

    def build() -> list[str]:
        made.append(1)
        return []

    first = held.derived("listing", build)
    assert held.derived("listing", build) is first
    assert len(made) == 1
    Endpoint.objects.update(title="Another")
    assert registry.snapshot().derived("listing", build) is not first


@pytest.mark.django_db(transaction=True)
def test_readers_never_see_half_of_a_change() -> None:
    """A tool is open in one state and switched off in the other, its scope's name says which."""
    scope = Scope.objects.create(name="state:0")
    module = Module.objects.create(module_id="demo")
    for name in ("first", "second"):
        listener = Listener.objects.create(module=module, event=name, origins=["mcp"], identity=name)
        tool = Tool.objects.create(name=name, listener=listener, title="0")
        tool.required_scopes.add(scope)
    registry.forget()
    torn: list[str] = []
    failures: list[BaseException] = []
    reads: list[int] = []
    done = threading.Event()

    def write() -> None:
        try:
            for state in range(1, 21):
                with transaction.atomic():
                    Tool.objects.filter(name="first").update(title=str(state))
                    Scope.objects.filter(pk=scope.pk).update(name=f"state:{state}")
                    Tool.objects.filter(name="second").update(title=str(state))
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()
            connection.close()

    def read() -> None:
        try:
            while True:
                last = done.is_set()
                held = registry.snapshot()
                first, second = held.tools["first"], held.tools["second"]
                if not first.title == second.title == first.rights[0].rpartition(":")[2]:
                    torn.append(f"{first.title} {second.title} {first.rights}")
                reads.append(int(first.title))
                if last:
                    break
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=write), *(threading.Thread(target=read) for _reader in range(3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    assert torn == []
    assert reads[-1] == 20
