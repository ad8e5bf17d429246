"""Scopes that an administrator keeps to members of groups."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from mcp_gateway import registry
from mcp_gateway.models import Scope
from mcp_gateway.rights import Outcome, Principal, decide, not_grantable

Queries = Any


@pytest.fixture
def traders(db: None) -> Group:
    """The group that the scope ``orders:write`` is kept to; ``orders:all`` implies that scope."""
    group = Group.objects.create(name="traders")
    write = Scope.objects.create(name="orders:write")
    write.groups.add(group)
    Scope.objects.create(name="orders:all").implies.add(write)
    return group


@pytest.fixture
def user(db: None) -> Any:
    return get_user_model().objects.create_user("ada")


def test_only_members_may_grant_it_and_what_implies_it(traders: Group, user: Any) -> None:
    asked = ["mcp:tools", "orders:write", "orders:all", "unknown"]
    assert not_grantable(user, asked, registry.snapshot()) == {"orders:write", "orders:all"}
    assert not_grantable(None, asked, registry.snapshot()) == {"orders:write", "orders:all"}
    user.groups.add(traders)
    assert not_grantable(user, asked, registry.snapshot()) == frozenset()


def test_a_member_of_any_of_its_groups_may(traders: Group, user: Any) -> None:
    clerks = Group.objects.create(name="clerks")
    user.groups.add(clerks)
    assert not_grantable(user, ["orders:write"], registry.snapshot())
    Scope.objects.get(name="orders:write").groups.add(clerks)
    assert not not_grantable(user, ["orders:write"], registry.snapshot())


def test_who_implies_two_needs_a_group_of_each(traders: Group, user: Any) -> None:
    clerks = Group.objects.create(name="clerks")
    Scope.objects.get(name="orders:all").groups.add(clerks)
    user.groups.add(clerks)
    assert not_grantable(user, ["orders:all"], registry.snapshot())
    user.groups.add(traders)
    assert not not_grantable(user, ["orders:all"], registry.snapshot())


def test_it_costs_a_statement_only_where_such_a_scope_is_asked_for(
    traders: Group, user: Any, django_assert_num_queries: Queries
) -> None:
    snapshot = registry.snapshot()
    with django_assert_num_queries(0):
        not_grantable(user, ["mcp:tools"], snapshot)
    with django_assert_num_queries(1):
        not_grantable(user, ["mcp:tools", "orders:write", "orders:all"], snapshot)


def test_a_client_is_not_sent_for_a_scope_that_its_user_may_not_grant(traders: Group, user: Any) -> None:
    caller = Principal(user=user, scopes=frozenset({"mcp:tools"}), authenticated=True)
    right = ["oauth2:scope mcp:tools orders:write"]
    assert decide(right, caller, registry.snapshot()).outcome is Outcome.DENIED
    user.groups.add(traders)
    decision = decide(right, caller, registry.snapshot())
    assert (decision.outcome, decision.scopes) == (Outcome.INSUFFICIENT_SCOPE, ("mcp:tools", "orders:write"))
