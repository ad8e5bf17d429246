"""The endpoint inside a Django project: transactions, handlers' ways to end, project classes, failures."""

from __future__ import annotations

import asyncio
import datetime
import gc
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, OperationalError, connection, connections, transaction
from django.http import Http404, HttpResponse
from django.test import AsyncClient
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import APIException, NotFound, Throttled

from mcp_gateway import registry
from mcp_gateway.events import CallEvent
from mcp_gateway.protocol.methods import tool_lists
from mcp_gateway.views import endpoint
from tests.demo import Demo
from tests.wire import MODERN, Wire

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


# Transactions


def write(event: CallEvent) -> None:
    Group.objects.create(name="written")


def written() -> bool:
    return Group.objects.filter(name="written").exists()


@pytest.fixture
def atomic_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("atomic_requests")
def test_what_a_handler_wrote_goes_when_it_raises(wire: Wire, demo: Demo, era: str) -> None:
    def handler(event: CallEvent) -> None:
        write(event)
        raise RuntimeError

    demo.play("demo-ping", handler)
    assert wire.call(era, "demo-ping").result["isError"] is True
    assert not written()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("atomic_requests")
def test_what_a_handler_wrote_goes_when_it_refuses(wire: Wire, demo: Demo, era: str) -> None:
    def handler(event: CallEvent) -> None:
        write(event)
        event.set_status(400, "No.")

    demo.play("demo-ping", handler)
    assert wire.call(era, "demo-ping").text == "No."
    assert not written()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("response", [{"wrong": 1}, {"echo": b"bytes"}])
def test_what_a_handler_wrote_goes_when_its_result_does_not_fit(
    wire: Wire, demo: Demo, era: str, response: dict[str, Any]
) -> None:
    def handler(event: CallEvent) -> Any:
        write(event)
        return response

    demo.play("demo-echo", handler)
    assert wire.call(era, "demo-echo", {"message": "x"}).result["isError"] is True
    assert not written()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("atomic_requests")
def test_what_a_handler_wrote_stays_when_all_went_well(wire: Wire, demo: Demo, era: str) -> None:
    def handler(event: CallEvent) -> Any:
        write(event)
        return {"inside": connection.in_atomic_block}

    demo.play("demo-ping", handler)
    assert json.loads(wire.call(era, "demo-ping").text) == {"inside": True}
    assert written()


@pytest.mark.django_db(transaction=True)
def test_a_listener_that_wants_no_transaction_has_none(wire: Wire, demo: Demo, era: str) -> None:
    demo.add("demo-bare", lambda event: {"inside": connection.in_atomic_block}, atomic=False)
    assert json.loads(wire.call(era, "demo-bare").text) == {"inside": False}


@pytest.mark.django_db(transaction=True)
def test_going_on_after_a_database_error_is_no_success(
    wire: Wire, demo: Demo, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(event: CallEvent) -> Any:
        write(event)
        with suppress(IntegrityError):
            Group.objects.create(name="written")
        return {"saved": True}

    demo.play("demo-ping", handler)
    answer = wire.call(era, "demo-ping")
    assert answer.result["isError"] is True
    assert "unique" not in answer.text.lower()
    assert not written()
    assert "database error" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_database_error_in_a_savepoint_of_its_own_is_the_handlers_business(wire: Wire, demo: Demo, era: str) -> None:
    def handler(event: CallEvent) -> Any:
        write(event)
        try:
            with transaction.atomic():
                Group.objects.create(name="written")
        except IntegrityError:
            return {"saved": False}

    demo.play("demo-ping", handler)
    assert json.loads(wire.call(era, "demo-ping").text) == {"saved": False}
    assert written()


# How handlers end


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Http404("No such order."), "No such order."),
        (PermissionDenied("Not yours."), "Not yours."),
        (PermissionDenied(), "You may not do this."),
        (ValidationError("Too much."), "Too much."),
        (ValidationError({"name": ["Is taken."]}), "name: Is taken."),
        (NotFound("Gone."), "Gone."),
        (APIException({"field": ["Bad."]}), "field: Bad."),
        (Throttled(), "Request was throttled."),
    ],
)
def test_djangos_own_exceptions_keep_their_message_and_are_no_http_status(
    wire: Wire, demo: Demo, era: str, error: Exception, text: str
) -> None:
    def handler(event: CallEvent) -> None:
        raise error

    demo.play("demo-ping", handler)
    answer = wire.call(era, "demo-ping")
    assert answer.status == 200
    assert answer.result["isError"] is True
    assert answer.text == text
    assert answer.challenge == ""


