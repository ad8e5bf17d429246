"""Dispatch from Python: what an event reaches, and whose rights are asked about."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mcp_gateway.events import CallEvent, Event, Origin, RequestEvent, RequestResponseEvent, Status, WebEvent
from mcp_gateway.models import Listener
from mcp_gateway.rights import Principal
from tests.demo import INTEGER, Demo, closed
from tests.wire_fixtures import demo

__all__ = ["demo"]


@pytest.fixture
def user(db: None) -> Any:
    return get_user_model().objects.create_user("ann")


def test_an_event_is_dispatched_from_python_and_given_back(demo: Demo) -> None:
    demo.play("shop:sold", lambda event: event.set_status(200, "Noted."))
    demo.listen("shop:sold", origins=["internal"])
    event = Event("shop:sold").dispatch()
    assert isinstance(event, Event)
    assert (event.status, event.message) == (Status.OK, "Noted.")
    assert demo.calls == [event]


def test_an_event_that_nobody_listens_to_stays_undetermined(demo: Demo) -> None:
    assert Event("shop:unsold").dispatch().status is Status.UNDETERMINED
    assert WebEvent("shop:unsold").dispatch().status is Status.UNDETERMINED


def test_an_event_is_dispatched_from_a_coroutine(demo: Demo) -> None:
    demo.play("shop:sold", lambda event: {"sold": True})
    demo.listen("shop:sold", origins=["internal"])

    async def sell() -> RequestResponseEvent:
        return await RequestResponseEvent("shop:sold").adispatch()

    assert async_to_sync(sell)().response == {"sold": True}


def test_a_new_listener_is_reached_at_once(demo: Demo, django_assert_num_queries: Any) -> None:
    demo.play("shop:sold", lambda event: event.set_status(200))
    assert not Event("shop:sold").dispatch().ok
    demo.listen("shop:sold", origins=["internal"], atomic=False)
    assert Event("shop:sold").dispatch().ok
    with django_assert_num_queries(1):
        Event("shop:sold").dispatch()


@pytest.mark.parametrize(
    ("kind", "origin"),
    [
        (Event, "internal"),
        (RequestEvent, "internal"),
        (RequestResponseEvent, "internal"),
        (WebEvent, "remote"),
        (CallEvent, "mcp"),
    ],
)
def test_a_kind_of_event_has_its_own_origin_unless_one_is_given(kind: type[Event], origin: str) -> None:
    assert kind("x").origin == origin
    assert kind("x", Origin.CUSTOM).origin == "custom"


@pytest.mark.parametrize("origin", ["*", "", "Remote", "web"])
def test_an_origin_that_no_event_has_is_refused(origin: str) -> None:
    with pytest.raises(ValueError, match=r"No event has the origin .* cli, custom, internal, mcp, remote\."):
        Event("x", origin)


@pytest.mark.parametrize("origin", ["internal", "cli"])
def test_the_sites_own_code_and_shell_are_not_judged(demo: Demo, user: Any, origin: str) -> None:
    demo.play("x", lambda event: {})
    demo.listen("x", origins=[origin], right="staff")
    assert RequestResponseEvent("x", origin).dispatch().ok
    assert RequestResponseEvent("x", origin, user=user).dispatch().ok


@pytest.mark.parametrize("origin", ["remote", "custom", "mcp"])
def test_what_comes_from_outside_is_judged_for_its_user(demo: Demo, user: Any, origin: str) -> None:
    demo.play("x", lambda event: {})
    demo.listen("x", origins=[origin], right="staff")
    assert RequestResponseEvent("x", origin).dispatch().status is Status.FORBIDDEN
    assert RequestResponseEvent("x", origin, user=user).dispatch().status is Status.FORBIDDEN
    user.is_staff = True
    assert RequestResponseEvent("x", origin, user=user).dispatch().ok


def test_a_token_is_judged_by_its_scopes_and_never_by_its_user_alone(demo: Demo, user: Any) -> None:
    demo.play("x", lambda event: {})
    demo.listen("x", origins=["remote"], right="authenticated")

    def ask(scopes: str) -> Status:
        token = Principal(user=user, scopes=frozenset(scopes.split()), authenticated=True)
        return WebEvent("x", user=user, auth=token).dispatch().status

    assert ask("mcp:tools") is Status.OK
    assert ask("") is Status.FORBIDDEN


def test_over_mcp_an_open_listener_opens_no_protected_one(demo: Demo, user: Any) -> None:
    demo.play("x", lambda event: {})
    demo.listen("x", origins=["mcp", "remote"])
    demo.listen("x", origins=["mcp", "remote"], right="staff")
    assert CallEvent("x", user=user).dispatch().status is Status.FORBIDDEN
    assert demo.calls == []
    assert WebEvent("x", user=user).dispatch().ok
    assert len(demo.calls) == 1


@pytest.mark.parametrize(
    ("origin", "checked"), [("remote", True), ("cli", True), ("custom", True), ("internal", False)]
)
def test_a_request_from_outside_must_fit_the_request_schema(demo: Demo, origin: str, checked: bool) -> None:
    demo.play("x", lambda event: {})
    demo.listen("x", origins=["*"], request_schema=json.dumps(closed(n=INTEGER)))
    event = RequestResponseEvent("x", origin, {"n": "1"}).dispatch()
    assert event.status is (Status.BAD_REQUEST if checked else Status.OK)
    assert ("/n" in event.message) is checked
    assert RequestResponseEvent("x", origin, {"n": 1}).dispatch().ok


def test_a_schema_of_a_listener_that_may_not_run_is_not_told(demo: Demo) -> None:
    demo.play("x", lambda event: {})
    demo.listen("x", origins=["remote"], right="staff", request_schema=json.dumps(closed(secret=INTEGER)))
    demo.listen("x", origins=["remote"])
    assert WebEvent("x").dispatch().ok


def test_a_status_can_be_assigned_and_is_always_one(demo: Demo) -> None:
    def assign(event: Any) -> None:
        event.status = 404
        event.message = 7

    def junk(event: Any) -> None:
        event.status = "fine"

    demo.listen("x", origins=["internal"])
    demo.play("x", assign)
    event = Event("x").dispatch()
    assert (event.status, event.message) == (Status.NOT_FOUND, "7")
    demo.play("x", junk)
    assert Event("x").dispatch().status is Status.ERROR


def test_a_right_that_cannot_be_judged_is_not_held(demo: Demo, caplog: pytest.LogCaptureFixture) -> None:
    class User:
        is_authenticated = is_active = True

        def has_perm(self, name: str) -> bool:
            raise RuntimeError("directory server away")

    demo.listen("x", origins=["remote"], right="perm a.b")
    event = WebEvent("x", user=User()).dispatch()
    assert event.status is Status.ERROR
    assert "directory" not in event.message
    assert "directory server away" in caplog.text
    assert demo.calls == []


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


ENDINGS: list[Callable[[], BaseException]] = [
    RuntimeError,
    Unspeakable,
    SystemExit,
    GeneratorExit,
    asyncio.CancelledError,
    lambda: RecursionError("deep"),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
]
PATTERNS = ["x", "x:y", "x:*", "*", "*:y", "[x]*", "mcp:*", "system:*", "x:**y"]
TYPES = st.sampled_from(["x", "x:y", "x:z", "*", "x:*", "mcp:ping", "system:authorize", ""]) | st.text(max_size=12)
STEPS = st.one_of(
    st.sampled_from(list(Status)).map(lambda status: ("say", status)),
    st.sampled_from(ENDINGS).map(lambda ending: ("raise", ending)),
    st.sampled_from([None, 0, "", {}, {"a": 1}, object(), b"x"]).map(lambda value: ("return", value)),
    st.sampled_from([("stop", None), ("status", 7), ("status", 404), ("type", None), ("request", None)]),
)
LISTENERS = st.lists(
    st.tuples(
        st.sampled_from(PATTERNS),
        st.sampled_from([["internal"], ["remote"], ["*"], ["cli", "custom"], []]),
        st.floats(0, 1),
        st.sampled_from(["", "staff", "nobody knows", "member of x", "|"]),
        st.booleans(),
    ),
    max_size=5,
)


@hypothesis_settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    listeners=LISTENERS,
    steps=st.lists(STEPS, min_size=1, max_size=5),
    name=TYPES,
    origin=st.sampled_from(sorted(Origin.OF_EVENTS)),
    request=st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=3),
)
def test_no_traffic_raises_out_of_the_dispatcher(
    write_module: Callable[..., Path],
    demo: Demo,
    listeners: list[tuple[str, list[str], float, str, bool]],
    steps: list[tuple[str, Any]],
    name: str,
    origin: str,
    request: dict[str, Any],
) -> None:
    Listener.objects.all().delete()
    demo.calls.clear()
    for pattern, origins, priority, right, atomic in listeners:
        demo.listen(pattern, origins=origins, priority=priority, right=right, atomic=atomic)

    def play(event: Any) -> Any:
        kind, value = steps[(len(demo.calls) - 1) % len(steps)]
        if kind == "say":
            event.set_status(value, "said")
        elif kind == "raise":
            raise value()
        elif kind == "stop":
            event.stop_propagation()
        elif kind == "return":
            return value
        else:
            setattr(event, kind, value)
        return None

    demo.play(name, play)
    event = RequestResponseEvent(name, origin, request).dispatch()
    assert isinstance(event.status, Status)
    assert isinstance(event.message, str)
    assert len(demo.calls) <= len(listeners)
    if not listeners:
        assert event.status is Status.UNDETERMINED
