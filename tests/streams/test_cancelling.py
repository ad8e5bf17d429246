"""``notifications/cancelled`` of the legacy era (2025-11-25, “Cancellation”): who can call off what."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import OperationalError
from django.utils import timezone

from mcp_gateway.models import Note
from mcp_gateway.protocol import sessions
from mcp_gateway.protocol.methods import cancelling
from mcp_gateway.protocol.talking import CallChannel
from mcp_gateway.testing.client import Answer, McpClient
from tests.asking import NAME
from tests.demo import Demo
from tests.wire import LEGACY, issue_token
from tests.wire_fixtures import demo

__all__ = ["demo"]

# Of all calls in these tests.
ID = 7


class Caller(McpClient):
    """A legacy client with a session; it may get no response at all."""

    session = ""

    def begin(self) -> Caller:
        """Begin a session."""
        params = {"protocolVersion": LEGACY[0], "capabilities": {"elicitation": {}}, "clientInfo": {"name": "probe"}}
        self.session = self.legacy("initialize", params, version=None).response[sessions.HEADER]
        return self

    def call(self, name: str = "demo-work", **headers: Any) -> Answer:
        """Call a tool."""
        return self.legacy("tools/call", {"name": name}, id=ID, headers={sessions.HEADER: self.session, **headers})

    def cancel(self, params: Any = None, **headers: Any) -> Answer:
        """Call it off."""
        params = {"requestId": ID, "reason": "Enough."} if params is None else params
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        sent = {"MCP-Protocol-Version": LEGACY[0], sessions.HEADER: self.session, **headers}
        answer = self.post(body, sent)
        assert (answer.status, answer.body) == (202, b"")
        return answer


@pytest.fixture(autouse=True)
def no_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # The thread that looks has a connection of its own, which sees nothing of a test's transaction.
    monkeypatch.setattr(cancelling, "_watch", lambda: None)
    yield
    assert not cancelling._running
    cancelling._forget()


@pytest.fixture
def caller(demo: Demo) -> Caller:
    """An anonymous client with a session."""
    return Caller().begin()


def work(demo: Demo, meanwhile: Callable[[], object]) -> list[bool]:
    """A tool that writes a row, does what the test wants, and notes whether it was cancelled."""
    seen: list[bool] = []

    def handler(event: Any) -> dict[str, Any]:
        Group.objects.create(name="written")
        meanwhile()
        seen.append(event.cancelled)
        event.progress(2)
        return {"done": True}

    demo.add("demo-work", handler)
    return seen


def written() -> bool:
    return Group.objects.filter(name="written").exists()


def test_a_cancelled_call_has_no_response_and_what_it_wrote_is_undone(demo: Demo, caller: Caller) -> None:
    seen = work(demo, caller.cancel)
    answer = caller.call()
    assert seen == [True]
    assert (answer.status, answer.response["Content-Type"], answer.body) == (200, "text/event-stream", b"")
    assert not written()
    assert not Note.objects.exists()


def test_what_was_said_before_is_still_sent_and_nothing_after(demo: Demo, caller: Caller) -> None:
    def handler(event: Any) -> dict[str, Any]:
        event.log("info", "before")
        caller.cancel()
        event.log("info", "after")
        return {}

    demo.add("demo-work", handler)
    assert [message["params"]["data"] for message in caller.call().messages] == ["before"]


def test_a_call_that_fails_after_it_was_cancelled_has_no_response_either(demo: Demo, caller: Caller) -> None:
    def handler(event: Any) -> None:
        caller.cancel()
        raise ZeroDivisionError

    demo.add("demo-work", handler)
    assert caller.call().body == b""


def test_the_next_call_of_the_session_is_as_if_nothing_had_been(demo: Demo, caller: Caller) -> None:
    work(demo, caller.cancel)
    caller.call()
    demo.play("demo-work", lambda event: {"cancelled": event.cancelled})
    assert caller.call().structured == {"cancelled": False}


@pytest.mark.parametrize(
    "params", [{"requestId": "7"}, {"requestId": 8}, {"requestId": 7.0}, {"requestId": None}, {"requestId": [7]}, {}]
)
def test_what_names_no_request_is_ignored(demo: Demo, caller: Caller, params: Any) -> None:
    seen = work(demo, lambda: caller.cancel(params))
    assert caller.call().structured == {"done": True}
    assert seen == [False]
    assert written()


@pytest.mark.parametrize("params", [[ID], "7", 7])
def test_params_that_are_none_are_ignored(demo: Demo, caller: Caller, params: Any) -> None:
    seen = work(demo, lambda: caller.cancel(params))
    assert caller.call().structured == {"done": True}
    assert seen == [False]


@pytest.mark.parametrize("session", ["", "another", "forged"])
def test_only_the_same_session_counts(demo: Demo, caller: Caller, session: str) -> None:
    sent = {"": None, "another": Caller().begin().session, "forged": f"{caller.session}x"}[session]
    seen = work(demo, lambda: caller.cancel(**{sessions.HEADER: sent}))
    assert caller.call().structured == {"done": True}
    cancelling._look()
    assert seen == [False]


@pytest.mark.parametrize("who", ["", "ann", "eve"])
def test_only_the_same_caller_counts(demo: Demo, caller: Caller, who: str) -> None:
    users = get_user_model().objects
    tokens = {name: issue_token(users.create_user(name), "mcp:tools") for name in ("ann", "eve")}
    headers: dict[str, dict[str, Any]] = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    headers[""] = {}
    seen = work(demo, lambda: caller.cancel(**headers[who]))
    answer = caller.call(**headers["ann"])
    cancelling._look()
    assert seen == [who == "ann"]
    assert bool(answer.body) is written() is not (who == "ann")


def test_a_question_that_is_open_is_withdrawn(demo: Demo, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    request = CallChannel.request

    def ask_and_cancel(channel: CallChannel, *question: Any) -> bool:
        sent = request(channel, *question)
        caller.cancel()
        return sent

    monkeypatch.setattr(CallChannel, "request", ask_and_cancel)
    demo.add("demo-work", lambda event: {"name": event.ask("who", "Who?", NAME)["name"]})
    question, withdrawn = caller.call().messages
    assert question["method"] == "elicitation/create"
    assert withdrawn["method"] == "notifications/cancelled"
    assert withdrawn["params"]["requestId"] == question["id"]
    assert len(demo.calls) == 1
    assert not Note.objects.exists()


def test_a_call_whose_client_accepts_no_stream_runs_to_its_end(demo: Demo, caller: Caller) -> None:
    seen = work(demo, caller.cancel)
    assert caller.call(Accept="application/json").structured == {"done": True}
    assert seen == [False]


def test_the_modern_era_cancels_by_hanging_up_only(demo: Demo, caller: Caller) -> None:
    seen = work(demo, caller.cancel)
    headers = {sessions.HEADER: caller.session}
    assert caller.modern("tools/call", {"name": "demo-work"}, id=ID, headers=headers).structured == {"done": True}
    assert seen == [False]


def test_listeners_of_the_notification_see_it(demo: Demo, caller: Caller) -> None:
    seen: list[Any] = []
    demo.play("mcp:notifications/cancelled", lambda event: seen.append(event.request))
    demo.listen("mcp:notifications/cancelled", origins=["internal"])
    caller.cancel()
    assert seen == [{"requestId": ID, "reason": "Enough."}]


# A call that runs in another process


@pytest.fixture(params=["table", pytest.param("redis", marks=pytest.mark.service("REDIS_URL"))])
def post(request: pytest.FixtureRequest, settings: Any) -> None:
    if request.param == "redis":
        backend = "django.core.cache.backends.redis.RedisCache"
        prefix = secrets.token_hex(4)
        settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": os.environ["REDIS_URL"], "KEY_PREFIX": prefix}}


def cancel_elsewhere(caller: Caller, **headers: Any) -> None:
    """Cancel at a worker that runs nothing."""
    with patch.dict(cancelling._running, clear=True):
        caller.cancel(**headers)


@pytest.mark.usefixtures("post")
def test_a_note_reaches_the_process_where_it_runs(demo: Demo, caller: Caller) -> None:
    def handler(event: Any) -> dict[str, Any]:
        cancel_elsewhere(caller)
        # Twice, as clients do that heard nothing.
        cancel_elsewhere(caller)
        before = event.cancelled
        assert cancelling._look()
        seen.append((before, event.cancelled))
        return {}

    seen: list[Any] = []
    demo.add("demo-work", handler)
    assert caller.call().body == b""
    assert seen == [(False, True)]
    assert not Note.objects.exists()
    assert not cancelling._look()


def test_a_note_of_somebody_else_does_nothing(demo: Demo, caller: Caller) -> None:
    token = issue_token(get_user_model().objects.create_user("eve"), "mcp:tools")

    def meanwhile() -> None:
        cancel_elsewhere(caller, Authorization=f"Bearer {token}")
        cancel_elsewhere(Caller().begin())
        cancelling._look()

    seen = work(demo, meanwhile)
    assert caller.call().structured == {"done": True}
    assert seen == [False]


def test_a_note_that_nobody_takes_is_swept_away(demo: Demo, caller: Caller) -> None:
    caller.cancel()
    Note.objects.update(expires_at=timezone.now())
    caller.cancel({"requestId": "another"})
    assert Note.objects.count() == 1


def test_a_database_that_does_not_answer_cancels_nothing_and_breaks_nothing(
    demo: Demo, caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*arguments: Any) -> Any:
        raise OperationalError("locked")

    def meanwhile() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Note, "put", fails)
            patched.setattr(Note, "collect", fails)
            patched.setattr("django.db.connections.close_all", lambda: None)
            cancel_elsewhere(caller)
            assert cancelling._look()

    caplog.set_level("INFO", "mcp_gateway")
    work(demo, meanwhile)
    assert caller.call().structured == {"done": True}
    assert caplog.text.count("does not answer") == 2


def test_quick_calls_are_looked_for_by_nobody(demo: Demo, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    started = threading.Event()
    monkeypatch.setattr(cancelling, "watch", started.set)
    demo.add("demo-work", lambda event: {})
    caller.call()
    assert not started.is_set()
    demo.play("demo-work", lambda event: event.log("info", "Working.") or {"started": started.wait(60)})
    assert caller.call().structured == {"started": True}
