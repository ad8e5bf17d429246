"""A call that talks while it runs, as its client sees it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse

from mcp_gateway.streams.running import Running
from tests.demo import OBJECT, Demo
from tests.live import PATIENCE
from tests.wire import CLIENT_META, Wire
from tests.wire_fixtures import demo, era, wire

__all__ = ["demo", "era", "wire"]

LOG_LEVEL = "io.modelcontextprotocol/logLevel"


def call(wire: Wire, era: str, meta: dict[str, Any], **options: Any) -> Any:
    """Call the tool ``demo-talk`` with further members of ``_meta``."""
    params = {"name": "demo-talk", "arguments": {}}
    if era == "modern":
        return wire.modern("tools/call", params, meta={**CLIENT_META, **meta}, **options)
    return wire.legacy("tools/call", {**params, "_meta": meta}, **options)


def work(event: Any) -> dict[str, Any]:
    for done in (0, 50, 50, 100):
        event.progress(done, 100, f"{done} %")
    return {"thread": threading.current_thread().name}


def test_progress_comes_before_the_result(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("demo-talk", work)
    answer = call(wire, era, {"progressToken": "t-1"})
    assert answer.response["Content-Type"] == "text/event-stream"
    assert answer.response["X-Accel-Buffering"] == "no"
    assert answer.response["Cache-Control"] == "no-cache"
    assert answer.notifications == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "t-1", "progress": done, "total": 100, "message": f"{done} %"},
        }
        for done in (0, 50, 100)
    ]
    assert answer.structured


@pytest.mark.parametrize("token", [7, "", "x" * 1000, 2**100])
def test_the_token_is_echoed_as_it_was_sent(demo: Demo, wire: Wire, era: str, token: Any) -> None:
    demo.add("demo-talk", lambda event: event.progress(1.5) or {})
    (notification,) = call(wire, era, {"progressToken": token}).notifications
    assert notification["params"] == {"progressToken": token, "progress": 1.5}


@pytest.mark.parametrize("token", [1.5, True, [], {}, "x" * 2000])
def test_a_token_that_is_none_is_refused_before_the_tool_runs(demo: Demo, wire: Wire, era: str, token: Any) -> None:
    demo.add("demo-talk", work)
    assert call(wire, era, {"progressToken": token}).code == -32602
    assert not demo.calls


def test_without_a_token_the_answer_is_json(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("demo-talk", work)
    answer = call(wire, era, {})
    assert answer.response["Content-Type"] == "application/json"
    assert answer.structured


@pytest.mark.parametrize("accept", ["application/json", "*/*", None])
def test_whoever_accepts_no_stream_gets_none_and_the_handler_stays_on_its_thread(
    demo: Demo, wire: Wire, era: str, accept: str | None
) -> None:
    demo.add("demo-talk", work)
    answer = call(wire, era, {"progressToken": 1, LOG_LEVEL: "debug"}, headers={"Accept": accept})
    assert answer.response["Content-Type"] == "application/json"
    assert answer.structured == {"thread": threading.current_thread().name}


def test_a_site_can_do_without_streams(demo: Demo, wire: Wire, era: str, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "KEEP_ALIVE_SECONDS": 0}
    demo.add("demo-talk", work)
    answer = call(wire, era, {"progressToken": 1})
    assert answer.response["Content-Type"] == "application/json"
    assert answer.structured == {"thread": threading.current_thread().name}


def test_whoever_accepts_only_a_stream_gets_one(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("demo-talk", work)
    answer = call(wire, era, {}, headers={"Accept": "text/event-stream"})
    assert answer.response["Content-Type"] == "text/event-stream"
    assert len(answer.messages) == 1


def log(event: Any) -> dict[str, Any]:
    event.log("debug", "Looking.")
    event.log("info", {"rows": 3}, "shop")
    event.log("error", "Something broke.\n\nTwo lines.")
    return {}


def said(answer: Any) -> list[Any]:
    assert all(message["method"] == "notifications/message" for message in answer.notifications)
    return [message["params"] for message in answer.notifications]


MESSAGES = [
    {"level": "debug", "data": "Looking."},
    {"level": "info", "logger": "shop", "data": {"rows": 3}},
    {"level": "error", "data": "Something broke.\n\nTwo lines."},
]


@pytest.mark.parametrize(("level", "count"), [("debug", 3), ("info", 2), ("warning", 1), ("emergency", 0)])
def test_log_messages_of_the_level_asked_for_and_above(demo: Demo, wire: Wire, level: str, count: int) -> None:
    demo.add("demo-talk", log)
    assert said(call(wire, "modern", {LOG_LEVEL: level})) == MESSAGES[3 - count :]


def test_a_modern_client_that_asks_for_no_messages_gets_none(demo: Demo, wire: Wire) -> None:
    demo.add("demo-talk", log)
    assert call(wire, "modern", {}).response["Content-Type"] == "application/json"
    assert said(call(wire, "modern", {"progressToken": 1})) == []


def test_a_legacy_client_gets_what_is_worth_telling(demo: Demo, wire: Wire) -> None:
    demo.add("demo-talk", log)
    assert said(call(wire, "legacy", {LOG_LEVEL: "debug"})) == MESSAGES[1:]


@pytest.mark.parametrize("level", ["warn", "INFO", "", 3, None, ["info"]])
def test_a_level_that_there_is_not_is_refused(demo: Demo, wire: Wire, level: Any) -> None:
    demo.add("demo-talk", log)
    answer = call(wire, "modern", {LOG_LEVEL: level})
    assert (answer.status, answer.code) == (400, -32602)
    assert not demo.calls


@pytest.mark.parametrize("level", ["debug", "emergency"])
def test_a_legacy_client_may_set_a_level(wire: Wire, level: str) -> None:
    assert wire.legacy("logging/setLevel", {"level": level}).result == {}


@pytest.mark.parametrize("params", [{}, {"level": "warn"}, {"level": 1}, {"level": None}])
def test_setting_a_level_that_there_is_not_is_refused(wire: Wire, params: Any) -> None:
    answer = wire.legacy("logging/setLevel", params)
    assert (answer.status, answer.code) == (200, -32602)


def test_the_modern_era_sets_no_level(wire: Wire) -> None:
    answer = wire.modern("logging/setLevel", {"level": "info"})
    assert (answer.status, answer.code) == (404, -32601)


def test_log_messages_are_declared_where_they_can_be_sent(wire: Wire, settings: Any) -> None:
    initialize = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    assert wire.legacy("initialize", initialize).result["capabilities"]["logging"] == {}
    assert wire.modern("server/discover").result["capabilities"]["logging"] == {}


def test_log_messages_are_not_declared_where_no_answer_is_a_stream(wire: Wire, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "KEEP_ALIVE_SECONDS": 0}
    assert "logging" not in wire.modern("server/discover").result["capabilities"]


def test_a_log_message_that_json_cannot_carry_is_not_sent(demo: Demo, wire: Wire, caplog: Any) -> None:
    def handler(event: Any) -> dict[str, Any]:
        event.log("error", {"set": {1}})
        event.log("error", "next")
        return {}

    demo.add("demo-talk", handler)
    assert said(call(wire, "modern", {LOG_LEVEL: "debug"})) == [{"level": "error", "data": "next"}]
    assert "/set" in caplog.text


def test_what_comes_too_fast_is_dropped_and_the_call_goes_on(demo: Demo, wire: Wire, era: str) -> None:
    def handler(event: Any) -> dict[str, Any]:
        for done in range(50_000):
            event.progress(done)
        return {"done": True}

    demo.add("demo-talk", handler)
    answer = call(wire, era, {"progressToken": 1})
    assert answer.structured == {"done": True}
    done = [message["params"]["progress"] for message in answer.notifications]
    assert done[:100] == list(range(100))
    assert len(done) < 10_000


def test_an_error_of_a_call_that_talked_is_its_response(demo: Demo, wire: Wire, era: str) -> None:
    def handler(event: Any) -> None:
        event.progress(1)
        Group.objects.create(name="half")
        raise ZeroDivisionError("secret")

    demo.add("demo-talk", handler)
    answer = call(wire, era, {"progressToken": 1})
    assert answer.failure.startswith("The handler failed.")
    assert "secret" not in answer.body.decode()
    assert not Group.objects.filter(name="half").exists()


class Panic(BaseException):
    """What a library in Rust raises when it panics."""


@pytest.mark.parametrize("reason", [Panic, KeyboardInterrupt])
def test_a_stream_ends_with_an_answer_whatever_ended_the_call(
    demo: Demo, wire: Wire, era: str, monkeypatch: pytest.MonkeyPatch, reason: type[BaseException]
) -> None:
    begun = threading.Event()
    begin = Running.begin

    def noticed(running: Running, seconds: float) -> bool:
        try:
            return begin(running, seconds)
        finally:
            begun.set()

    def handler(event: Any) -> None:
        event.progress(1)
        assert begun.wait(PATIENCE)
        Group.objects.create(name="half")
        raise reason("secret")

    demo.add("demo-talk", handler)
    monkeypatch.setattr(Running, "begin", noticed)
    answer = call(wire, era, {"progressToken": 1})
    assert (answer.status, answer.code) == (200, -32603)
    assert "secret" not in answer.body.decode()
    assert not Group.objects.filter(name="half").exists()


def test_the_handler_uses_the_connection_and_the_transaction_of_its_request(demo: Demo, wire: Wire, era: str) -> None:
    used = []

    def handler(event: Any) -> dict[str, Any]:
        used.append(connection.connection)
        Group.objects.create(name="kept")
        event.progress(1)
        return {"thread": threading.current_thread().name}

    demo.add("demo-talk", handler)
    answer = call(wire, era, {"progressToken": 1})
    assert answer.structured["thread"] != threading.current_thread().name
    assert used == [connection.connection]
    assert Group.objects.filter(name="kept").exists()


def test_two_calls_after_another_leave_no_connection_behind(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("demo-talk", work)
    for meta in ({"progressToken": 1}, {}, {"progressToken": 2}):
        assert call(wire, era, meta).status == 200
    assert not connection.allow_thread_sharing


def test_a_coroutine_can_talk(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("demo-talk", work, method="on_async", response=OBJECT)
    assert len(call(wire, era, {"progressToken": 1}).notifications) == 3


def test_a_right_that_is_missing_still_has_its_status(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("demo-talk", work, right="oauth2:scope mcp:tools")
    answer = call(wire, era, {"progressToken": 1})
    assert answer.status == 401
    assert answer.response["Content-Type"] == "application/json"


def test_a_middleware_that_touches_the_database_after_the_view_has_a_connection_of_its_own(
    demo: Demo, wire: Wire, rf: Any
) -> None:
    from mcp_gateway.views import McpView

    go, seen = threading.Event(), []

    def handler(event: Any) -> dict[str, Any]:
        event.progress(1)
        go.wait(60)
        return {}

    demo.add("demo-talk", handler)
    own = connection.connection
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo-talk","_meta":{"progressToken":1}}}'
    request: HttpRequest = rf.generic(
        "POST", "/mcp", body, content_type="application/json", HTTP_ACCEPT="application/json, text/event-stream"
    )
    response: Any = McpView.as_view()(request)
    assert isinstance(response, StreamingHttpResponse)
    seen.append(connection.connection)
    go.set()
    assert b'"progress":1' in b"".join(response)
    response.close()
    assert seen == [None]
    assert connection.connection is own
