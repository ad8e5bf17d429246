"""Tools that always answer at once run on the request's thread; all others, and whoever wants to hear more, do not."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from asgiref.local import Local
from django.core.cache import caches
from django.urls import clear_script_prefix, reverse, set_script_prefix
from django.utils import timezone
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import activate, get_language, override

from mcp_gateway.streams.pace import ENOUGH, Pace
from tests.demo import Demo
from tests.wire import CLIENT_META, Wire
from tests.wire_fixtures import demo, era, wire

__all__ = ["demo", "era", "wire"]

# As packages keep whose request it is.
tenant = Local()

LOG_LEVEL = "io.modelcontextprotocol/logLevel"


def call(wire: Wire, era: str, meta: dict[str, Any] | None = None, **arguments: Any) -> Any:
    params = {"name": "demo-quick", "arguments": arguments}
    if era == "modern":
        return wire.modern("tools/call", params, meta={**CLIENT_META, **(meta or {})})
    return wire.legacy("tools/call", {**params, "_meta": meta or {}})


def handler(event: Any) -> dict[str, Any]:
    if event.request.get("fail"):
        raise PermissionError("a secret")
    if event.request.get("talk"):
        event.log("error", "Something to say.")
    if event.request.get("progress"):
        event.progress(1)
    if event.request.get("language"):
        activate(event.request["language"])
    return {"thread": threading.current_thread().name, "language": get_language()}


def is_here(answer: Any) -> bool:
    return bool(answer.structured["thread"] == threading.current_thread().name)


@pytest.fixture
def quick(demo: Demo, wire: Wire, era: str) -> None:
    """A tool that has answered at once so often that it is relied on."""
    demo.add("demo-quick", handler)
    assert [is_here(call(wire, era)) for _ in range(ENOUGH)] == [False] * ENOUGH


@pytest.mark.usefixtures("quick")
def test_a_tool_that_always_answers_at_once_gets_no_thread_of_its_own(wire: Wire, era: str) -> None:
    answer = call(wire, era)
    assert is_here(answer)
    assert answer.response["Content-Type"] == "application/json"


def test_calls_that_the_tool_never_saw_show_nothing(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("demo-quick", handler, request={"type": "object", "properties": {"fail": {"type": "boolean"}}})
    for _ in range(ENOUGH + 1):
        assert "do not fit" in call(wire, era, fail="perhaps").text
    assert not is_here(call(wire, era))


@pytest.mark.usefixtures("quick")
def test_whoever_asks_to_hear_more_still_does(wire: Wire, era: str) -> None:
    answer = call(wire, era, {"progressToken": 1}, progress=True)
    assert not is_here(answer)
    assert [message["params"]["progress"] for message in answer.notifications] == [1]
    if era == "modern":
        assert not is_here(call(wire, era, {LOG_LEVEL: "info"}))


# In the modern era a client asks for messages with the call, which then has a thread.
@pytest.mark.parametrize("era", ["legacy"])
@pytest.mark.usefixtures("quick")
def test_what_is_said_all_the_same_is_not_lost_and_the_next_call_has_a_thread(wire: Wire, era: str) -> None:
    answer = call(wire, era, talk=True)
    assert is_here(answer)
    assert [message["params"]["data"] for message in answer.notifications] == ["Something to say."]
    assert [is_here(call(wire, era)) for _ in range(ENOUGH + 1)] == [False] * (ENOUGH + 1)


@pytest.mark.usefixtures("quick")
def test_what_the_handler_raises_is_answered_as_ever(wire: Wire, era: str) -> None:
    answer = call(wire, era, fail=True)
    assert answer.result["isError"]
    assert answer.response["Content-Type"] == "application/json"
    assert "secret" not in answer.body.decode()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "application/json"])
def test_a_language_that_a_handler_activates_is_not_the_next_requests(wire: Wire, era: str, accept: str) -> None:
    before = get_language()
    params = {"name": "demo-quick", "arguments": {"language": "de"}}
    answer = (wire.modern if era == "modern" else wire.legacy)("tools/call", params, headers={"Accept": accept})
    assert is_here(answer)
    assert answer.structured["language"] == "de"
    assert get_language() == before


def test_a_handler_finds_what_was_set_for_the_request_on_whichever_thread(demo: Demo, wire: Wire, era: str) -> None:
    def look(event: Any) -> dict[str, Any]:
        found = {
            "language": get_language(),
            "zone": get_current_timezone_name(),
            "tenant": getattr(tenant, "name", ""),
            "url": reverse("mcp_gateway:endpoint"),
        }
        activate("fr")
        tenant.name = "another"
        return {**handler(event), **found}

    demo.add("demo-quick", look)
    set_script_prefix("/shop/")
    tenant.name = "acme"
    try:
        with override("de"), timezone.override("Asia/Tokyo"):
            answers = [call(wire, era) for _ in range(ENOUGH + 1)]
            assert get_language() == "de"
        assert tenant.name == "acme"
    finally:
        del tenant.name
        clear_script_prefix()
    assert {is_here(answer) for answer in answers} == {False, True}
    for answer in answers:
        assert {**answer.structured, "thread": ""} == {
            "thread": "",
            "language": "de",
            "zone": "Asia/Tokyo",
            "tenant": "acme",
            "url": "/shop/mcp",
        }


def test_the_connection_to_a_cache_is_kept_from_call_to_call(demo: Demo, wire: Wire, era: str, settings: Any) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    found = []

    def look(event: Any) -> dict[str, Any]:
        answer = handler(event)
        found.append((answer["thread"], caches["default"]))
        return answer

    demo.add("demo-quick", look)
    answers = [call(wire, era) for _ in range(ENOUGH + 2)]
    assert is_here(answers[-1])
    here = [cache for thread, cache in found if thread == threading.current_thread().name]
    assert len(here) > 1
    assert len({id(cache) for cache in here}) == 1
    # Two threads at a time are more than a client of a cache need stand.
    assert here[0] not in [cache for thread, cache in found if thread != threading.current_thread().name]


def test_a_cache_that_cannot_be_had_is_the_trouble_of_who_uses_it(
    demo: Demo, wire: Wire, era: str, settings: Any
) -> None:
    settings.CACHES = {**settings.CACHES, "gone": {"BACKEND": "nowhere.Cache"}}
    demo.add("demo-quick", handler)
    assert call(wire, era).structured


@pytest.mark.usefixtures("quick")
def test_an_import_begins_anew(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("demo-other", handler)
    assert not is_here(call(wire, era))


@pytest.mark.parametrize(("seconds", "said"), [(0.3, False), (0.001, True)])
def test_one_call_that_took_long_or_said_something_settles_it(seconds: float, said: bool) -> None:
    pace = Pace()
    for _ in range(ENOUGH):
        assert not pace.enter(0, 5)
        pace.note(0.2, 5, said=False)
    assert pace.enter(0, 5)
    pace.leave(0)
    pace.note(seconds, 5, said=said)
    for _ in range(ENOUGH + 1):
        assert not pace.enter(0, 5)
        pace.note(0.001, 5, said=False)


def test_one_call_that_takes_long_settles_it_before_it_ends() -> None:
    pace = Pace()
    for _ in range(ENOUGH):
        pace.note(0.2, 5, said=False)
    assert pace.enter(1, 5)
    assert pace.enter(1.2, 5)
    pace.leave(1.2)
    assert pace.enter(1.25, 5)
    assert not pace.enter(1.3, 5)
    assert not pace.enter(1.3, 5)
