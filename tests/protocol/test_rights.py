"""Rights over the wire: 401 and 403 with challenges that a client can act on."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission

from mcp_gateway.models import Endpoint, Scope, Tool
from tests.demo import Demo
from tests.wire import Wire, issue_token

METADATA = 'resource_metadata="http://testserver/.well-known/oauth-protected-resource/mcp"'


@pytest.fixture
def user(db: None) -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def secret(demo: Demo) -> Demo:
    Scope.objects.create(name="orders:read")
    demo.add("demo-secret", lambda event: {}, right="oauth2:scope mcp:tools orders:read")
    return demo


def challenge_of(answer: Any) -> dict[str, str]:
    scheme, _, parameters = answer.challenge.partition(" ")
    assert scheme == "Bearer"
    return {name: value.strip('"') for name, _, value in (pair.partition("=") for pair in parameters.split(", "))}


def test_no_token_is_401_with_all_scopes_the_call_needs(wire: Wire, secret: Demo, era: str) -> None:
    answer = wire.call(era, "demo-secret")
    assert answer.status == 401
    assert answer.challenge == f'Bearer {METADATA}, scope="mcp:tools orders:read"'
    assert answer.code == 401
    assert answer.json["id"] == 1
    assert secret.calls == []


def test_the_spelling_with_a_slash_names_its_own_metadata(wire: Wire, secret: Demo, era: str) -> None:
    wire.path = "/mcp/"
    assert challenge_of(wire.call(era, "demo-secret"))["resource_metadata"].endswith("/oauth-protected-resource/mcp/")


def test_a_token_that_lacks_a_scope_is_403_with_all_of_them(wire: Wire, secret: Demo, user: Any, era: str) -> None:
    wire.token = issue_token(user, "mcp:tools")
    answer = wire.call(era, "demo-secret")
    assert answer.status == 403
    assert answer.code == 403
    challenge = challenge_of(answer)
    assert challenge["error"] == "insufficient_scope"
    assert challenge["scope"] == "mcp:tools orders:read"
    assert METADATA in answer.challenge
    assert secret.calls == []


def test_a_token_with_every_scope_may_call(wire: Wire, secret: Demo, user: Any, era: str) -> None:
    wire.token = issue_token(user, "orders:read mcp:tools other")
    assert wire.call(era, "demo-secret").result["isError"] is False
    (event,) = secret.calls
    assert event.user == user
    assert event.auth is not None
    assert event.auth.scopes == {"orders:read", "mcp:tools", "other"}


def test_a_scope_that_implies_the_needed_one_counts(wire: Wire, secret: Demo, user: Any, era: str) -> None:
    broad = Scope.objects.create(name="everything")
    broad.implies.set(Scope.objects.filter(name__in=["mcp:tools", "orders:read"]))
    wire.token = issue_token(user, "everything")
    assert wire.call(era, "demo-secret").result["isError"] is False


def test_a_disabled_scope_closes_what_needs_it(wire: Wire, secret: Demo, user: Any, era: str) -> None:
    wire.token = issue_token(user, "mcp:tools orders:read")
    Scope.objects.filter(name="orders:read").update(enabled=False)
    answer = wire.call(era, "demo-secret")
    assert answer.status == 403
    assert answer.challenge == ""
    # Logging in would change nothing, so nobody is sent to do it.
    anonymous = Wire().call(era, "demo-secret")
    assert (anonymous.status, anonymous.challenge) == (403, "")


def test_a_group_right_needs_the_baseline_scopes_besides(wire: Wire, demo: Demo, user: Any, era: str) -> None:
    demo.add("demo-members", lambda event: {}, right="member of crew")
    answer = wire.call(era, "demo-members")
    assert (answer.status, challenge_of(answer)["scope"]) == (401, "mcp:tools")
    wire.token = issue_token(user, "mcp:tools")
    stranger = wire.call(era, "demo-members")
    assert (stranger.status, stranger.challenge) == (403, "")
    user.groups.add(Group.objects.create(name="crew"))
    assert wire.call(era, "demo-members").result["isError"] is False
    wire.token = issue_token(user, "")
    member = wire.call(era, "demo-members")
    assert member.status == 403
    assert challenge_of(member)["error"] == "insufficient_scope"
    assert challenge_of(member)["scope"] == "mcp:tools"


def test_a_group_right_costs_one_more_statement(
    wire: Wire, demo: Demo, user: Any, era: str, django_assert_num_queries: Any
) -> None:
    demo.add("demo-members", lambda event: {}, right="member of crew", atomic=False)
    user.groups.add(Group.objects.create(name="crew"))
    wire.token = issue_token(user, "mcp:tools")
    wire.call(era, "demo-members")
    with django_assert_num_queries(2):
        wire.call(era, "demo-members")


def test_a_scope_right_costs_no_further_statement(
    wire: Wire, demo: Demo, user: Any, era: str, django_assert_num_queries: Any
) -> None:
    demo.add("demo-scoped", lambda event: {}, right="oauth2:scope mcp:tools", atomic=False)
    wire.token = issue_token(user, "mcp:tools")
    wire.call(era, "demo-scoped")
    with django_assert_num_queries(1):
        wire.call(era, "demo-scoped")


@pytest.mark.parametrize("right", ["perm auth.add_user", "staff", "authenticated"])
def test_other_rights_of_the_user(wire: Wire, demo: Demo, user: Any, era: str, right: str) -> None:
    demo.add("demo-right", lambda event: {}, right=right)
    assert wire.call(era, "demo-right").status == 401
    wire.token = issue_token(user, "mcp:tools")
    assert wire.call(era, "demo-right").status == (200 if right == "authenticated" else 403)
    user.user_permissions.add(Permission.objects.get(codename="add_user"))
    user.is_staff = True
    user.save()
    assert wire.call(era, "demo-right").result["isError"] is False


@pytest.mark.parametrize(
    "right", ["nobody knows this", "oauth2:scope", "member of", "staff please", "oauth2:scope no-such"]
)
def test_a_right_that_nothing_grants_is_a_plain_403_for_everyone(
    wire: Wire, demo: Demo, user: Any, era: str, right: str
) -> None:
    demo.add("demo-closed", lambda event: {}, right=right)
    assert (wire.call(era, "demo-closed").status, wire.call(era, "demo-closed").challenge) == (403, "")
    wire.token = issue_token(user, "mcp:tools no-such")
    assert (wire.call(era, "demo-closed").status, wire.call(era, "demo-closed").challenge) == (403, "")
    assert demo.calls == []


def test_a_call_needs_the_rights_of_every_listener_it_would_reach(wire: Wire, demo: Demo, user: Any, era: str) -> None:
    demo.add("demo-two", lambda event: {})
    demo.listen("demo-two", right="oauth2:scope mcp:tools", priority=0.1)
    assert wire.call(era, "demo-two").status == 401
    wire.token = issue_token(user, "mcp:tools")
    assert wire.call(era, "demo-two").result["isError"] is False
    assert len(demo.calls) == 2


@pytest.mark.parametrize(
    ("rights_from", "needed"),
    [("both", "mcp:tools orders:read"), ("manifest", "mcp:tools"), ("administrator", "mcp:tools orders:read")],
)
def test_an_administrators_scope_holds_for_the_next_request(
    wire: Wire, demo: Demo, user: Any, era: str, rights_from: str, needed: str
) -> None:
    tool = demo.add("demo-tied", lambda event: {}, right="oauth2:scope mcp:tools")
    wire.token = issue_token(user, "mcp:tools")
    assert wire.call(era, "demo-tied").result["isError"] is False
    scope = Scope.objects.create(name="orders:read")
    tool.rights_from = rights_from
    tool.save()
    tool.required_scopes.add(scope)
    answer = wire.call(era, "demo-tied")
    assert answer.status == (200 if rights_from == "manifest" else 403)
    assert challenge_of(Wire().call(era, "demo-tied"))["scope"] == needed
    scope.name = "orders:write"
    scope.save()
    if rights_from != "manifest":
        assert challenge_of(wire.call(era, "demo-tied"))["scope"] == "mcp:tools orders:write"


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer ", "Bearer x", "Basic YTpi", "Bearer a, Bearer b", "Bearer é"]
)
@pytest.mark.parametrize("method", ["tools/list", "initialize", "notifications/initialized"])
def test_a_header_that_is_no_valid_token_is_401_also_where_none_is_needed(
    wire: Wire, authorization: str, method: str
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": method}
    answer = wire.post(body, {"Authorization": authorization})
    assert answer.status == 401
    assert challenge_of(answer)["error"] == "invalid_token"
    assert challenge_of(answer)["scope"] == "mcp:tools"
    # Judged before the body is read.
    assert "id" not in answer.json


def test_a_scope_nobody_can_get_is_not_asked_for(wire: Wire) -> None:
    Scope.objects.filter(name="mcp:tools").update(enabled=False)
    assert "scope" not in challenge_of(wire.post(b"", {"Authorization": "Bearer x"}))


def test_an_invalid_token_is_refused_before_the_body_is_read(wire: Wire) -> None:
    assert wire.post("{", {"Authorization": "Bearer x"}).status == 401


def test_a_token_counts_in_the_header_only(wire: Wire, secret: Demo, user: Any) -> None:
    token = issue_token(user, "mcp:tools orders:read")
    wire.path = f"/mcp?access_token={token}"
    answer = wire.call("legacy", "demo-secret", {"access_token": token})
    assert answer.status == 401


@pytest.mark.parametrize("method", ["tools/list", "initialize", "ping", "notifications/x", "foo/bar"])
def test_an_endpoint_that_needs_a_token_answers_nothing_without_one(wire: Wire, user: Any, method: str) -> None:
    Endpoint.objects.update(access=Endpoint.Access.TOKEN)
    body = {"jsonrpc": "2.0", "id": 1, "method": method}
    anonymous = wire.post(body)
    assert anonymous.status == 401
    assert anonymous.challenge == f'Bearer {METADATA}, scope="mcp:tools"'
    assert wire.post("{").status == 401
    wire.token = issue_token(user, "other")
    poor = wire.post(body)
    assert poor.status == 403
    assert challenge_of(poor)["error"] == "insufficient_scope"
    assert challenge_of(poor)["scope"] == "mcp:tools"
    wire.token = issue_token(user, "mcp:tools")
    assert wire.post(body).status == 200


def test_rights_come_after_the_tool_and_before_its_arguments(wire: Wire, secret: Demo, era: str) -> None:
    assert wire.call(era, "demo-nope", []).code == -32602
    assert wire.call(era, "demo-secret", []).status == 401


def test_listed_tools_are_listed_whatever_a_call_needs(wire: Wire, secret: Demo, era: str) -> None:
    assert "demo-secret" in [tool["name"] for tool in wire.request(era, "tools/list").result["tools"]]


def test_a_token_of_one_endpoint_is_invalid_at_another(wire: Wire, user: Any, era: str) -> None:
    Endpoint.objects.create(slug="other")
    wire.token = issue_token(user, "mcp:tools")
    wire.path = "/mcp/other"
    answer = wire.request(era, "tools/list")
    assert answer.status == 401
    assert "/oauth-protected-resource/mcp/other" in answer.challenge
    wire.token = issue_token(user, "mcp:tools", slug="other")
    assert wire.request(era, "tools/list").result["tools"]
    assert Tool.objects.exists()
