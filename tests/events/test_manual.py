"""The manual's code for events does what the manual says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_gateway.events import AuthorizeEvent, Status
from mcp_gateway.rights import parse
from tests.asking import accept, call
from tests.authoring.documents import blocks
from tests.demo import Demo
from tests.wire import Wire
from tests.wire_fixtures import demo, wire

__all__ = ["demo", "wire"]

MANUAL = Path(__file__).parent.parent.parent / "modules" / "README.md"


def code(word: str) -> dict[str, Any]:
    """The names that the manual's Python block with this word makes."""
    (block,) = (
        block for block in blocks(MANUAL.read_text(encoding="utf-8")) if block.mark == "python" and word in block.text
    )
    names: dict[str, Any] = {}
    exec(compile(block.text, "README.md", "exec", dont_inherit=True), names)  # noqa: S102
    return names


@pytest.mark.parametrize(
    ("right", "name", "status"),
    [
        ("owner of shop", "ann", Status.OK),
        ("owner of shop", "bob", Status.FORBIDDEN),
        ("owner of shop", None, Status.FORBIDDEN),
        ("owner of stall", "ann", Status.FORBIDDEN),
        ("tenant of shop", "ann", Status.UNDETERMINED),
    ],
)
def test_the_provider_of_a_right(right: str, name: str | None, status: Status) -> None:
    parsed = parse(right)
    user = None if name is None else SimpleNamespace(username=name)
    event = AuthorizeEvent("system:authorize", right=right, provider=parsed.provider, clauses=parsed.clauses, user=user)
    code("AuthorizeEvent")["OwnerHandler"]().on_authorize(event)
    assert event.status is status


def test_an_event_and_a_service_from_python(demo: Demo) -> None:
    sell = code("service(")["sell"]
    demo.play("shop:sold", lambda event: event.set_status(409, "Sold out."))
    demo.listen("shop:sold", origins=["internal"])
    assert sell("pen") == "Sold out."
    demo.play("shop:sold", lambda event: {"sold": event.request["item"]})
    with pytest.raises(LookupError, match="printer"):
        sell("pen")


def test_a_question_and_its_answers(demo: Demo, wire: Wire) -> None:
    demo.add("order", code("CONFIRM = ")["OrderHandler"]().on_order)
    first = call(wire, "order", {"book": "Emma"})
    assert first.asked["confirm"]["params"]["message"] == "Order Emma?"
    assert first.retry({"confirm": accept(copies=2)}).answer.structured == {"ordered": "Emma", "copies": 2}
    assert "did not want" in first.retry({"confirm": {"action": "decline"}}).answer.failure
