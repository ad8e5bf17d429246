"""The scopes an administrator defined are what consent, metadata and the toolkit know."""

from __future__ import annotations

from typing import Any

import pytest
from oauth2_provider.scopes import get_scopes_backend

from mcp_gateway import registry
from mcp_gateway.conf import oauth2_provider
from mcp_gateway.models import Client, Endpoint, Scope
from mcp_gateway.oauth import scopes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _only_mcp_tools() -> None:
    Scope.objects.exclude(name="mcp:tools").delete()


@pytest.fixture
def own(settings: Any) -> None:
    """The project has scopes of its own."""
    settings.OAUTH2_PROVIDER = oauth2_provider(
        "http://testserver", SCOPES={"read": "Read your posts", "old": "Old"}, DEFAULT_SCOPES=["read"]
    )


def test_the_toolkit_sees_rows_with_their_consent_texts() -> None:
    Scope.objects.create(name="orders:read", description="Read your orders")
    Scope.objects.create(name="bare")
    Scope.objects.create(name="off", enabled=False)
    backend = get_scopes_backend()
    expected = {"mcp:tools": "Use the tools of this site", "orders:read": "Read your orders", "bare": "bare"}
    assert backend.get_all_scopes() == expected
    assert set(backend.get_available_scopes()) == set(expected)
    assert backend.get_default_scopes() == ["mcp:tools"]


def test_a_change_in_admin_holds_at_once() -> None:
    assert set(get_scopes_backend().get_all_scopes()) == {"mcp:tools"}
    scope = Scope.objects.create(name="orders:read")
    assert "orders:read" in get_scopes_backend().get_all_scopes()
    scope.name = "orders:see"
    scope.save()
    assert "orders:see" in get_scopes_backend().get_all_scopes()
    assert "orders:read" not in get_scopes_backend().get_all_scopes()


@pytest.mark.usefixtures("own")
def test_a_projects_scopes_stay_beside_the_rows() -> None:
    backend = get_scopes_backend()
    assert set(backend.get_all_scopes()) == {"mcp:tools", "read", "old"}
    assert set(backend.get_available_scopes()) == {"mcp:tools", "read", "old"}
    assert backend.get_default_scopes() == ["read"]


@pytest.mark.usefixtures("own")
def test_a_row_that_is_disabled_disables_the_projects_scope_at_our_endpoints() -> None:
    Scope.objects.create(name="old", enabled=False)
    assert set(scopes.available(None, None, registry.snapshot())) == {"mcp:tools", "read"}


def test_defaults_are_the_default_rows_else_the_endpoints_baseline(application: Any) -> None:
    Scope.objects.create(name="orders:read", is_default=True)
    assert scopes.defaults(application, registry.snapshot(), "") == ["mcp:tools", "orders:read"]
    Scope.objects.update(is_default=False)
    assert scopes.defaults(application, registry.snapshot(), "") == ["mcp:tools"]
    Endpoint.objects.get().baseline_scopes.clear()
    assert scopes.defaults(application, registry.snapshot(), "") == []


def test_a_client_that_registered_itself_gets_self_service_scopes_only(application: Any) -> None:
    Scope.objects.create(name="orders:read", is_default=True)
    application.registration_source = "cimd"
    application.save()
    assert scopes.available(application, None, registry.snapshot()) == ["mcp:tools"]
    assert scopes.defaults(application, registry.snapshot()) == ["mcp:tools"]
    row = Client.objects.create(application=application)
    row.allowed_scopes.add(Scope.objects.get(name="orders:read"))
    assert scopes.available(application, None, registry.snapshot()) == []
