"""Calls of one tool that run at a time: over the bound the client is told to try again, and other tools go on."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from mcp_gateway.conf import gateway_settings
from mcp_gateway.events import CallEvent
from tests.demo import Demo
from tests.wire import Answer, Wire


@pytest.fixture
def limits(settings: Any) -> Any:
    """Set ``MAX_CONCURRENT_CALLS``."""

    def limit(**by_name: int) -> None:
        names = {name.replace("_", "-") if name != "every" else "*": number for name, number in by_name.items()}
        settings.ZOLINGA = {**settings.ZOLINGA, "MAX_CONCURRENT_CALLS": names}

    return limit


def inside(wire: Wire, demo: Demo, era: str, other: str = "demo-echo") -> list[Answer]:
    """What a call is answered with that comes while one of demo-echo runs, and then what that one is answered with."""
    answers: list[Answer] = []

    def handle(event: CallEvent) -> dict[str, Any]:
        if event.request["message"] == "outer":
            answers.append(wire.call(era, other, {"message": "inner"} if other == "demo-echo" else {"a": 1, "b": 2}))
        return {"echo": event.request["message"]}

    demo.play("demo-echo", handle)
    return [wire.call(era, "demo-echo", {"message": "outer"}), *answers]


def test_a_call_over_the_bound_is_told_to_try_again(wire: Wire, demo: Demo, era: str, limits: Any) -> None:
    limits(demo_echo=1)
    outer, inner = inside(wire, demo, era)
    assert outer.result["structuredContent"] == {"echo": "outer"}
    assert inner.status == 200
    assert inner.result["isError"] is True
    assert "busy" in inner.text
    assert "Try again" in inner.text


def test_the_next_call_runs_again_however_the_last_one_ended(wire: Wire, demo: Demo, era: str, limits: Any) -> None:
    limits(demo_echo=1)

    def fail(event: CallEvent) -> None:
        raise RuntimeError("oops")

    demo.play("demo-echo", fail)
    for _ in range(3):
        assert "busy" not in wire.call(era, "demo-echo", {"message": "x"}).text
    demo.play("demo-echo", lambda event: {"echo": "fine"})
    assert wire.call(era, "demo-echo", {"message": "x"}).result["structuredContent"] == {"echo": "fine"}


@pytest.mark.parametrize("by_name", [{}, {"demo_echo": 2}, {"demo_add": 1}, {"every": 1, "demo_echo": 2}], ids=repr)
def test_calls_within_the_bound_run_beside_each_other(
    wire: Wire, demo: Demo, era: str, limits: Any, by_name: dict[str, int]
) -> None:
    limits(**by_name)
    assert [answer.result["isError"] for answer in inside(wire, demo, era)] == [False, False]


def test_the_star_bounds_each_tool_by_itself(wire: Wire, demo: Demo, era: str, limits: Any) -> None:
    limits(every=1)
    demo.play("demo-add", lambda event: {"sum": 3})
    assert [answer.result["isError"] for answer in inside(wire, demo, era, "demo-add")] == [False, False]
    assert [answer.result["isError"] for answer in inside(wire, demo, era)] == [False, True]


@pytest.mark.parametrize("value", [5, {"a": 0}, {"a": True}, {"a": "5"}, {5: 5}, ["a"]], ids=repr)
def test_a_bound_that_is_none_is_told(settings: Any, value: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_CONCURRENT_CALLS": value}
    with pytest.raises(ImproperlyConfigured, match="slow_report"):
        _ = gateway_settings.max_concurrent_calls
