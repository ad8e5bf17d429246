"""Events and statuses: what a handler sees and says."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations
from typing import Any

import pytest
from django.utils.translation import gettext_lazy

from mcp_gateway.events import CallEvent, Event, Origin, RequestEvent, RequestResponseEvent, Status, WebEvent


def test_the_room_imports_without_settings_and_apps() -> None:
    code = (
        "import sys; from mcp_gateway.events import CallEvent, Status; CallEvent('x').set_status(Status.OK); "
        "from django.conf import settings; assert not settings.configured"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("order", list(permutations([(404, "late"), (200, "fine"), (500, "broken")])))
def test_the_lower_status_wins_whichever_came_first(order: tuple[tuple[int, str], ...]) -> None:
    event = Event("x")
    for status, message in order:
        event.set_status(status, message)
    assert (event.status, event.message) == (Status.OK, "fine")
    assert event.ok


def test_undetermined_always_yields() -> None:
    event = Event("x")
    event.set_status(Status.UNDETERMINED, "nothing")
    assert not event.ok
    event.set_status(404, "missing")
    event.set_status(Status.UNDETERMINED, "nothing")
    assert (event.status, event.message) == (Status.NOT_FOUND, "missing")


@pytest.mark.parametrize(
    ("status", "ok"), [(0, False), (200, True), (204, True), (304, True), (400, False), (503, False)]
)
def test_success_is_200_to_399(status: int, ok: bool) -> None:
    event = Event("x")
    event.set_status(status)
    assert event.ok is ok


@pytest.mark.parametrize("status", [1, 199, 299, 600, -1, "200", None, True])
def test_a_number_that_is_no_status_is_refused(status: Any) -> None:
    with pytest.raises(ValueError, match=f"^{status!r} is no status of an event. Known are 0 UND"):
        Event("x").set_status(status)


@pytest.mark.parametrize("way", ["said", "assigned"])
def test_a_message_is_cut_at_a_length_that_models_can_read(way: str) -> None:
    for length, kept in ((10_000, "x" * 10_000), (10_001, "x" * 9_999 + "…")):
        event = Event("e")
        if way == "said":
            event.set_status(Status.BAD_REQUEST, "x" * length)
        else:
            event.message = "x" * length
        assert event.message == kept


def test_a_message_comes_later_and_may_be_lazy() -> None:
    event = Event("x")
    event.set_status(200)
    event.set_status(200, gettext_lazy("Saved"))
    event.set_status(200, "Again")
    assert event.message == "Saved"
    assert type(event.message) is str


def test_kinds_of_events() -> None:
    assert issubclass(WebEvent, RequestResponseEvent)
    assert issubclass(CallEvent, RequestResponseEvent)
    assert issubclass(RequestResponseEvent, RequestEvent)
    event = CallEvent("my-tool", Origin.MCP, {"arg": 1})
    assert (event.type, event.origin, event.request, event.response) == ("my-tool", "mcp", {"arg": 1}, {})
    assert (event.user, event.auth, event.message, event.status) == (None, None, "", Status.UNDETERMINED)
    assert RequestEvent("x").request == {}
    assert RequestEvent("x").request is not RequestEvent("x").request


def test_stopping_is_seen() -> None:
    event = Event("x")
    assert not event.propagation_stopped
    event.stop_propagation()
    assert event.propagation_stopped