def test_a_row_that_does_not_exist_is_not_found(wire: Wire, demo: Demo, era: str) -> None:
    demo.play("demo-ping", lambda event: Group.objects.get(name="nobody"))
    assert wire.call(era, "demo-ping").text == "Group matching query does not exist."


def test_leaving_the_process_is_no_success(wire: Wire, demo: Demo, era: str) -> None:
    def leave(event: CallEvent) -> None:
        event.set_status(200)
        raise SystemExit(0)

    demo.play("demo-ping", leave)
    assert wire.call(era, "demo-ping").result["isError"] is True
    demo.add("demo-async", leave, method="on_async")
    assert wire.call(era, "demo-async").result["isError"] is True


def test_an_interrupt_is_not_swallowed(wire: Wire, demo: Demo) -> None:
    def interrupt(event: CallEvent) -> None:
        raise KeyboardInterrupt

    demo.play("demo-ping", interrupt)
    with pytest.raises(KeyboardInterrupt):
        wire.call("modern", "demo-ping")


class Panic(BaseException):
    """What a library in Rust raises when it panics, and gevent when the time is up."""


def test_what_no_handler_is_expected_to_raise_is_a_failure_of_the_server_that_the_client_reads(
    wire: Wire, demo: Demo, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    def panic(event: CallEvent) -> None:
        raise Panic("hunter2")

    demo.play("demo-ping", panic)
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        answer = wire.call(era, "demo-ping")
    assert (answer.status, answer.code, answer.json["id"]) == (500 if era == "modern" else 200, -32603, 1)
    assert "hunter2" not in answer.body.decode()
    assert answer.error["message"].rpartition(" ")[2].rstrip(".") in caplog.text


def test_an_async_handler_is_awaited(wire: Wire, demo: Demo, era: str) -> None:
    demo.add("demo-async", lambda event: {"answer": 42}, method="on_async")
    assert json.loads(wire.call(era, "demo-async").text) == {"answer": 42}


def test_a_returned_coroutine_is_awaited(wire: Wire, demo: Demo, era: str) -> None:
    async def later() -> dict[str, int]:
        await asyncio.sleep(0)
        return {"answer": await Group.objects.filter(name="nobody").acount()}

    demo.play("demo-ping", lambda event: later())
    assert json.loads(wire.call(era, "demo-ping").text) == {"answer": 0}


def _generator() -> Iterator[int]:
    yield 1


async def _async_generator() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("value", [_generator, _async_generator, lambda: HttpResponse("<html>"), object, lambda: {1}])
def test_what_is_no_data_is_an_error_without_its_repr(wire: Wire, demo: Demo, era: str, value: Any) -> None:
    demo.play("demo-any", lambda event: value())
    answer = wire.call(era, "demo-any")
    assert answer.result["isError"] is True
    assert "0x" not in answer.text
    assert "<" not in answer.text


def test_lazy_strings_are_text_everywhere(wire: Wire, demo: Demo, era: str) -> None:
    demo.play("demo-any", lambda event: {gettext_lazy("Name"): gettext_lazy("Saved")})
    assert json.loads(wire.call(era, "demo-any").text) == {"Name": "Saved"}
    demo.play("demo-any", lambda event: event.set_status(400, gettext_lazy("Saved")))
    assert wire.call(era, "demo-any").text == "Saved"


@pytest.mark.parametrize("use_tz", [True, False])
def test_datetimes_carry_the_offset_they_have(wire: Wire, demo: Demo, settings: Any, use_tz: bool) -> None:
    settings.USE_TZ = use_tz
    moment = datetime.datetime(2026, 11, 30, 9)
    values = {
        "naive": moment,
        "utc": moment.replace(tzinfo=datetime.UTC),
        "prague": moment.replace(tzinfo=ZoneInfo("Europe/Prague")),
        "odd": moment.replace(year=1890, tzinfo=ZoneInfo("Europe/Prague")),
        "day": moment.date(),
    }
    stamp = {"type": "string", "format": "date-time"}
    demo.add(
        "demo-times", lambda event: values, response={"type": "object", "properties": {"odd": stamp, "utc": stamp}}
    )
    assert wire.call("modern", "demo-times").result["structuredContent"] == {
        "naive": "2026-11-30T09:00:00",
        "utc": "2026-11-30T09:00:00Z",
        "prague": "2026-11-30T09:00:00+01:00",
        "odd": "1890-11-30T08:02:16Z",
        "day": "2026-11-30",
    }
    demo.add("demo-naive", lambda event: {"t": moment}, response={"type": "object", "properties": {"t": stamp}})
    answer = wire.call("modern", "demo-naive")
    assert answer.result["isError"] is True
    assert "/t" in answer.text


# Under ASGI


@pytest.mark.django_db(transaction=True)
def test_the_endpoint_works_under_asgi(demo: Demo) -> None:
    demo.add("demo-async", lambda event: {"answer": 42}, method="on_async")

    async def call() -> Any:
        try:
            return await AsyncClient().post(
                "/mcp",
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "demo-async"}},
                content_type="application/json",
            )
        finally:
            # The view ran in a thread of its own, with a connection of its own.
            await sync_to_async(connections.close_all)()

    response = asyncio.run(call())
    assert response.status_code == 200
    assert json.loads(response.json()["result"]["content"][0]["text"]) == {"answer": 42}


