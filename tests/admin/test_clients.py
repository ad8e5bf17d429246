"""Clients in admin: where each comes from, whether it was ever used, and what an administrator can do about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client as Browser
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model

from mcp_gateway.models import Client, Scope
from mcp_gateway.registry import snapshot
from tests.admin.test_pages import text_of

DOCUMENT = "https://agent.example/client.json"


@pytest.fixture
def user(db: None) -> Any:
    return get_user_model().objects.create_user("robot")


@pytest.fixture
def make(db: None) -> Callable[..., Client]:
    """A client that came by itself, unless it says otherwise."""

    def run(source: str = "dcr", **fields: Any) -> Client:
        application = get_application_model().objects.create(
            name=f"Agent {source}",
            client_id=DOCUMENT if source == "cimd" else f"agent-{source}",
            client_type="public",
            authorization_grant_type="authorization-code",
            registration_source=source,
            cimd_expires_at=timezone.now() if source == "cimd" else None,
        )
        registered = None if source == "manual" else timezone.now()
        return Client.objects.create(**{"application": application, "registered_at": registered, **fields})

    return run


def test_the_list_says_where_each_came_from_and_what_was_never_used(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client]
) -> None:
    make("manual")
    make("dcr")
    make("cimd", last_used=timezone.now() - timedelta(days=1))
    text = text_of(admin_client.get(page("client")))
    for words in ("made by an administrator", "registered itself", "its document", "agent.example", "never used"):
        assert words in text
    for query, names in (
        ({"origin": "cimd"}, {"Agent cimd"}),
        ({"used": "never"}, {"Agent dcr"}),
        ({"used": "yes"}, {"Agent cimd"}),
    ):
        rows = admin_client.get(page("client"), query).context["cl"].result_list
        assert {row.application.name for row in rows} == names


def test_a_clients_page_shows_its_document_and_what_it_says_of_itself(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client]
) -> None:
    row = make("cimd", registration='{"client_name": "<b>Agent</b>"}')
    text = text_of(admin_client.get(page("client", row)))
    assert DOCUMENT in text
    assert f'href="{DOCUMENT}"' not in text
    assert "&lt;b&gt;Agent&lt;/b&gt;" in text
    for field in ("jwks", "jwks_uri", "auth_method"):
        assert f'name="{field}"' not in text


def test_approval_and_disabling_hold_at_once(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client]
) -> None:
    row = make("dcr", enabled=False, awaits_approval=True)
    assert "awaits approval" in text_of(admin_client.get(page("client")))

    def act(action: str) -> Client:
        admin_client.post(page("client"), {"action": action, "_selected_action": [row.pk]})
        row.refresh_from_db()
        return row

    assert (act("enable").enabled, row.awaits_approval) == (True, False)
    assert row.application_id not in snapshot().clients
    assert (act("disable").enabled, row.awaits_approval) == (False, False)
    assert snapshot().clients[row.application_id].enabled is False


def test_who_switched_a_client_is_said_and_kept(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client]
) -> None:
    row = make("dcr", enabled=False, awaits_approval=True)
    for action, words in (("enable", "enabled."), ("disable", "disabled.")):
        sent = {"action": action, "_selected_action": [row.pk]}
        assert f"1 client was {words}" in text_of(admin_client.post(page("client"), sent, follow=True))
        assert words.capitalize() in text_of(admin_client.get(page("client", row, "history")))
    assert "0 clients were disabled." in text_of(
        admin_client.post(page("client"), {"action": "disable", "_selected_action": [row.pk]}, follow=True)
    )


def test_a_client_is_added_for_an_application_that_has_none(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client]
) -> None:
    make("dcr")
    other = get_application_model().objects.create(
        name="Helpdesk", client_id="helpdesk", authorization_grant_type="authorization-code"
    )
    text = text_of(admin_client.get(page("client", view="add")))
    assert "make it under Applications first" in text
    assert f'<option value="{other.pk}">Helpdesk' in text
    assert "Agent dcr" not in text


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"jwks": "{"}, "This is no JSON."),
        ({"jwks": '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'}, "public keys only"),
        ({"jwks_uri": "http://agent.example/keys"}, "must be https"),
        ({"auth_method": "private_key_jwt"}, "Without keys"),
    ],
)
def test_keys_that_cannot_be_used_are_refused_with_the_reason(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client], fields: dict[str, str], problem: str
) -> None:
    row = make("manual")
    response = admin_client.post(page("client", row), {"enabled": "on", **fields})
    assert response.status_code == 200
    assert problem in text_of(response)


def test_an_administrator_gives_a_client_its_keys(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client]
) -> None:
    row = make("manual")
    fields = {"enabled": "on", "auth_method": "private_key_jwt", "jwks_uri": "https://agent.example/keys"}
    assert admin_client.post(page("client", row), fields).status_code == 302
    row.refresh_from_db()
    assert (row.auth_method, row.jwks_uri) == ("private_key_jwt", "https://agent.example/keys")


def test_a_machine_without_a_service_user_is_pointed_out_where_it_is_made_and_shown(
    admin_client: Browser, page: Callable[..., str], user: Any
) -> None:
    machine = get_application_model().objects.create(
        name="Night job", client_type="confidential", authorization_grant_type="client-credentials"
    )
    fields = {"application": machine.pk, "enabled": "on", "auth_method": "client_secret_basic"}
    answer = admin_client.post(f"{page('client')}add/", fields, follow=True)
    assert "This client gets no token: This client has no service user" in text_of(answer)
    row = Client.objects.get()
    for shown in (page("client"), page("client", row)):
        assert "gets no token" in text_of(admin_client.get(shown))
    answer = admin_client.post(page("client", row), {**fields, "service_user": user.pk}, follow=True)
    assert "gets no token" not in text_of(answer)
    user.is_active = False
    user.save()
    assert "The service user of this client is disabled" in text_of(admin_client.get(page("client")))


def test_who_registered_itself_is_given_no_service_user(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client], user: Any
) -> None:
    row = make("dcr")
    assert 'name="service_user"' not in text_of(admin_client.get(page("client", row)))
    admin_client.post(page("client", row), {"enabled": "on", "service_user": user.pk})
    row.refresh_from_db()
    assert row.service_user is None


def test_a_client_that_came_by_itself_is_offered_what_it_may_have(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client], scope: Scope
) -> None:
    row = make("dcr")
    assert "self-service scopes" in text_of(admin_client.get(page("client")))
    text = text_of(admin_client.get(page("client", row)))
    assert "it may ask for self-service scopes alone" in text
    assert "orders:read" not in text
    admin_client.post(page("client", row), {"enabled": "on", "allowed_scopes": [scope.pk]})
    assert not row.allowed_scopes.exists()
    row.allowed_scopes.add(scope)
    assert "no scope: none is self-service" in text_of(admin_client.get(page("client")))
    assert "orders:read" in text_of(admin_client.get(page("client", row)))
    Scope.objects.update(self_service=True)
    answer = admin_client.post(page("client", row), {"enabled": "on", "allowed_scopes": [scope.pk]})
    assert answer.status_code == 302
    assert list(row.allowed_scopes.all()) == [scope]


def test_an_application_made_in_admin_is_offered_every_scope(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client], scope: Scope
) -> None:
    row = make("manual")
    assert "every scope" in text_of(admin_client.get(page("client")))
    assert "orders:read" in text_of(admin_client.get(page("client", row)))


@pytest.mark.parametrize("source", ["dcr", "cimd"])
@pytest.mark.parametrize("of_several", [False, True])
def test_a_client_that_registered_itself_goes_with_its_application_and_tokens(
    admin_client: Browser,
    page: Callable[..., str],
    make: Callable[..., Client],
    user: Any,
    source: str,
    of_several: bool,
) -> None:
    row = make(source, enabled=source == "cimd")
    get_access_token_model().objects.create(
        user=user, application=row.application, token="t0ken", expires=timezone.now() + timedelta(days=1)
    )
    address = page("client") if of_several else page("client", row, "delete")
    sent = {"action": "delete_selected"} | selected(row) if of_several else {}
    asked = admin_client.post(address, sent) if of_several else admin_client.get(address)
    assert "and its tokens" in text_of(asked)
    assert admin_client.post(address, {**sent, "post": "yes"}).status_code == 302
    assert not get_application_model().objects.exists()
    assert not get_access_token_model().objects.exists()


def selected(row: Client) -> dict[str, Any]:
    return {"_selected_action": [row.pk]}


def test_what_keeps_a_client_from_something_is_not_deleted(
    admin_client: Browser, page: Callable[..., str], make: Callable[..., Client], scope: Scope
) -> None:
    limited = make("manual")
    limited.allowed_scopes.add(scope)
    for row, told in ((limited, "every scope"), (make("cimd", enabled=False), "would come back")):
        address = page("client", row, "delete")
        assert told in text_of(admin_client.get(address))
        admin_client.post(address, {"post": "yes"})
        admin_client.post(page("client"), {"action": "delete_selected", "post": "yes"} | selected(row))
        assert Client.objects.filter(pk=row.pk).exists()
    limited.allowed_scopes.clear()
    assert admin_client.post(page("client", limited, "delete"), {"post": "yes"}).status_code == 302
    assert get_application_model().objects.filter(pk=limited.application_id).exists()
    disabled = Client.objects.create(application=limited.application, enabled=False)
    assert "would be enabled" in text_of(admin_client.get(page("client", disabled, "delete")))
    application = page("client").replace("mcp_gateway/client", "oauth2_provider/application")
    assert admin_client.post(f"{application}{limited.application_id}/delete/", {"post": "yes"}).status_code == 302
    assert not Client.objects.filter(pk=disabled.pk).exists()
