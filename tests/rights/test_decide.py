"""The decision: yes, or what would help."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, Group

from mcp_gateway import registry
from mcp_gateway.models import Scope
from mcp_gateway.rights import ANONYMOUS, Outcome, Principal, decide
from mcp_gateway.rights.decide import holds_without_token

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _scopes() -> None:
    for name in "abcdz":
        Scope.objects.create(name=name)
    Scope.objects.create(name="off", enabled=False)
    Scope.objects.get(name="z").implies.set(Scope.objects.filter(name__in=["a", "b"]))


def token(scopes: str = "", user: Any = None, may_request: set[str] | None = None) -> Principal:
    allowed = None if may_request is None else frozenset(may_request)
    return Principal(user=user, scopes=frozenset(scopes.split()), may_request=allowed, authenticated=True)


def judge(principal: Principal, *rights: str, baseline: tuple[str, ...] = ()) -> tuple[Outcome, str]:
    decision = decide(rights, principal, registry.snapshot(), baseline=baseline)
    return decision.outcome, " ".join(decision.scopes)


def test_no_right_is_open_to_everyone() -> None:
    assert judge(ANONYMOUS, baseline=("a",)) == (Outcome.ALLOWED, "")


@pytest.mark.parametrize(
    ("held", "right", "outcome", "scopes"),
    [
        ("a", "oauth2:scope a", Outcome.ALLOWED, ""),
        ("a b", "oauth2:scope a b", Outcome.ALLOWED, ""),
        ("b", "oauth2:scope a|b", Outcome.ALLOWED, ""),
        ("z", "oauth2:scope a b", Outcome.ALLOWED, ""),
        ("", "oauth2:scope a", Outcome.INSUFFICIENT_SCOPE, "a"),
        ("a", "oauth2:scope a b", Outcome.INSUFFICIENT_SCOPE, "a b"),
        ("c", "oauth2:scope a|b c|d", Outcome.INSUFFICIENT_SCOPE, "a c"),
        ("d", "oauth2:scope a|b c|d", Outcome.INSUFFICIENT_SCOPE, "a d"),
        ("a", "oauth2:scope b a|b", Outcome.INSUFFICIENT_SCOPE, "b"),
        ("a off", "oauth2:scope off", Outcome.DENIED, ""),
        ("a", "oauth2:scope missing", Outcome.DENIED, ""),
        ("a", "oauth2:scope missing|b", Outcome.INSUFFICIENT_SCOPE, "b"),
        ("off", "oauth2:scope off|b", Outcome.INSUFFICIENT_SCOPE, "b"),
    ],
)
def test_scopes(held: str, right: str, outcome: Outcome, scopes: str) -> None:
    assert judge(token(held), right) == (outcome, scopes)


def test_the_alternative_with_the_fewest_missing_scopes_is_named() -> None:
    assert judge(token("c d"), "oauth2:scope a|c b|d a|b") == (Outcome.INSUFFICIENT_SCOPE, "a d")


def test_an_alternative_the_client_may_not_ask_for_is_not_named() -> None:
    assert judge(token("", may_request={"b"}), "oauth2:scope a|b") == (Outcome.INSUFFICIENT_SCOPE, "b")
    # What the token has already need not be asked for.
    assert judge(token("a", may_request={"b"}), "oauth2:scope a b") == (Outcome.INSUFFICIENT_SCOPE, "a b")


def test_what_a_client_may_not_ask_for_is_told_and_not_asked_for() -> None:
    assert judge(token("", may_request={"c"}), "oauth2:scope a|b") == (Outcome.BEYOND_CLIENT, "a")
    assert judge(token("a", may_request={"c"}), "oauth2:scope a b", baseline=("a",)) == (Outcome.BEYOND_CLIENT, "b")
    assert judge(token("", may_request={"c"}), "oauth2:scope off") == (Outcome.DENIED, "")


def test_more_cannot_be_asked_for_a_personal_token() -> None:
    held = replace(token("a"), fixed_scopes=True)
    assert judge(held, "oauth2:scope a") == (Outcome.ALLOWED, "")
    assert judge(held, "oauth2:scope a b") == (Outcome.FIXED_SCOPES, "b")
    assert judge(held, "oauth2:scope off") == (Outcome.DENIED, "")


def test_who_has_no_token_is_asked_for_what_any_client_can_get_where_that_does() -> None:
    Scope.objects.filter(name="b").update(self_service=True)
    assert judge(ANONYMOUS, "oauth2:scope a|b") == (Outcome.UNAUTHENTICATED, "b")
    # Else the call says what it needs all the same: the client may be one that can ask for it.
    assert judge(ANONYMOUS, "oauth2:scope a|c") == (Outcome.UNAUTHENTICATED, "a")
    assert judge(ANONYMOUS, "oauth2:scope a b") == (Outcome.UNAUTHENTICATED, "a b")


def test_many_alternatives_are_decided_in_time() -> None:
    right = "oauth2:scope " + " ".join(["a|b|c|d"] * 40)
    outcome, scopes = judge(token("d z"), right + " missing|a c")
    assert outcome is Outcome.INSUFFICIENT_SCOPE
    assert "c" in scopes.split()


def test_without_a_token_the_whole_alternative_and_the_baseline_are_named() -> None:
    assert judge(ANONYMOUS, "oauth2:scope b", baseline=("a",)) == (Outcome.UNAUTHENTICATED, "a b")
    assert judge(ANONYMOUS, "authenticated", baseline=("a",)) == (Outcome.UNAUTHENTICATED, "a")
    assert judge(ANONYMOUS, "oauth2:scope b", baseline=("a", "off")) == (Outcome.UNAUTHENTICATED, "a b")


@pytest.mark.parametrize("right", ["nobody knows", "oauth2:scope off", "oauth2:scope missing", "member of"])
@pytest.mark.parametrize("principal", [ANONYMOUS, Principal(authenticated=True, scopes=frozenset({"off", "a"}))])
def test_what_nothing_grants_is_denied_to_everyone(right: str, principal: Principal) -> None:
    assert judge(principal, right, baseline=("a",)) == (Outcome.DENIED, "")


def test_a_disabled_baseline_scope_closes_what_needs_it() -> None:
    assert judge(token("a off"), "authenticated", baseline=("off",)) == (Outcome.DENIED, "")
    assert judge(token("a"), "oauth2:scope a", baseline=("off",)) == (Outcome.ALLOWED, "")


def test_a_right_without_scopes_needs_the_baseline_besides() -> None:
    assert judge(token("a"), "authenticated", baseline=("a", "b")) == (Outcome.INSUFFICIENT_SCOPE, "a b")
    assert judge(token("a b"), "authenticated", baseline=("a", "b")) == (Outcome.ALLOWED, "")
    assert judge(token("z"), "authenticated", baseline=("a", "b")) == (Outcome.ALLOWED, "")


def test_rights_of_several_listeners_are_all_needed() -> None:
    user = get_user_model().objects.create_user("ann")
    rights = ("oauth2:scope a", "oauth2:scope b|c", "member of crew")
    assert judge(token("a b", user), *rights) == (Outcome.DENIED, "")
    user.groups.add(Group.objects.create(name="crew"))
    assert judge(token("a b", user), *rights) == (Outcome.ALLOWED, "")
    assert judge(token("a", user), *rights) == (Outcome.INSUFFICIENT_SCOPE, "a b")


def test_a_user_who_is_not_in_the_group_is_not_asked_for_scopes() -> None:
    user = get_user_model().objects.create_user("ann")
    assert judge(token("", user), "member of crew", baseline=("a",)) == (Outcome.DENIED, "")


@pytest.mark.parametrize("right", ["member of crew", "perm auth.add_user", "staff"])
@pytest.mark.parametrize("user", [None, AnonymousUser(), object()])
def test_a_caller_without_such_a_user_holds_no_users_right(right: str, user: Any) -> None:
    assert judge(token("a", user), right) == (Outcome.DENIED, "")


@pytest.mark.parametrize("right", ["member of crew", "perm auth.add_user", "staff", "authenticated"])
def test_a_disabled_user_holds_nothing(right: str) -> None:
    user = get_user_model().objects.create_superuser("root", is_active=False)
    user.groups.add(Group.objects.create(name="crew"))
    assert judge(token("a", user), right) == (Outcome.DENIED, "")


def test_several_groups() -> None:
    user = get_user_model().objects.create_user("ann")
    for name in ("one", "two words"):
        user.groups.add(Group.objects.create(name=name))
    assert judge(token("", user), 'member of one "two words"|three') == (Outcome.ALLOWED, "")
    assert judge(token("", user), "member of one three") == (Outcome.DENIED, "")


def test_at_a_gate_with_a_session_the_right_stands_alone() -> None:
    user = get_user_model().objects.create_user("ann", is_staff=True)
    snapshot = registry.snapshot()
    for right in ("staff", "authenticated"):
        assert holds_without_token(right, user, snapshot)
        assert not holds_without_token(right, AnonymousUser(), snapshot)
        assert not holds_without_token(right, None, snapshot)
    for right in ("member of crew", "oauth2:scope a", "nobody knows", "staff please", "member of"):
        assert not holds_without_token(right, user, snapshot)


@pytest.mark.parametrize(
    ("right", "told"),
    [
        ("member of crew", "You lack “member of crew”."),
        ("perm auth.delete_user", "You lack “perm auth.delete_user”."),
        ("staff", "You lack “staff”."),
        ("oauth2:scope off", "The scope off does not exist or is disabled."),
        ("oauth2:scope off|gone", "The scope off does not exist or is disabled. The scope gone does not exist"),
        ("oauth2:scope kept", "The scope kept is kept to groups that you are not in."),
        ("member of", "Nobody may"),
        ("owner of secret-shop", "Nobody may"),
    ],
)
def test_where_no_scope_helps_the_reason_is_told(right: str, told: str) -> None:
    Scope.objects.create(name="kept").groups.add(Group.objects.create(name="Secret circle"))
    user = get_user_model().objects.create_user("ada")
    why = decide([right], token("", user), registry.snapshot()).why
    assert why.startswith(told)
    assert "ecret" not in why
    machine = replace(token("", user), acts_for_itself=True)
    assert decide(["staff"], machine, registry.snapshot()).why == "The service user of this client lacks “staff”."


def test_who_has_no_token_is_told_of_the_baseline_that_is_switched_off() -> None:
    decision = decide(["authenticated"], ANONYMOUS, registry.snapshot(), baseline=("off",))
    assert (decision.outcome, decision.why) == (Outcome.DENIED, "The scope off does not exist or is disabled.")
