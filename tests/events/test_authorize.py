"""Rights of modules' own: the internal event system:authorize."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model

from mcp_gateway import registry
from mcp_gateway.events import AuthorizeEvent, WebEvent
from mcp_gateway.rights import ANONYMOUS, Outcome, Principal, decide
from mcp_gateway.rights.decide import holds_without_token
from tests.demo import Demo
from tests.wire import Wire, issue_token
from tests.wire_fixtures import demo, era, wire

__all__ = ["demo", "era", "wire"]

RIGHT = "owner of shop"


@pytest.fixture
def user(db: None) -> Any:
    return get_user_model().objects.create_user("ann")


def owners(event: AuthorizeEvent) -> None:
    if event.provider != "owner":
        return
    if event.user is not None and event.user.username == "ann" and event.clauses == (("of",), ("shop",)):
        event.grant()
    else:
        event.deny()


@pytest.fixture
def provider(demo: Demo) -> Demo:
    demo.play("system:authorize", owners)
    demo.listen("system:authorize", origins=["internal"])
    return demo


def judge(principal: Principal, right: str = RIGHT) -> Outcome:
    return decide((right,), principal, registry.snapshot(), baseline=("mcp:tools",)).outcome


def token(user: Any = None, scopes: str = "mcp:tools") -> Principal:
    return Principal(user=user, scopes=frozenset(scopes.split()), authenticated=True)


def test_the_module_answers_and_sees_the_right_and_the_caller(provider: Demo, user: Any) -> None:
    assert judge(token(user)) is Outcome.ALLOWED
    (event,) = provider.calls
    assert isinstance(event, AuthorizeEvent)
    assert (event.right, event.provider, event.clauses) == (RIGHT, "owner", (("of",), ("shop",)))
    assert (event.type, event.origin, event.user) == ("system:authorize", "internal", user)
    assert event.auth is not None
    assert event.auth.scopes == {"mcp:tools"}


def test_a_module_that_says_no_is_obeyed(provider: Demo, user: Any) -> None:
    assert judge(token(get_user_model().objects.create_user("bob"))) is Outcome.DENIED
    assert judge(token(user), "owner of stall") is Outcome.DENIED
    assert judge(token()) is Outcome.DENIED


def test_a_module_gives_no_more_than_the_token_may(provider: Demo, user: Any) -> None:
    assert judge(token(user, "")) is Outcome.INSUFFICIENT_SCOPE


def test_an_anonymous_caller_is_sent_to_log_in_only_where_a_module_knows_the_right(provider: Demo) -> None:
    assert judge(ANONYMOUS) is Outcome.UNAUTHENTICATED
    assert judge(ANONYMOUS, "nobody knows") is Outcome.DENIED


def test_a_right_that_every_module_passes_over_is_held_by_nobody(provider: Demo, user: Any) -> None:
    user.is_superuser = user.is_staff = True
    assert judge(token(user), "nobody knows") is Outcome.DENIED
    assert not holds_without_token("nobody knows", user, registry.snapshot())


def test_the_first_answer_decides(demo: Demo, user: Any) -> None:
    answers = [AuthorizeEvent.deny, AuthorizeEvent.grant]
    demo.play("system:authorize", lambda event: answers[len(demo.calls) - 1](event))
    demo.listen("system:authorize", origins=["internal"])
    demo.listen("system:authorize", origins=["internal"])
    assert judge(token(user)) is Outcome.DENIED
    assert len(demo.calls) == 1


@pytest.mark.parametrize("status", [200, 302])
def test_a_watcher_that_sets_a_status_on_every_event_answers_no_question(demo: Demo, user: Any, status: int) -> None:
    def watcher_and_then_owners(event: AuthorizeEvent) -> None:
        if event.message:
            owners(event)
        else:
            event.set_status(status, "Logged.")

    demo.play("system:authorize", watcher_and_then_owners)
    demo.listen("*", origins=["internal"])
    assert judge(token(user)) is Outcome.DENIED
    assert judge(ANONYMOUS) is Outcome.DENIED
    demo.listen("system:authorize", origins=["internal"])
    assert judge(token(user)) is Outcome.ALLOWED
    assert judge(token(user), "owner of stall") is Outcome.DENIED
    assert judge(ANONYMOUS) is Outcome.UNAUTHENTICATED


def test_who_says_yes_and_then_no_has_said_no(demo: Demo, user: Any) -> None:
    def wavering(event: AuthorizeEvent) -> None:
        event.grant()
        event.deny()

    demo.play("system:authorize", wavering)
    demo.listen("system:authorize", origins=["internal"])
    assert judge(token(user)) is Outcome.DENIED


def test_a_module_that_fails_has_not_said_yes(demo: Demo, user: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: AuthorizeEvent) -> None:
        event.grant()
        raise RuntimeError("directory server away")

    demo.play("system:authorize", broken)
    demo.listen("system:authorize", origins=["internal"])
    assert judge(token(user)) is Outcome.DENIED
    assert "directory server away" in caplog.text


@pytest.mark.parametrize("right", ["", "staff", "staff please", "oauth2:scope mcp:tools", "member of crew", "owner |"])
def test_modules_are_not_asked_about_what_the_gateway_knows(provider: Demo, user: Any, right: str) -> None:
    judge(token(user), right)
    judge(ANONYMOUS, right)
    assert provider.calls == []


def test_the_answer_holds_at_the_gate(provider: Demo, user: Any) -> None:
    provider.play("x", lambda event: {})
    provider.listen("x", origins=["remote"], right=RIGHT)
    assert WebEvent("x", user=user).dispatch().ok
    assert not WebEvent("x", user=get_user_model().objects.create_user("bob")).dispatch().ok
    asked = len(provider.calls)
    assert not WebEvent("x").dispatch().ok
    assert len(provider.calls) == asked


def test_nobody_outside_can_send_the_question(provider: Demo, user: Any) -> None:
    assert not WebEvent("system:authorize", user=user).dispatch().ok
    assert provider.calls == []


def test_the_answer_holds_over_mcp(wire: Wire, provider: Demo, user: Any, era: str) -> None:
    provider.add("demo-owned", lambda event: {}, right=RIGHT)
    anonymous = wire.call(era, "demo-owned")
    assert (anonymous.status, "mcp:tools" in anonymous.challenge) == (401, True)
    wire.token = issue_token(user, "mcp:tools")
    assert wire.call(era, "demo-owned").result["isError"] is False
    wire.token = issue_token(get_user_model().objects.create_user("bob"), "mcp:tools")
    stranger = wire.call(era, "demo-owned")
    assert (stranger.status, stranger.challenge) == (403, "")


def test_other_tools_cost_no_more_for_it(
    wire: Wire, provider: Demo, user: Any, era: str, django_assert_num_queries: Any
) -> None:
    provider.add("demo-scoped", lambda event: {}, right="oauth2:scope mcp:tools", atomic=False)
    wire.token = issue_token(user, "mcp:tools")
    wire.call(era, "demo-scoped")
    provider.calls.clear()
    with django_assert_num_queries(1):
        wire.call(era, "demo-scoped")
    assert [event.type for event in provider.calls] == ["demo-scoped"]
