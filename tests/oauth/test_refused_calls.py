"""A call that needs more than its token has: who can ask for more is told to, who cannot is told what to do."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client as Browser

from mcp_gateway.models import Client, OAuthEvent, Scope
from mcp_gateway.oauth import personal
from tests.demo import Demo
from tests.oauth.flow import Flow
from tests.wire import Answer, Wire
from tests.wire_fixtures import demo, era

__all__ = ["demo", "era"]


@pytest.fixture
def wire(demo: Demo, settings: Any) -> Wire:
    """A client of an endpoint with a tool for which the everyday scope does not do."""
    Scope.objects.create(name="orders:write", description="Change orders")
    demo.add("orders-change", lambda event: {}, right="oauth2:scope mcp:tools orders:write")
    return Wire()


@pytest.fixture
def stranger(wire: Wire, client: Browser, user: Any) -> Flow:
    """A client that registered itself, at somebody's browser."""
    client.force_login(user)
    metadata = {"redirect_uris": ["https://client.example/callback"], "token_endpoint_auth_method": "none"}
    registered = client.post("/oauth/register/", {**metadata, "client_name": "Stranger"}, "application/json").json()
    flow = Flow(client)
    flow.client_id = registered["client_id"]
    return flow


def said(answer: Answer) -> str:
    return str(answer.json["error"]["message"])


def log_in(flow: Flow, wire: Wire, scope: str) -> str:
    """What a client gets that asks for what the challenge named."""
    answer = flow.token(code=flow.code(scope=scope)).json()
    wire.token = answer["access_token"]
    return str(answer["scope"])


def test_a_stranger_is_told_who_can_let_it_and_then_steps_up(wire: Wire, stranger: Flow, era: str) -> None:
    first = wire.call(era, "orders-change")
    assert first.status == 401
    assert 'scope="mcp:tools orders:write"' in first.challenge
    assert log_in(stranger, wire, "mcp:tools orders:write") == "mcp:tools"
    refused = wire.call(era, "orders-change")
    assert (refused.status, refused.challenge) == (403, "")
    assert "orders:write" in said(refused)
    assert "administrator" in said(refused)
    # Allowing it to the client is no way.
    row = Client.objects.get(application__client_id=stranger.client_id)
    row.allowed_scopes.set(Scope.objects.filter(name__in=["mcp:tools", "orders:write"]))
    assert log_in(stranger, wire, "mcp:tools orders:write") == "mcp:tools"
    # The administrator does, and the very same token is asked for more.
    Scope.objects.filter(name="orders:write").update(self_service=True)
    asked = wire.call(era, "orders-change")
    assert asked.status == 403
    assert 'error="insufficient_scope"' in asked.challenge
    assert log_in(stranger, wire, "mcp:tools orders:write") == "mcp:tools orders:write"
    assert wire.call(era, "orders-change").status == 200


def test_who_lacks_a_right_is_told_which(wire: Wire, demo: Demo, stranger: Flow, era: str) -> None:
    demo.add("crew-only", lambda event: {}, right="member of crew")
    log_in(stranger, wire, "mcp:tools")
    refused = wire.call(era, "crew-only")
    assert (refused.status, refused.challenge) == (403, "")
    assert "no scope that you could ask for would change that. You lack “member of crew”." in said(refused)


def test_a_personal_token_is_not_sent_to_ask_for_what_it_cannot_get(wire: Wire, user: Any, rf: Any, era: str) -> None:
    Scope.objects.update(self_service=True)
    _row, wire.token = personal.make(
        user=user, name="Editor", slug="", scopes=["mcp:tools"], days=7, made_by=user, meta=rf.get("/").META
    )
    refused = wire.call(era, "orders-change")
    assert (refused.status, refused.challenge) == (403, "")
    assert "orders:write" in said(refused)
    assert "new token" in said(refused)


@pytest.mark.parametrize("self_service", [True, False])
def test_the_trail_names_the_client_of_a_refused_call(wire: Wire, stranger: Flow, self_service: bool) -> None:
    log_in(stranger, wire, "mcp:tools")
    Scope.objects.filter(name="orders:write").update(self_service=self_service)
    wire.call("modern", "orders-change")
    event = OAuthEvent.objects.get(kind="insufficient_scope")
    assert (event.client_name, event.client_id, event.user) == ("Stranger", stranger.client_id, "ada")
    assert "orders:write" in event.scopes


def test_the_trail_names_the_client_whose_change_was_refused(wire: Wire, stranger: Flow, client: Browser) -> None:
    metadata = {"redirect_uris": ["https://client.example/callback"], "client_name": "Other"}
    made = client.post("/oauth/register/", metadata, "application/json").json()
    changed = {"client_id": made["client_id"], "redirect_uris": ["http://evil.example/"]}
    headers = {"Authorization": f"Bearer {made['registration_access_token']}"}
    response = client.put(made["registration_client_uri"], changed, "application/json", headers=headers)
    assert response.status_code == 400
    assert OAuthEvent.objects.get(kind="registration_refused").client_name == "Other"
