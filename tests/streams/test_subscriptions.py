"""``subscriptions/listen``: what is told to whom, and how many may listen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from mcp_gateway import registry
from mcp_gateway.checks.project import check_subscriptions
from mcp_gateway.models import Endpoint, Offered, Resource, Tool
from mcp_gateway.streams import changes
from mcp_gateway.views import McpView
from tests.demo import Demo
from tests.wire import CLIENT_META, Wire, issue_token
from tests.wire_fixtures import demo, wire

__all__ = ["demo", "wire"]

ID = "io.modelcontextprotocol/subscriptionId"


@dataclass
class Stream:
    """An open stream, read as far as something is there."""

    response: Any

    def messages(self) -> list[Any]:
        """What has been sent since the last time."""
        found = []
        chunk = self.response._talker.chunk()
        while chunk:
            events = chunk.decode().split("\n\n")
            found += [json.loads(event.partition("data: ")[2]) for event in events if event.startswith("event")]
            chunk = self.response._talker.chunk()
        return found

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.response._talker.chunk() is None


class Listener:
    """Opens streams, and closes them at the end of the test."""

    def __init__(self, rf: Any) -> None:
        self._rf = rf
        self._open: list[Any] = []

    def __call__(self, notifications: Any, *, id: Any = 1, token: str = "", path: str = "/mcp") -> Stream:
        params = {"_meta": CLIENT_META, "notifications": notifications}
        headers = {
            "HTTP_ACCEPT": "application/json, text/event-stream",
            "HTTP_MCP_PROTOCOL_VERSION": "2026-07-28",
            "HTTP_MCP_METHOD": "subscriptions/listen",
            **({"HTTP_AUTHORIZATION": f"Bearer {token}"} if token else {}),
        }
        body = {"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}
        request = self._rf.generic("POST", path, json.dumps(body), content_type="application/json", **headers)
        response: Any = McpView.as_view()(request)
        assert response["Content-Type"] == "text/event-stream", response.content
        self._open.append(response)
        return Stream(response)

    def close(self) -> None:
        """Close what is open."""
        for response in self._open:
            response._talker.leave(cancel=True)


@pytest.fixture
def listen(demo: Demo, rf: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    settings.ZOLINGA = {**settings.ZOLINGA, "SERVER_THREADS": 16, "MAX_SUBSCRIPTIONS": 4}
    # The thread that looks has a connection of its own, which sees nothing of a test's transaction.
    monkeypatch.setattr(changes, "_watch", lambda: None)
    listener = Listener(rf)
    yield listener
    listener.close()
    assert changes._open == []


def look() -> None:
    """What the thread does from time to time."""
    assert changes._look()


ALL = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


@pytest.mark.parametrize("id", [1, "a", 2**100])
def test_the_first_message_acknowledges_what_is_told(listen: Listener, id: Any) -> None:
    wanted = {**ALL, "resourceSubscriptions": ["test://a"]}
    assert listen(wanted, id=id).messages() == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": {ID: id}, "notifications": wanted},
        }
    ]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({}, {}),
        ({"toolsListChanged": False, "promptsListChanged": True}, {"promptsListChanged": True}),
        ({"toolsListChanged": True, "somethingElse": True}, {"toolsListChanged": True}),
        ({"resourceSubscriptions": ["no uri", "test://a", "test://a"]}, {"resourceSubscriptions": ["test://a"]}),
    ],
)
def test_what_is_not_told_is_left_out_of_the_acknowledgment(listen: Listener, wanted: Any, told: Any) -> None:
    (message,) = listen(wanted).messages()
    assert message["params"]["notifications"] == told


def test_a_changed_tool_is_told_once_to_whoever_asked(listen: Listener) -> None:
    tools, others = listen({"toolsListChanged": True}, id="t"), listen({"promptsListChanged": True}, id="p")
    tools.messages(), others.messages()
    Tool.objects.filter(name="demo-echo").update(enabled=False)
    look()
    look()
    assert tools.messages() == [
        {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": {ID: "t"}}}
    ]
    assert others.messages() == []


def test_what_the_caller_cannot_see_is_not_told(listen: Listener, demo: Demo) -> None:
    stream = listen({"toolsListChanged": True})
    stream.messages()
    demo.add(
        "demo-hidden",
        lambda event: {},
        right="oauth2:scope mcp:tools",
        tool={"visibility": Tool.Visibility.AUTHORIZED},
    )
    look()
    assert stream.messages() == []


def test_what_is_switched_off_is_told_also_where_a_listener_lists_it(listen: Listener, demo: Demo) -> None:
    demo.play("mcp:resources/list", lambda event: [{"uri": "demo:1", "name": "1"}])
    demo.listen("mcp:resources/list")
    Resource.objects.create(
        uri="demo:{id}", is_template=True, name="x", module=demo.module, visibility=Offered.Visibility.UNLISTED
    )
    stream = listen({"resourcesListChanged": True, "resourceSubscriptions": ["demo:1"]})
    stream.messages()
    Resource.objects.update(enabled=False)
    look()
    assert [message["method"] for message in stream.messages()] == [
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    ]
    Resource.objects.update(title_override="Other")
    look()
    assert stream.messages() == []


def test_a_change_between_the_request_and_the_first_look_is_not_lost(listen: Listener) -> None:
    snapshot = registry.snapshot()
    stream = listen({"toolsListChanged": True})
    assert registry.snapshot() is snapshot
    Tool.objects.filter(name="demo-echo").update(title_override="Other")
    look()
    assert [message["method"] for message in stream.messages()][1:] == ["notifications/tools/list_changed"]


@pytest.mark.parametrize("wanted", [None, [], "tools", {"toolsListChanged": 1}, {"resourceSubscriptions": "test://a"}])
def test_a_filter_that_is_none_is_refused(wire: Wire, settings: Any, wanted: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "SERVER_THREADS": 16}
    answer = wire.modern("subscriptions/listen", {"notifications": wanted})
    assert (answer.status, answer.code) == (400, -32602)


def test_whoever_accepts_no_stream_cannot_listen(wire: Wire, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "SERVER_THREADS": 16}
    answer = wire.modern("subscriptions/listen", {"notifications": {}}, headers={"Accept": "application/json"})
    assert answer.status == 406


@pytest.mark.parametrize("own", [{}, {"SERVER_THREADS": 4}, {"SERVER_THREADS": 16, "MAX_SUBSCRIPTIONS": 0}])
def test_without_threads_to_spare_nothing_is_announced(wire: Wire, settings: Any, own: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, **own}
    answer = wire.modern("subscriptions/listen", {"notifications": {}})
    assert (answer.status, answer.code) == (404, -32601)
    result = wire.modern("server/discover").result
    assert result["capabilities"]["tools"] == {}
    assert result["ttlMs"] == wire.modern("tools/list").result["ttlMs"] == 0


def test_where_changes_are_announced_answers_may_be_kept(wire: Wire, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "SERVER_THREADS": 16}
    assert wire.modern("server/discover").result["capabilities"]["tools"] == {"listChanged": True}
    assert wire.modern("tools/list").result["ttlMs"] == 60_000


def test_the_legacy_era_announces_nothing(wire: Wire, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "SERVER_THREADS": 16}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    assert wire.legacy("initialize", params).result["capabilities"]["tools"] == {}
    answer = wire.post(b"", {"Accept": "text/event-stream"}, "GET")
    assert answer.status == 405


def is_closed_gracefully(stream: Stream) -> bool:
    messages = stream.messages()
    assert messages[0]["method"] == "notifications/subscriptions/acknowledged"
    if len(messages) == 1:
        return False
    assert messages[1]["result"]["resultType"] == "complete"
    assert messages[1]["result"]["_meta"][ID] == messages[1]["id"]
    assert stream.over
    return True


def test_one_stream_too_many_is_acknowledged_and_closed(listen: Listener) -> None:
    first = [listen({"toolsListChanged": True}, id=number) for number in range(2)]
    assert is_closed_gracefully(listen({"toolsListChanged": True}, id=9))
    assert not any(map(is_closed_gracefully, first))


def test_a_caller_has_one_stream_for_a_filter(listen: Listener) -> None:
    tokens = [issue_token(get_user_model().objects.create_user(name), "mcp:tools") for name in ("ann", "bob")]
    assert not is_closed_gracefully(listen({"toolsListChanged": True}, token=tokens[0]))
    assert is_closed_gracefully(listen({"toolsListChanged": True}, token=tokens[0]))
    assert not is_closed_gracefully(listen({"promptsListChanged": True}, token=tokens[0]))
    assert not is_closed_gracefully(listen({"toolsListChanged": True}, token=tokens[1]))


def test_a_place_is_free_again_once_its_client_has_gone(listen: Listener) -> None:
    streams = [listen({"toolsListChanged": True}, id=number) for number in range(2)]
    streams[0].response._talker.leave(cancel=True)
    assert not is_closed_gracefully(listen({"toolsListChanged": True}, id=9))


def test_a_stream_ends_with_its_token(listen: Listener) -> None:
    user = get_user_model().objects.create_user("ann")
    stream = listen({"toolsListChanged": True}, token=issue_token(user, "mcp:tools"))
    user.is_active = False
    user.save()
    Tool.objects.filter(name="demo-echo").update(enabled=False)
    look()
    assert is_closed_gracefully(stream)


def test_a_stream_ends_with_its_endpoint(listen: Listener) -> None:
    stream = listen({"toolsListChanged": True})
    Endpoint.objects.update(enabled=False)
    look()
    assert is_closed_gracefully(stream)


def test_all_streams_end_when_the_server_stops(listen: Listener) -> None:
    streams = [listen({"toolsListChanged": True}, id=number) for number in range(2)]
    changes.finish_all()
    assert all(map(is_closed_gracefully, streams))


def test_a_stream_that_cannot_be_told_ends_and_the_others_are_told(
    listen: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = listen({"toolsListChanged": True}, id="b"), listen({"toolsListChanged": True}, id="s")
    sound.messages()

    def fails(snapshot: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(broken.response._talker, "look", fails)
    Tool.objects.filter(name="demo-echo").update(enabled=False)
    look()
    assert [message["method"] for message in sound.messages()] == ["notifications/tools/list_changed"]
    assert is_closed_gracefully(broken)


def test_a_database_that_does_not_answer_ends_no_stream(
    listen: Listener, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    from django.db import OperationalError

    stream = listen({"toolsListChanged": True})
    closed = []

    def fails() -> int:
        raise OperationalError("gone")

    with monkeypatch.context() as patched:
        patched.setattr("mcp_gateway.models.Generation.current", fails)
        patched.setattr("django.db.connections.close_all", lambda: closed.append(True))
        look()
    assert closed
    assert "does not answer" in caplog.text
    assert connection.is_usable()
    Tool.objects.filter(name="demo-echo").update(enabled=False)
    look()
    assert [message["method"] for message in stream.messages()][1:] == ["notifications/tools/list_changed"]


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({}, ["does not say how many"]),
        ({"SERVER_THREADS": 4}, ["has 4 threads a worker, and 4 streams"]),
        ({"SERVER_THREADS": 5}, []),
        ({"SERVER_THREADS": 1, "MAX_SUBSCRIPTIONS": 0}, []),
    ],
)
def test_the_checks_say_why_nothing_is_announced(settings: Any, own: Any, told: list[str]) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, **own}
    found = check_subscriptions(None)
    assert [message.id for message in found] == ["mcp_gateway.I001"] * len(told)
    assert all(text in message.msg for text, message in zip(told, found, strict=True))
