"""The handed auth cases, over HTTP, in both eras where both have them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone
from oauth2_provider.models import get_access_token_model

from mcp_gateway.models import Endpoint, Scope, Tool
from mcp_gateway.oauth.challenge import challenge
from tests.demo import Demo
from tests.oauth.flow import MCP
from tests.oauth.test_challenge import parameters
from tests.wire import Answer, Wire
from tests.wire_fixtures import demo, era, wire

__all__ = ["demo", "era", "wire"]

METADATA = "http://testserver/.well-known/oauth-protected-resource/mcp"
MakeToken = Callable[..., str]


@pytest.fixture
def guarded(demo: Demo) -> Demo:
    """The fixture tools and two that need scopes: ``demo-wipe`` two of them, ``demo-secret`` one."""
    for name in ("demo:wipe", "demo:secret"):
        Scope.objects.create(name=name)
    demo.add("demo-wipe", lambda event: {}, right="oauth2:scope mcp:tools demo:wipe")
    demo.add("demo-secret", lambda event: {}, right="oauth2:scope demo:secret")
    return demo


def call(wire: Wire, era: str, tool: str, header: str | None = None) -> Answer:
    headers = {} if header is None else {"Authorization": header}
    params = {"name": tool, "arguments": {}}
    if era == "modern":
        return wire.modern("tools/call", params, headers=headers)
    return wire.legacy("tools/call", params, headers=headers)


def listing(wire: Wire, era: str, header: str | None = None) -> Answer:
    headers = {} if header is None else {"Authorization": header}
    return wire.modern("tools/list", headers=headers) if era == "modern" else wire.legacy("tools/list", headers=headers)


@pytest.mark.parametrize("method", ["initialize", "tools/list", "server/discover"])
def test_auth_01_an_endpoint_that_needs_a_token_says_so_at_once(wire: Wire, method: str) -> None:
    Endpoint.objects.update(access="token")
    if method == "initialize":
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "p", "version": "1"}}
        answers = [wire.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})]
    elif method == "tools/list":
        answers = [wire.modern(method), wire.legacy(method)]
    else:
        answers = [wire.modern(method), wire.modern(method, meta={})]
    for answer in answers:
        assert answer.status == 401
        assert parameters(answer.challenge) == {"resource_metadata": METADATA, "scope": "mcp:tools"}
        assert set(answer.json) <= {"jsonrpc", "id", "error"}


def test_auth_03_validity_is_judged_before_scope(wire: Wire, guarded: Demo, make_token: MakeToken, era: str) -> None:
    token = make_token(scope="", expires=timezone.now() - timedelta(hours=1))
    answer = call(wire, era, "demo-wipe", f"Bearer {token}")
    assert answer.status == 401
    assert parameters(answer.challenge)["error"] == "invalid_token"
    assert guarded.calls == []


@pytest.mark.parametrize(
    "header", ["revoked", "Bearer nosuchtoken", "Bearer a\0b", "Bearer \xff", "Bearer ", "Bearer", "", "Basic YTpi"]
)
def test_auth_05_every_401_points_to_the_metadata(wire: Wire, make_token: MakeToken, era: str, header: str) -> None:
    if header == "revoked":
        header = f"Bearer {make_token()}"
        get_access_token_model().objects.get().revoke()
    answer = listing(wire, era, header)
    assert answer.status == 401
    found = parameters(answer.challenge)
    assert (found["error"], found["resource_metadata"]) == ("invalid_token", METADATA)


def test_auth_07_a_token_of_another_server_is_invalid(wire: Wire, make_token: MakeToken, era: str) -> None:
    answer = listing(wire, era, f"Bearer {make_token(resource=['https://other.example/mcp'])}")
    assert answer.status == 401
    assert parameters(answer.challenge)["error"] == "invalid_token"


@pytest.mark.parametrize("proxy_header", [None, ("HTTP_X_FORWARDED_PROTO", "https")])
def test_auth_09_behind_a_tls_proxy_the_audience_is_the_public_url(
    wire: Wire, guarded: Demo, make_token: MakeToken, settings: Any, era: str, proxy_header: tuple[str, str] | None
) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": "https://mcp.example"}
    settings.ALLOWED_HOSTS = ["mcp.example"]
    settings.SECURE_PROXY_SSL_HEADER = proxy_header
    wire.client.defaults.update({"HTTP_HOST": "mcp.example", "HTTP_X_FORWARDED_PROTO": "https"})
    refused = call(wire, era, "demo-secret")
    assert refused.status == 401
    metadata = parameters(refused.challenge)["resource_metadata"]
    assert metadata == "https://mcp.example/.well-known/oauth-protected-resource/mcp"
    document = wire.client.get("/.well-known/oauth-protected-resource/mcp").json()
    assert document["resource"] == "https://mcp.example/mcp"
    assert document["authorization_servers"] == ["https://mcp.example"]
    token = make_token(resource=["https://mcp.example/mcp"], scope="mcp:tools demo:secret")
    assert call(wire, era, "demo-secret", f"Bearer {token}").result["isError"] is False


def test_auth_13_every_challenge_is_one_of_rfc_9110(wire: Wire, make_token: MakeToken, era: str) -> None:
    answer = listing(wire, era, f"Bearer {make_token(expires=timezone.now())}")
    assert parameters(answer.challenge)["error_description"] == "The access token has expired."
    text = 'a "quote", a back\\slash, a letter é\r\n'
    found = parameters(challenge("", trailing_slash=False, scopes=["a", "b"], error="e", description=text))
    assert (found["error_description"], found["scope"]) == ("a 'quote', a back/slash, a letter", "a b")


def test_auth_15_a_call_is_judged_whatever_the_list_shows(
    wire: Wire, guarded: Demo, make_token: MakeToken, era: str
) -> None:
    answer = call(wire, era, "demo-wipe", f"Bearer {make_token()}")
    assert answer.status == 403
    assert parameters(answer.challenge) == {
        "error": "insufficient_scope",
        "error_description": parameters(answer.challenge)["error_description"],
        "resource_metadata": METADATA,
        "scope": "demo:wipe mcp:tools",
    }
    assert guarded.calls == []


@pytest.mark.parametrize("scheme", ["bearer", "BEARER"])
def test_auth_17_the_scheme_has_no_case(wire: Wire, make_token: MakeToken, era: str, scheme: str) -> None:
    assert listing(wire, era, f"{scheme} {make_token()}").result["tools"]


def test_auth_19_ambiguous_credentials_fail_closed(wire: Wire, make_token: MakeToken, era: str) -> None:
    token = make_token()
    assert listing(wire, era, f"Bearer {token}, Bearer {token}").status == 401
    wire.path = f"/mcp?access_token={token}"
    assert listing(wire, era, "Bearer nosuchtoken").status == 401
    wire.path = "/mcp?access_token=nosuchtoken"
    assert listing(wire, era, f"Bearer {token}").status == 200


def test_auth_19_a_token_in_the_query_is_none(wire: Wire, guarded: Demo, make_token: MakeToken, era: str) -> None:
    wire.path = f"/mcp?access_token={make_token(scope='mcp:tools demo:secret')}"
    assert call(wire, era, "demo-secret").status == 401
    assert guarded.calls == []


def test_auth_21_a_malformed_query_is_harmless(wire: Wire, make_token: MakeToken, era: str) -> None:
    wire.path = "/mcp?%zz=1"
    assert listing(wire, era, f"Bearer {make_token()}").result["tools"]


@pytest.mark.parametrize("how", ["disabled", "unmapped", "required and disabled"])
def test_auth_23_a_dangling_scope_closes_the_tool(
    wire: Wire, guarded: Demo, make_token: MakeToken, era: str, how: str
) -> None:
    token = make_token(scope="mcp:tools demo:secret nosuch")
    tool = "demo-secret"
    assert call(wire, era, tool, f"Bearer {token}").status == 200
    guarded.calls.clear()
    if how == "disabled":
        scope = Scope.objects.get(name="demo:secret")
        scope.enabled = False
        scope.save()
    elif how == "unmapped":
        tool = "demo-unmapped"
        guarded.add(tool, lambda event: {}, right="oauth2:scope nosuch")
    else:
        tool = "demo-any"
        gone = Scope.objects.create(name="nosuch", enabled=False)
        Tool.objects.get(name=tool).required_scopes.add(gone)
    answer = call(wire, era, tool, f"Bearer {token}")
    assert answer.status == 403
    assert answer.challenge == ""
    assert guarded.calls == []


def test_a_token_without_audience_is_invalid(wire: Wire, make_token: MakeToken, era: str) -> None:
    answer = listing(wire, era, f"Bearer {make_token(resource=[])}")
    assert (answer.status, parameters(answer.challenge)["error"]) == (401, "invalid_token")


def test_a_disabled_users_token_is_invalid(wire: Wire, make_token: MakeToken, user: Any, era: str) -> None:
    token = make_token()
    user.is_active = False
    user.save()
    answer = listing(wire, era, f"Bearer {token}")
    assert (answer.status, parameters(answer.challenge)["error"]) == (401, "invalid_token")


def test_a_broader_scope_counts_for_what_it_implies(wire: Wire, guarded: Demo, make_token: MakeToken, era: str) -> None:
    broad = Scope.objects.create(name="demo:all")
    broad.implies.add(Scope.objects.get(name="demo:secret"))
    assert call(wire, era, "demo-secret", f"Bearer {make_token(scope='demo:all')}").status == 200


def test_a_group_member_without_the_baseline_is_asked_for_it(
    wire: Wire, demo: Demo, make_token: MakeToken, user: Any, era: str
) -> None:
    demo.add("demo-members", lambda event: {}, right="member of users")
    user.groups.add(Group.objects.get_or_create(name="users")[0])
    answer = call(wire, era, "demo-members", f"Bearer {make_token(scope='')}")
    assert answer.status == 403
    found = parameters(answer.challenge)
    assert (found["error"], found["scope"]) == ("insufficient_scope", "mcp:tools")
    assert call(wire, era, "demo-members", f"Bearer {make_token('other')}").status == 200


def test_the_slash_form_is_the_same_audience_and_names_its_own_document(
    wire: Wire, guarded: Demo, make_token: MakeToken, era: str
) -> None:
    wire.path = "/mcp/"
    refused = call(wire, era, "demo-secret")
    assert parameters(refused.challenge) == {
        "resource_metadata": f"{METADATA}/",
        "scope": "demo:secret mcp:tools",
    }
    token = make_token(scope="demo:secret", resource=[MCP])
    assert call(wire, era, "demo-secret", f"Bearer {token}").status == 200
