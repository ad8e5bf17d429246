"""The audit of refusals: what is written of each, and that nobody fills the table."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError
from django.test import Client as Browser
from oauth2_provider.models import get_application_model

from mcp_gateway.conf import oauth2_provider
from mcp_gateway.models import Client, OAuthEvent, Scope, Tally
from mcp_gateway.oauth import refused_requests
from tests.oauth.flow import MCP, Flow
from tests.oauth.test_machines import FORM, machine

TOKEN = "/oauth/token/"


def refusals() -> list[OAuthEvent]:
    return list(OAuthEvent.objects.filter(kind="refused").order_by("pk"))


def test_a_wrong_secret_is_noted_with_the_client_and_without_the_secret(client: Browser, user: Any) -> None:
    Client.objects.create(application=machine(name="Nightly"), service_user=user)
    assert client.post(TOKEN, {**FORM, "client_secret": "gu3ssed"}).status_code == 401
    (event,) = refusals()
    assert (event.client_name, event.resource) == ("Nightly", MCP)
    assert event.detail.startswith("invalid_client")
    assert "gu3ssed" not in event.detail
    assert event.address == "127.0.0.1"


def test_the_client_is_known_by_its_header_too(client: Browser, db: None) -> None:
    machine()
    form = {key: FORM[key] for key in ("grant_type", "resource")}
    basic = base64.b64encode(b"machine:gu3ssed").decode()
    client.post(TOKEN, form, headers={"Authorization": f"Basic {basic}"})
    client.post(TOKEN, form, headers={"Authorization": "Basic ???"})
    client.post(TOKEN, form, headers={"Authorization": "Bearer x"})
    assert [event.client_id for event in refusals()] == ["machine", ""]


def test_the_reason_is_what_the_client_was_told(client: Browser, db: None) -> None:
    machine()
    client.post(TOKEN, FORM)
    client.post(TOKEN, {**FORM, "resource": "http://elsewhere.example/mcp"})
    first, second = refusals()
    assert first.detail.startswith("unauthorized_client: This client has no service user")
    assert second.detail == "invalid_target: The resource is no MCP endpoint of this site."


def test_a_wrong_verifier_and_a_disabled_clients_refresh_are_noted(flow: Flow, client: Browser) -> None:
    flow.token(code=flow.code(), code_verifier="w" * 43)
    assert refusals()[-1].detail.startswith("invalid_grant")
    refresh = flow.token(code=flow.code()).json()["refresh_token"]
    Client.objects.update_or_create(application=get_application_model().objects.get(), defaults={"enabled": False})
    form = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": flow.client_id}
    client.post(TOKEN, form)
    assert refusals()[-1].client_name == "Robot"
    assert refusals()[-1].detail.startswith("invalid_client")
    assert not any(refresh in event.detail for event in OAuthEvent.objects.all())


def test_nobody_fills_the_table(client: Browser, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refused_requests, "PER_NETWORK", 3)
    monkeypatch.setattr(refused_requests, "PER_HOUR", 5)

    def post(name: str, address: str) -> None:
        client.post(TOKEN, {**FORM, "client_id": name}, REMOTE_ADDR=address)

    for number in range(4):
        post(f"made-up-{number}", "192.0.2.7")
    (event,) = refusals()
    assert event.client_id == ""
    assert event.detail.startswith("invalid_client")
    assert event.detail.endswith("(a client that is not registered)")
    for number in range(4):
        machine(client_id=f"known-{number}", client_secret="other")
        post(f"known-{number}", "192.0.2.7")
    assert len(refusals()) == 3
    for number in range(4):
        post("made-up", f"198.51.100.{number}")
    assert len(refusals()) == 5
    assert "More is refused than is noted" in OAuthEvent.objects.filter(kind="throttled").latest("pk").detail


def test_what_cannot_be_noted_is_refused_all_the_same(
    client: Browser, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any, **_options: Any) -> int:
        raise DatabaseError("full")

    monkeypatch.setattr(Tally, "take", fail)
    assert client.post(TOKEN, FORM).status_code == 401
    assert refusals() == []


def test_a_projects_other_clients_are_not_noted(client: Browser, db: None, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver", SCOPES={"read": "Read posts"})
    form = {"grant_type": "client_credentials", "client_id": "theirs", "client_secret": "x"}
    assert client.post(TOKEN, form).status_code == 401
    assert refusals() == []


def test_a_request_that_the_person_is_not_asked_about_is_noted(flow: Flow) -> None:
    Scope.objects.create(name="orders:read").groups.add(Group.objects.create(name="Buyers"))
    flow.open(scope="orders:read")
    (event,) = refusals()
    assert (event.user, event.client_name, event.resource, event.scopes) == ("ada", "Robot", MCP, "orders:read")
    assert event.detail == "access_denied: The user may not grant any of these scopes."
    flow.open(scope="nosuch")
    assert refusals()[-1].detail.startswith("invalid_scope")
    flow.open(client_id="nosuch")
    assert len(refusals()) == 2


def test_a_machines_token_is_noted_with_the_user_it_acts_as(client: Browser, user: Any) -> None:
    Client.objects.create(application=machine(), service_user=user)
    assert client.post(TOKEN, FORM).status_code == 200
    event = OAuthEvent.objects.get(kind="token_issued")
    assert (event.user, event.client_id, event.detail) == ("ada", "machine", "By itself, as its service user.")
