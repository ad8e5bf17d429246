"""The audit trail in admin: to read, to search, never to change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client as Browser

from mcp_gateway.models import OAuthEvent
from mcp_gateway.oauth.audit import Kind, record
from tests.admin.test_pages import text_of


@pytest.fixture
def event(db: None) -> OAuthEvent:
    """Somebody was refused."""
    record(Kind.THROTTLED, {"REMOTE_ADDR": "192.0.2.7"}, client_id="robot", detail="Too many registrations.")
    return OAuthEvent.objects.get()


def test_the_trail_is_read_only(admin_client: Browser, page: Callable[..., str], event: OAuthEvent) -> None:
    listed = text_of(admin_client.get(page("oauthevent"), {"q": "robot"}))
    for text in ("throttled", "192.0.2.7", "Too many registrations."):
        assert text in listed
    assert "delete_selected" not in listed
    shown = text_of(admin_client.get(page("oauthevent", event)))
    assert "Too many registrations." in shown
    assert 'name="_save"' not in shown
    assert admin_client.post(page("oauthevent", event), {}).status_code == 403
    assert admin_client.get(page("oauthevent", view="add")).status_code == 403
    assert admin_client.post(page("oauthevent", event, "delete"), {"post": "yes"}).status_code == 403


def test_the_gateways_administrators_may_read_it(staff: Callable[..., Browser], page: Callable[..., str]) -> None:
    assert staff().get(page("oauthevent")).status_code == 200
