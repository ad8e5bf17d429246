"""What a handler says while it runs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mcp_gateway.events import CallEvent, RequestResponseEvent, WebEvent
from mcp_gateway.events.channel import LEVELS, Channel


class Listening(Channel):
    """Keeps what it hears."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []

    def on_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.heard.append((done, total, message))

    def log(self, level: str, data: Any, logger: str | None) -> None:
        self.heard.append((level, data, logger))


@pytest.mark.parametrize("kind", [CallEvent, WebEvent])
def test_where_nobody_listens_a_handler_can_speak_all_the_same(kind: type[RequestResponseEvent]) -> None:
    event = kind("demo")
    for done in (1, 2, 1):
        event.progress(done, 2, "Half way.")
    event.log("info", {"rows": 3}, "import")
    assert event.cancelled is False


def test_progress_that_does_not_increase_is_dropped() -> None:
    event = CallEvent("demo")
    event.channel = channel = Listening()
    for done in (0, 0, 1, 0.5, 1.5, 1.5):
        event.progress(done, 2)
    assert channel.heard == [(0, 2, None), (1, 2, None), (1.5, 2, None)]


def test_a_second_run_of_the_same_call_does_not_begin_anew() -> None:
    channel = Listening()
    for _ in range(2):
        event = CallEvent("demo")
        event.channel = channel
        event.progress(1)
    assert channel.heard == [(1, None, None)]


def test_the_message_is_text() -> None:
    event = CallEvent("demo")
    event.channel = channel = Listening()
    event.progress(1, message=7)
    assert channel.heard == [(1, None, "7")]


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (("1",), TypeError),
        ((True,), TypeError),
        ((None,), TypeError),
        ((1, "2"), TypeError),
        ((math.nan,), ValueError),
        ((1, math.inf), ValueError),
        ((10**400,), ValueError),
    ],
)
def test_progress_that_is_no_number_is_refused_whoever_listens(values: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="of a progress is a"):
        CallEvent("demo").progress(*values)


def test_the_levels_of_a_log_message() -> None:
    event = CallEvent("demo")
    event.channel = channel = Listening()
    for level in LEVELS:
        event.log(level, "x")
    assert channel.heard == [(level, "x", None) for level in LEVELS]
    with pytest.raises(ValueError, match="warn"):
        CallEvent("demo").log("warn", "x")
