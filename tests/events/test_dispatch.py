"""Dispatch: order, rights, transactions and failures."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction

from mcp_gateway import registry
from mcp_gateway.events import CallEvent, Event, Status
from mcp_gateway.events.dispatch import dispatch
from tests import demo as demo_tools
from tests.demo import Demo


@pytest.fixture
def demo(db: None, settings: Any, write_module: Callable[..., Path]) -> Demo:
    """The demo module without a database transaction of its own in the way of handlers' rows."""
    write_module({})
    settings.ZOLINGA = {**settings.ZOLINGA, "HANDLER_PACKAGES": ["tests"]}
    return demo_tools.make()


def run(event: Event, **options: Any) -> Event:
    dispatch(event, registry.snapshot().matching(event.type, event.origin), **options)
    return event


def test_listeners_run_by_priority_then_name_then_place_in_the_file(demo: Demo) -> None:
    ran: list[tuple[str, float]] = []
    demo.play("x:y", lambda event: ran.append(event))
    for pattern, priority in [("x:*", 0.5), ("x:y", 0.5), ("x:y", 0.9), ("*", 0.1), ("x:y", 0.5)]:
        demo.listen(pattern, priority=priority, origins=["internal"])
    found = registry.snapshot().matching("x:y", "internal")
    assert [(entry.event, entry.priority, entry.position) for entry in found] == sorted(
        [(entry.event, entry.priority, entry.position) for entry in found],
        key=lambda entry: (-entry[1], entry[0], entry[2]),
    )
    run(Event("x:y"))
    assert len(ran) == 5


def test_wildcards_are_the_listeners_only(demo: Demo) -> None:
    demo.play("x:y", lambda event: event.set_status(200))
    demo.listen("x:y", origins=["internal"])
    assert run(Event("x:*")).status is Status.UNDETERMINED
    assert run(Event("x:y")).status is Status.OK


@pytest.mark.parametrize("character", ["[", "]", "?", "[x]", "!"])
def test_only_the_star_is_a_wildcard(demo: Demo, character: str) -> None:
    demo.listen(f"a{character}b*", origins=["internal"])
    matching = registry.snapshot().matching
    assert len(matching(f"a{character}bc", "internal")) == 1
    assert len(matching("axbc", "internal")) == 0


def test_an_origin_must_be_named_or_a_star(demo: Demo) -> None:
    demo.listen("x", origins=["remote", "cli"])
    demo.listen("x", origins=["*"])
    demo.listen("x", origins=[])
    matching = registry.snapshot().matching
    assert [len(matching("x", origin)) for origin in ("remote", "cli", "mcp", "internal")] == [2, 2, 1, 1]


def test_stopping_ends_the_way(demo: Demo) -> None:
    def first(event: Event) -> None:
        event.set_status(200)
        event.stop_propagation()

    demo.play("x", first)
    demo.listen("x", origins=["internal"])
    demo.listen("x", origins=["internal"])
    run(Event("x"))
    assert len(demo.calls) == 1


def test_a_listener_whose_right_is_not_held_is_skipped(demo: Demo) -> None:
    demo.play("x", lambda event: event.set_status(200))
    demo.listen("x", origins=["internal"], right="staff")
    demo.listen("x", origins=["internal"])
    assert run(Event("x"), may_run=lambda listener: not listener.right).ok
    assert len(demo.calls) == 1


def test_an_event_that_no_listener_may_run_is_denied(demo: Demo) -> None:
    demo.listen("x", origins=["internal"], right="staff")
    event = run(Event("x"), may_run=lambda listener: False)
    assert event.status is Status.FORBIDDEN
    assert demo.calls == []


def test_an_event_without_listeners_stays_undetermined(demo: Demo) -> None:
    assert run(Event("nobody"), may_run=lambda listener: False).status is Status.UNDETERMINED


def test_a_returned_value_is_the_response_and_means_ok_where_nothing_was_said(demo: Demo) -> None:
    def created(event: CallEvent) -> Any:
        event.set_status(201, "Made.")
        return {"made": True}

    demo.play("x", lambda event: {"a": 1})
    demo.listen("x")
    event = CallEvent("x", "mcp")
    run(event)
    assert (event.status, event.response) == (Status.OK, {"a": 1})
    demo.play("x", created)
    event = CallEvent("x", "mcp")
    run(event)
    assert (event.status, event.message, event.response) == (Status.CREATED, "Made.", {"made": True})


def _give(value: Any, event: Event) -> Any:
    return value


def test_false_and_zero_are_values(demo: Demo) -> None:
    demo.listen("x")
    values: tuple[Any, ...] = (False, 0, "", [])
    for value in values:
        demo.play("x", partial(_give, value))
        event = CallEvent("x", "mcp")
        run(event)
        assert event.response is value
        assert event.ok


