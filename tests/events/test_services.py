"""Services: one object per process, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway import registry
from mcp_gateway.events import RequestResponseEvent, Status, service
from mcp_gateway.events.handlers import HandlerNotFound

CODE = """
class Clock:
    made = 0

    def __init__(self):
        type(self).made += 1

    def now(self):
        return "noon"


class Better(Clock):
    def now(self):
        return "12:00"


class Broken(Clock):
    def __init__(self):
        raise RuntimeError("no")
"""


def offer(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"name": "Demo", "listen": [{"class": "\\Demo\\Clock", "service": "clock", **entry} for entry in entries]}


@pytest.fixture
def imported(
    write_module: Callable[..., Path], import_manifests: Callable[..., dict[str, Any]]
) -> Callable[..., dict[str, Any]]:
    def run(*entries: dict[str, Any]) -> dict[str, Any]:
        write_module(offer(*entries), {"__init__.py": CODE})
        return import_manifests()

    return run


def test_a_service_is_one_object_per_process(imported: Callable[..., Any], django_assert_num_queries: Any) -> None:
    assert imported({})["refused"] == []
    clock = service("clock")
    assert clock.now() == "noon"
    with django_assert_num_queries(0):
        assert service("clock") is clock
    assert type(clock).made == 1


def test_the_highest_priority_offers_it(imported: Callable[..., Any]) -> None:
    imported({}, {"class": "\\Demo\\Better", "priority": 0.6})
    assert service("clock").now() == "12:00"
    imported({"priority": 0.7}, {"class": "\\Demo\\Better", "priority": 0.6})
    registry.snapshot()
    assert service("clock").now() == "noon"


def test_a_wildcard_offers_nothing(imported: Callable[..., Any]) -> None:
    watcher = {"service": None, "event": "system:*", "origin": ["internal"], "method": "now", "priority": 1}
    imported({}, watcher, {**watcher, "event": "*"})
    assert service("clock").now() == "noon"
    with pytest.raises(LookupError, match="No module offers the service 'watch'"):
        service("watch")
    imported({}, {**watcher, "event": "system:service:*"})
    with pytest.raises(LookupError, match="No module offers"):
        service("*")


@pytest.mark.parametrize("name", ["", "*", "system:service:clock", "x" * 100_000])
def test_a_service_that_is_not_there_is_named_with_the_cure(imported: Callable[..., Any], name: str) -> None:
    imported({})
    with pytest.raises(LookupError, match=r"Add .* to a manifest") as caught:
        service(name)
    assert len(str(caught.value)) < 300


def test_a_service_that_cannot_be_made_says_why(imported: Callable[..., Any]) -> None:
    imported({"class": "\\Demo\\Broken"})
    with pytest.raises(HandlerNotFound, match=r"cannot be instantiated: RuntimeError in .*: no"):
        service("clock")


def test_a_service_is_no_event_for_those_outside(imported: Callable[..., Any]) -> None:
    imported({})
    for origin in ("remote", "mcp", "cli", "custom"):
        event = RequestResponseEvent("system:service:clock", origin).dispatch()
        assert event.status is Status.UNDETERMINED
