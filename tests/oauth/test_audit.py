"""The audit trail: what is written, what never is, and that it keeps nobody from going on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client as Browser
from django.utils import timezone

from mcp_gateway.models import Endpoint, OAuthEvent, Scope
from mcp_gateway.oauth.address import client_address, network
from mcp_gateway.oauth.audit import Kind, record

pytestmark = pytest.mark.django_db


def test_an_entry_says_who_what_where_and_whence(user: Any, application: Any) -> None:
    record(
        Kind.CONSENT_GRANTED,
        {"REMOTE_ADDR": "192.0.2.7"},
        user=user,
        application=application,
        resource="http://testserver/mcp",
        scopes=["mcp:tools", "orders:read"],
    )
    event = OAuthEvent.objects.get()
    assert (event.kind, event.user, event.client_id, event.client_name) == ("consent_granted", "ada", "robot", "Robot")
    assert (event.resource, event.scopes, event.address) == (
        "http://testserver/mcp",
        "mcp:tools orders:read",
        "192.0.2.7",
    )


def test_what_a_stranger_sends_fits_its_column() -> None:
    record(Kind.DOCUMENT_REFUSED, {"REMOTE_ADDR": "x" * 99}, client_id="https://\0" + "x" * 999, detail="y" * 9999)
    event = OAuthEvent.objects.get()
    assert (len(event.client_id), len(event.detail), event.address) == (255, 500, "")
    assert "\0" not in event.client_id


def test_the_trail_outlives_what_it_tells_about(user: Any, application: Any) -> None:
    record(Kind.TOKEN_ISSUED, user=user, application=application)
    application.delete()
    user.delete()
    assert OAuthEvent.objects.get().client_id == "robot"


def test_equal_entries_are_written_once_in_a_while_where_asked() -> None:
    for detail in ("a", "a", "b"):
        record(Kind.THROTTLED, detail=detail, once_in=60)
    assert [event.detail for event in OAuthEvent.objects.order_by("pk")] == ["a", "b"]


def test_an_entry_that_cannot_be_written_is_only_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_arguments: Any, **_options: Any) -> None:
        raise DatabaseError("full")

    monkeypatch.setattr(OAuthEvent, "save", fail)
    record(Kind.REVOKED)
    assert "could not be written" in caplog.text


@pytest.mark.parametrize(
    ("proxies", "meta", "address"),
    [
        (0, {"REMOTE_ADDR": "192.0.2.7"}, "192.0.2.7"),
        (0, {"REMOTE_ADDR": "192.0.2.7", "HTTP_X_FORWARDED_FOR": "198.51.100.1"}, "192.0.2.7"),
        (1, {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "6.6.6.6, 198.51.100.1"}, "198.51.100.1"),
        (2, {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "6.6.6.6, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"),
        (1, {"REMOTE_ADDR": "10.0.0.1"}, "10.0.0.1"),
        (1, {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "nonsense"}, "10.0.0.1"),
        (1, {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "198.51.100.1:4711"}, "198.51.100.1"),
        (1, {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "[2001:db8::7]:4711"}, "2001:db8::7"),
        (0, {"REMOTE_ADDR": "::ffff:192.0.2.7"}, "192.0.2.7"),
        (0, {"REMOTE_ADDR": ""}, ""),
        (0, {}, ""),
    ],
)
def test_the_address_is_the_one_that_a_proxy_of_ours_saw(
    settings: Any, proxies: int, meta: dict[str, str], address: str
) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PROXIES": proxies}
    assert client_address(meta) == address


def test_a_subscribers_whole_network_counts_as_one() -> None:
    assert network("2001:db8:1:2:3:4:5:6") == network("2001:db8:1:2::1") == "2001:db8:1:2::/64"
    assert network("192.0.2.7") == "192.0.2.7"
    assert network("") == ""


def test_a_call_that_needs_more_scopes_is_told_of_once_a_minute(
    client: Browser, make_token: Callable[..., str]
) -> None:
    Scope.objects.create(name="orders:admin")
    endpoint = Endpoint.objects.get()
    endpoint.access = Endpoint.Access.TOKEN
    endpoint.save()
    endpoint.baseline_scopes.set(Scope.objects.filter(name="orders:admin"))
    token = make_token()
    for _time in range(2):
        response = client.post("/mcp", "{}", content_type="application/json", HTTP_AUTHORIZATION=f"Bearer {token}")
        assert response.status_code == 403
    event = OAuthEvent.objects.get(kind="insufficient_scope")
    assert (event.user, event.client_id, event.scopes) == ("ada", "robot", "orders:admin")
    assert event.resource == "http://testserver/mcp"


def test_old_entries_go(settings: Any) -> None:
    record(Kind.REVOKED, detail="old")
    OAuthEvent.objects.update(at=timezone.now() - timedelta(days=31))
    settings.ZOLINGA = {**settings.ZOLINGA, "AUDIT_DAYS": 30}
    for _time in range(200):
        record(Kind.REVOKED, detail="new")
    assert not OAuthEvent.objects.filter(detail="old").exists()
    assert OAuthEvent.objects.filter(detail="new").count() == 200
