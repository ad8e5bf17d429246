"""Streams on the real wire: they come piece by piece, and it is noticed when a client goes."""

from __future__ import annotations

import secrets
from contextlib import ExitStack

import pytest

from tests.streams.conftest import Stage, until

ERAS = ["modern", "legacy"]


@pytest.mark.parametrize("era", ERAS)
def test_progress_arrives_while_the_tool_still_works(stage: Stage, era: str) -> None:
    name = f"progress-{era}"
    with stage.call(name, era=era) as answer:
        events = answer.events()
        assert next(events)["params"] == {"progressToken": "t", "progress": 1, "message": "begun"}
        stage.heard(name, "begun")
        stage.tell(name, "go")
        assert next(events)["params"]["progress"] == 2
        assert next(events)["result"]["structuredContent"] == {"name": name}
        assert list(events) == []
    assert answer.headers["x-accel-buffering"] == "no"
    assert stage.kept(name)


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_takes_long_becomes_a_stream_that_says_it_lives(stage: Stage, era: str) -> None:
    name = f"silent-{era}"
    with stage.call(name, era=era, talk=False, asks=False) as answer:
        assert answer.piece() == b":\n\n"
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.piece() == b":\n\n"
        stage.tell(name, "go")
        assert [event["id"] for event in answer.events()] == [7]


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_is_quick_is_answered_in_json(stage: Stage, era: str) -> None:
    name = f"quick-{era}"
    stage.tell(name, "go")
    with stage.call(name, era=era, talk=False, asks=False) as answer:
        assert answer.message()["result"]["structuredContent"] == {"name": name}


def test_closing_the_stream_cancels_a_modern_call_and_undoes_what_it_wrote(stage: Stage) -> None:
    with stage.call("leaves") as answer:
        assert next(answer.events())["params"]["progress"] == 1
        stage.heard("leaves", "begun")
    stage.heard("leaves", "cancelled")
    # What another connection sees only once the transaction has ended.
    assert not stage.kept("leaves")


def test_a_legacy_call_runs_to_its_end_whoever_leaves(stage: Stage) -> None:
    with stage.call("stays", era="legacy") as answer:
        assert next(answer.events())["params"]["progress"] == 1
        stage.heard("stays", "begun")
    # By the time of another stream's third comment the server has noticed.
    with stage.post("tools/call", {"name": "idle", "arguments": {"name": "meanwhile"}}) as other:
        assert [other.piece() for _ in range(3)] == [b":\n\n"] * 3
        stage.tell("meanwhile", "go")
        assert list(other.events())
    stage.tell("stays", "go")
    stage.heard("stays", "ended")
    assert not (stage.folder / "stays.cancelled").exists()


def test_a_legacy_call_is_cancelled_at_whichever_worker_it_runs(stage: Stage) -> None:
    # Connections are spread over the two workers by chance.
    for number in range(4):
        name, session = f"called-off-{number}", stage.begin_session()
        params = {"name": "idle", "arguments": {"name": name}}
        with stage.post("tools/call", params, "legacy", **{"Mcp-Session-Id": session}) as answer:
            assert answer.piece() == b":\n\n"
            stage.cancel(session)
            # The stream ends without a response.
            assert list(answer.events()) == []
        stage.heard(name, "cancelled")


def test_many_calls_that_are_left_hold_no_thread(stage: Stage) -> None:
    for number in range(4):
        name = f"many-{number}"
        with stage.call(name) as answer:
            assert next(answer.events())["params"]["progress"] == 1
        stage.heard(name, "cancelled")
    stage.tell("after", "go")
    with stage.call("after", talk=False, asks=False) as answer:
        assert answer.message()["result"]["structuredContent"] == {"name": "after"}


def change(stage: Stage, title: str) -> None:
    """Change a tool as an administrator does, in a process of its own."""
    code = f"from mcp_gateway.models import Tool; Tool.objects.filter(name='idle').update(title_override={title!r})"
    stage.site.manage("shell", "-c", code)


def test_a_change_is_told_on_every_stream_whichever_worker_holds_it(stage: Stage) -> None:
    # Connections are spread over the two workers by chance; anonymous callers have two places in each.
    with ExitStack() as stack:
        streams = [stack.enter_context(stage.listen()).events() for _ in range(3)]
        opened = [next(stream) for stream in streams]
        assert {message["method"] for message in opened} == {"notifications/subscriptions/acknowledged"}
        change(stage, "Another title")
        told = [next(stream) for stream in streams]
        assert {"notifications/tools/list_changed"} <= {message.get("method") for message in told}
        # One worker may have got all three, which is one too many.
        assert [message.get("method") for message in told].count(None) <= 1


def test_a_stream_of_changes_says_that_it_lives(stage: Stage) -> None:
    def is_kept_open() -> bool:
        # Until the server has noticed that the clients of other tests have gone, it has no place.
        with stage.listen() as answer:
            return b"acknowledged" in answer.piece() and answer.piece() == b":\n\n"

    until(is_kept_open)


def test_places_of_clients_that_left_are_free_again(stage: Stage) -> None:
    def is_admitted() -> bool:
        with stage.listen() as answer:
            events = answer.events()
            next(events)
            change(stage, secrets.token_hex(4))
            return bool(next(events).get("method") == "notifications/tools/list_changed")

    for _ in range(3):
        until(is_admitted)