def test_an_exception_outvotes_an_earlier_success_and_ends_the_way(demo: Demo) -> None:
    def first(event: Event) -> None:
        event.set_status(200, "fine")

    def second(event: Event) -> None:
        raise RuntimeError

    steps = [first, second, first]
    demo.play("x", lambda event: steps[len(demo.calls) - 1](event))
    for _ in steps:
        demo.listen("x", origins=["internal"])
    event = run(Event("x"))
    assert event.status is Status.ERROR
    assert len(demo.calls) == 2


def test_code_that_is_missing_is_an_error_of_the_server(demo: Demo, caplog: pytest.LogCaptureFixture) -> None:
    listener = demo.listen("x", origins=["internal"])
    listener.method = "missing"
    listener.save()
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        event = run(Event("x"))
    assert event.status is Status.ERROR
    assert "does not have the tool's code" in event.message
    assert "tests" not in event.message
    assert event.message.rpartition(" ")[2].rstrip(".") in caplog.text
    assert "missing" in caplog.text


def test_code_that_is_there_and_does_not_load_is_not_called_old(
    demo: Demo, caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    (tmp_path / "of_no_use.py").write_text("x = (")
    monkeypatch.syspath_prepend(str(tmp_path))
    settings.ZOLINGA = {**settings.ZOLINGA, "HANDLER_PACKAGES": ["of_no_use"]}
    listener = demo.listen("x", origins=["internal"])
    listener.class_name = "of_no_use.Handler"
    listener.save()
    event = run(Event("x"))
    assert event.message.startswith("The tool's code cannot be loaded. The server's log")
    assert "SyntaxError" not in event.message
    assert "SyntaxError" in caplog.text


# Transactions


def names() -> set[str]:
    return set(Group.objects.filter(name__startswith="row").values_list("name", flat=True))


def step(name: str, status: int, **attributes: Any) -> Callable[[Event], None]:
    def handler(event: Event) -> None:
        Group.objects.create(name=name)
        event.set_status(status)
        for attribute, value in attributes.items():
            setattr(event, attribute, value)

    return handler


def play(demo: Demo, *steps: Callable[[Event], None], atomic: bool = True) -> None:
    demo.play("x", lambda event: steps[len(demo.calls) - 1](event))
    for _ in steps:
        demo.listen("x", origins=["internal"], atomic=atomic)


@pytest.mark.django_db(transaction=True)
def test_each_listener_has_a_transaction_of_its_own(demo: Demo) -> None:
    play(demo, step("row1", 200), step("row2", 404), step("row3", 200))
    assert run(Event("x")).ok
    assert names() == {"row1", "row3"}


@pytest.mark.django_db(transaction=True)
def test_a_listener_may_keep_what_it_wrote(demo: Demo) -> None:
    play(demo, step("row1", 400, keep_changes=True), step("row2", 400))
    run(Event("x"))
    assert names() == {"row1"}


@pytest.mark.django_db(transaction=True)
def test_a_listener_without_transaction_keeps_what_it_wrote(demo: Demo) -> None:
    play(demo, step("row1", 400), atomic=False)
    run(Event("x"))
    assert names() == {"row1"}


@pytest.mark.django_db(transaction=True)
def test_a_result_that_is_not_accepted_takes_the_last_listeners_rows_with_it(demo: Demo) -> None:
    play(demo, step("row1", 200), step("row2", 200))
    asked: list[bool] = []

    def accept() -> bool:
        asked.append(connection.in_atomic_block)
        return False

    run(Event("x"), accept=accept)
    assert asked == [True]
    assert names() == {"row1"}


@pytest.mark.django_db(transaction=True)
def test_a_result_is_judged_when_propagation_is_stopped(demo: Demo) -> None:
    def stop(event: Event) -> None:
        step("row1", 200)(event)
        event.stop_propagation()

    play(demo, stop, step("row2", 200))
    run(Event("x"), accept=lambda: False)
    assert names() == set()


@pytest.mark.django_db(transaction=True)
def test_a_handlers_own_rollback_is_its_own_wish(demo: Demo) -> None:
    # The connection remembers the error of an earlier transaction.
    with suppress(IntegrityError), transaction.atomic():
        Group.objects.create(name="twice")
        Group.objects.create(name="twice")

    def dry_run(event: Event) -> None:
        step("row1", 200)(event)
        transaction.set_rollback(True)

    play(demo, dry_run)
    assert run(Event("x")).ok
    assert names() == set()


@pytest.mark.django_db(transaction=True)
def test_a_failure_at_commit_is_no_success(demo: Demo) -> None:
    def hook() -> None:
        raise RuntimeError

    def handler(event: Event) -> None:
        step("row1", 200)(event)
        transaction.on_commit(hook)

    play(demo, handler)
    assert run(Event("x")).status is Status.ERROR