# Failures of the gateway itself


@pytest.mark.parametrize("debug", [True, False])
def test_a_failure_of_the_server_has_an_incident_and_no_trace(
    wire: Wire, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, debug: bool
) -> None:
    settings.DEBUG = debug

    def break_down(*args: Any, **kwargs: Any) -> bytes:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(tool_lists, "_page", break_down)
    registry.forget()
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        modern = wire.modern("tools/list")
    assert (modern.status, modern.code, modern.json["id"]) == (500, -32603, 1)
    assert "hunter2" not in modern.body.decode()
    assert modern.error["message"].rpartition(" ")[2].rstrip(".") in caplog.text
    assert "hunter2" in caplog.text
    legacy = wire.legacy("tools/list")
    assert (legacy.status, legacy.code, legacy.json["id"]) == (200, -32603, 1)


def test_a_database_that_does_not_answer_is_503(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise OperationalError("could not connect to server at 10.1.2.3")

    monkeypatch.setattr(endpoint, "check_request", refuse)
    answer = wire.modern("tools/list")
    assert (answer.status, answer.code) == (503, 503)
    assert answer.response["Retry-After"]
    assert "10.1.2.3" not in answer.body.decode()


def _breaks(event: CallEvent) -> None:
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("tool", "options"),
    [
        ("demo-open", {}),
        ("demo-locked", {}),
        ("demo-broken", {}),
        ("demo-unknown", {}),
        ("demo-echo", {}),
        ("demo-open", {"headers": {"Authorization": "Bearer wrong"}}),
    ],
)
def test_nothing_of_a_message_stays_once_it_is_answered(
    wire: Wire, demo: Demo, era: str, tool: str, options: dict[str, Any]
) -> None:
    """A body is several times as large in memory as on the wire; until garbage is collected many would add up."""
    demo.add("demo-locked", lambda event: {}, right="oauth2:scope mcp:tools")
    demo.add("demo-broken", _breaks)

    def left() -> list[Any]:
        return [found for found in gc.get_objects() if type(found) is list and found[:1] == ["left"]]

    logging.disable(logging.CRITICAL)
    wire.call(era, tool, {"a": ["left", []]}, **options)
    gc.collect()
    gc.disable()
    try:
        wire.call(era, tool, {"a": ["left", []]}, **options)
        # Which the demo keeps, and pytest's log.
        demo.calls.clear()
        assert len(left()) == 0
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)


# Watching


def test_listeners_see_what_was_asked_after_the_answer(wire: Wire, demo: Demo, era: str) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []
    for name in ("mcp:tools/list", "mcp:*", "mcp:notifications/*"):
        demo.listen(name, origins=["internal"])
    for name in ("mcp:tools/list", "mcp:notifications/initialized"):
        demo.play(name, lambda event: seen.append((event.type, event.request)))
    before = wire.request(era, "tools/list").result
    assert [entry[0] for entry in seen] == ["mcp:tools/list"] * 2
    wire.post({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {"a": 1}})
    assert seen[2:] == [("mcp:notifications/initialized", {"a": 1})] * 2
    assert wire.request(era, "tools/list").result == before


def test_a_watcher_that_breaks_changes_nothing(wire: Wire, demo: Demo, era: str) -> None:
    def break_down(event: Any) -> None:
        raise RuntimeError

    demo.listen("mcp:tools/list", origins=["internal"])
    demo.play("mcp:tools/list", break_down)
    assert wire.request(era, "tools/list").result["tools"]


def test_a_listener_of_another_origin_watches_nothing(wire: Wire, demo: Demo) -> None:
    demo.listen("mcp:tools/list", origins=["mcp", "remote"])
    demo.play("mcp:tools/list", lambda event: {})
    wire.post({**LIST, "params": {"x": 1}})
    wire.post(LIST, {"MCP-Protocol-Version": MODERN})
    assert demo.calls == []
