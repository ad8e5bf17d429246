"""Clients that a metadata document describes: whose is read, when it is read again, and what it can bring about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model

from mcp_gateway.models import Client, OAuthEvent, Scope, Tally
from mcp_gateway.oauth import documents, registration
from tests.oauth import web
from tests.oauth.flow import MCP, Flow
from tests.oauth.test_registration import DEVICE, JWT_BEARER, limit
from tests.oauth.web import Web

pytestmark = pytest.mark.django_db

FETCHER = "tests.oauth.web.LocalFetcher"
CLIENT = "https://client.test/oauth/client.json"
CALLBACK = "https://client.test/callback"

# The documents of real clients, at our address.
REAL: dict[str, dict[str, Any]] = {
    "Claude": {
        "client_name": "Claude",
        "client_uri": "https://claude.ai",
        "redirect_uris": ["https://claude.ai/api/mcp/auth_callback", CALLBACK],
        "grant_types": ["authorization_code", "refresh_token", JWT_BEARER],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    },
    "Claude Code": {
        "client_name": "Claude Code",
        "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback", CALLBACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    },
    "VS Code": {
        "client_name": "Visual Studio Code",
        "grant_types": ["authorization_code", "refresh_token", DEVICE],
        "response_types": ["code"],
        "redirect_uris": ["https://vscode.dev/redirect", "http://127.0.0.1:33418/", CALLBACK],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    },
    "ChatGPT": {
        "client_uri": "https://chatgpt.com/",
        "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect", CALLBACK],
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "client_name": "ChatGPT",
        "token_endpoint_auth_signing_alg": "RS256",
        "jwks_uri": "https://client.test/oauth/jwks.json",
    },
    "the specification's example": {
        "client_name": "Example MCP Client",
        "client_uri": "https://app.example.com",
        "logo_uri": "https://app.example.com/logo.png",
        "redirect_uris": ["http://127.0.0.1:3000/callback", "http://localhost:3000/callback", CALLBACK],
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    },
    "one that says the least": {"client_name": "Robot", "redirect_uris": [CALLBACK]},
}


@pytest.fixture(autouse=True)
def _local(settings: Any, internet: Web) -> None:
    internet.asked.clear()
    internet.pages.clear()
    limit(settings, FETCHER=FETCHER)


@pytest.fixture
def publish(internet: Web) -> Callable[..., str]:
    """Publish a document; gives the client ID."""

    def put(document: dict[str, Any] | None = None, path: str = "/oauth/client.json", **members: Any) -> str:
        url = f"https://{web.HOST}{path}"
        whole = {"client_id": url, **(document or REAL["one that says the least"]), **members}
        headers = {"Cache-Control": "max-age=600"}
        return internet.put(path, {name: value for name, value in whole.items() if value is not None}, headers=headers)

    return put


def ask(flow: Flow, client_id: str, **parameters: Any) -> Any:
    return flow.open(**{"client_id": client_id, "redirect_uri": CALLBACK, **parameters})


def enter(flow: Flow, client_id: str) -> dict[str, Any]:
    """Consent and exchange; what the token endpoint answered."""
    code = flow.answer(flow.press(ask(flow, client_id), "Allow"))["code"]
    response = flow.token(client_id=client_id, redirect_uri=CALLBACK, code=code)
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


@pytest.mark.parametrize("name", REAL)
def test_the_documents_of_real_clients_let_them_in(flow: Flow, publish: Callable[..., str], name: str) -> None:
    client_id = publish(REAL[name])
    token = enter(flow, client_id)
    assert token["scope"] == "mcp:tools"
    assert token["refresh_token"]
    row = get_access_token_model().objects.get()
    assert (row.application.client_id, row.resource) == (client_id, [MCP])
    assert row.application.name == REAL[name]["client_name"]


def test_a_desktop_client_listens_where_it_likes_on_loopback(flow: Flow, publish: Callable[..., str]) -> None:
    client_id = publish(REAL["Claude Code"])
    for uri in ("http://localhost:61234/callback", "http://127.0.0.1:51000/callback"):
        assert ask(flow, client_id, redirect_uri=uri).status_code == 200
    for uri in ("http://localhost:61234/other", "http://client.test/callback", "https://evil.example/"):
        assert ask(flow, client_id, redirect_uri=uri).status_code == 400


def test_people_see_the_host_that_vouches(flow: Flow, publish: Callable[..., str]) -> None:
    page = ask(flow, publish(client_name="Trusted Bank")).content.decode()
    assert "Trusted Bank" in page
    assert "<bdi>client.test</bdi> describes it" in page


def test_the_metadata_say_that_documents_are_read(flow: Flow, settings: Any) -> None:
    server = "/.well-known/oauth-authorization-server"
    found = flow.browser.get(server).json()
    assert found["client_id_metadata_document_supported"] is True
    assert "private_key_jwt" in found["token_endpoint_auth_methods_supported"]
    assert "ES256" in found["token_endpoint_auth_signing_alg_values_supported"]
    assert not {"none", "HS256"} & set(found["token_endpoint_auth_signing_alg_values_supported"])
    limit(settings, DOCUMENTS="off")
    assert "client_id_metadata_document_supported" not in flow.browser.get(server).json()


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"client_id": "https://client.test/other.json"}, "client_id"),
        ({"client_id": "https://client.test:443/oauth/client.json"}, "client_id"),
        ({"client_id": None}, "client_id"),
        ({"client_name": None}, "client_name"),
        ({"client_name": " \u200b "}, "client_name"),
        ({"redirect_uris": None}, "redirect"),
        ({"redirect_uris": ["http://evil.example/"]}, "http://evil.example/"),
        ({"redirect_uris": [CALLBACK, "javascript:alert(1)"]}, "javascript"),
        ({"grant_types": ["client_credentials"]}, "authorization_code"),
        ({"token_endpoint_auth_method": "client_secret_post"}, "private_key_jwt"),
        ({"token_endpoint_auth_method": "client_secret_basic", "client_secret": "x"}, "client_secret"),
        ({"client_secret_expires_at": 0}, "client_secret"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "jwks"),
    ],
)
def test_a_document_that_cannot_count_is_refused_with_the_reason(
    flow: Flow, publish: Callable[..., str], members: dict[str, Any], says: str
) -> None:
    publish(**members)
    response = ask(flow, CLIENT)
    assert response.status_code == 400
    text = response.content.decode()
    assert "metadata document" in text
    assert says in text
    assert not get_application_model().objects.filter(client_id=CLIENT).exists()
    event = OAuthEvent.objects.get()
    assert (event.kind, event.client_id) == ("document_refused", CLIENT)
    assert says in event.detail


@pytest.mark.parametrize(
    "client_id",
    [
        "https://client.test",
        "https://client.test/",
        "https://client.test/a/../client.json",
        "https://client.test/a/%2E%2e/client.json",
        "https://client.test/client.json#x",
        "https://user:x@client.test/client.json",
        "https://client.test:8443/client.json",
        "https://client.test/" + "x" * 300,
        "HTTPS://client.test/client.json",
    ],
)
def test_a_url_that_is_no_client_id_is_refused_unasked(flow: Flow, internet: Web, client_id: str) -> None:
    response = ask(flow, client_id)
    assert response.status_code == 400
    assert internet.asked == []
    assert not Tally.is_full("register", limit=1)


def test_a_client_that_is_known_is_not_read_again_before_its_time(
    flow: Flow, publish: Callable[..., str], internet: Web
) -> None:
    client_id = publish()
    for _time in range(3):
        enter(flow, client_id)
    assert internet.paths == ["/oauth/client.json"]


def expire() -> None:
    get_application_model().objects.filter(registration_source="cimd").update(
        cimd_expires_at=timezone.now() - timedelta(seconds=1)
    )


def test_what_its_host_changed_counts_once_the_document_is_stale(
    flow: Flow, publish: Callable[..., str], internet: Web
) -> None:
    client_id = publish()
    enter(flow, client_id)
    publish(redirect_uris=["https://client.test/new"], client_name="New")
    assert ask(flow, client_id).status_code == 200
    expire()
    assert ask(flow, client_id).status_code == 400
    assert "New" in ask(flow, client_id, redirect_uri="https://client.test/new").content.decode()
    assert len(internet.asked) == 2
    row = get_application_model().objects.get(client_id=client_id)
    assert row.cimd_expires_at > timezone.now()


def test_a_document_that_cannot_be_read_again_leaves_its_client_as_it_was(
    flow: Flow, publish: Callable[..., str], internet: Web
) -> None:
    client_id = publish()
    token = enter(flow, client_id)
    internet.pages.clear()
    expire()
    assert ask(flow, client_id).status_code == 200
    refreshed = flow.token(
        grant_type="refresh_token",
        refresh_token=token["refresh_token"],
        client_id=client_id,
        redirect_uri=None,
        code_verifier=None,
    )
    assert refreshed.status_code == 200
    # And its host is asked once a minute at most.
    assert len(internet.asked) == 2
    assert OAuthEvent.objects.filter(kind="document_refused").count() == 1


def test_what_an_administrator_does_while_a_document_is_read_again_holds(
    flow: Flow, publish: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client_id, applications = publish(), get_application_model().objects
    enter(flow, client_id)
    applications.update(skip_authorization=True)
    acts: list[Callable[[], Any]] = [
        lambda: applications.update(skip_authorization=False),
        lambda: (Client.objects.all().delete(), get_application_model().objects.all().delete()),
    ]

    def read(url: str) -> Any:
        found = reading(url)
        acts.pop(0)()
        return found

    reading = documents._read
    monkeypatch.setattr(documents, "_read", read)
    expire()
    assert ask(flow, client_id).status_code == 200
    assert not applications.get(client_id=client_id).skip_authorization
    expire()
    Tally.objects.all().delete()
    assert ask(flow, client_id).status_code == 400
    assert not applications.exists()


def test_what_could_not_be_read_is_not_asked_for_again_at_once(flow: Flow, internet: Web) -> None:
    for _time in range(3):
        assert ask(flow, CLIENT).status_code == 400
    assert len(internet.asked) == 1
    assert "a moment ago" in ask(flow, CLIENT).content.decode()


def test_new_clients_are_limited_and_known_ones_are_not(
    flow: Flow, publish: Callable[..., str], settings: Any, internet: Web
) -> None:
    limit(settings, FETCHER=FETCHER, PER_HOUR=1)
    first = publish()
    enter(flow, first)
    response = ask(flow, publish(path="/second.json"))
    assert response.status_code == 429
    assert "Too many" in response.content.decode()
    assert int(response["Retry-After"]) > 0
    assert internet.paths == ["/oauth/client.json"]
    enter(flow, first)


def test_nothing_is_fetched_for_who_is_not_logged_in(flow: Flow, publish: Callable[..., str], internet: Web) -> None:
    flow.browser.logout()
    assert ask(flow, publish()).status_code == 302
    assert internet.asked == []


def test_a_client_that_nobody_has_seen_is_unknown_at_the_token_endpoint_and_not_asked_for(
    flow: Flow, publish: Callable[..., str], internet: Web
) -> None:
    client_id = publish()
    for path, sent in (
        (flow.token_path, {"grant_type": "authorization_code", "code": "x", "redirect_uri": CALLBACK}),
        (flow.token_path, {"grant_type": "refresh_token", "refresh_token": "x"}),
        ("/oauth/revoke_token/", {"token": "x"}),
    ):
        response = flow.browser.post(path, {"client_id": client_id, **sent})
        assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
    assert internet.asked == []


def test_a_site_can_name_the_hosts(flow: Flow, publish: Callable[..., str], settings: Any, internet: Web) -> None:
    limit(settings, FETCHER=FETCHER, DOCUMENT_HOSTS=[".example.com"])
    response = ask(flow, publish())
    assert response.status_code == 400
    assert "does not accept clients of client.test" in response.content.decode()
    assert internet.asked == []
    limit(settings, FETCHER=FETCHER, DOCUMENT_HOSTS=[".example.com", "client.test"])
    assert ask(flow, publish()).status_code == 200


def test_a_client_can_wait_for_an_administrators_approval(
    flow: Flow, publish: Callable[..., str], settings: Any
) -> None:
    limit(settings, FETCHER=FETCHER, DOCUMENTS="approval")
    client_id = publish()
    assert ask(flow, client_id).status_code == 400
    row = Client.objects.get()
    assert (row.enabled, row.awaits_approval) == (False, True)
    row.enabled = True
    row.save()
    enter(flow, client_id)


def test_documents_can_be_switched_off(flow: Flow, publish: Callable[..., str], settings: Any, internet: Web) -> None:
    limit(settings, FETCHER=FETCHER, DOCUMENTS="off")
    assert ask(flow, publish()).status_code == 400
    assert internet.asked == []


def test_a_url_that_an_administrator_gave_a_client_is_not_read(
    flow: Flow, publish: Callable[..., str], application: Any, internet: Web
) -> None:
    application.client_id = publish()
    application.save()
    page = flow.open(client_id=application.client_id)
    assert "Robot" in page.content.decode()
    assert "describes it" not in page.content.decode()
    assert internet.asked == []


def test_a_disabled_client_stays_out_whatever_its_document_says(flow: Flow, publish: Callable[..., str]) -> None:
    client_id = publish()
    enter(flow, client_id)
    row = Client.objects.get()
    row.enabled = False
    row.save()
    expire()
    assert ask(flow, client_id).status_code == 400


@pytest.mark.parametrize("resource", [None, MCP])
def test_it_is_for_our_endpoints_only(
    flow: Flow, publish: Callable[..., str], settings: Any, resource: str | None
) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "SCOPES": {"write": "Change everything"}}
    Scope.objects.create(name="orders:admin")
    answer = flow.answer(ask(flow, publish(), scope="write orders:admin", resource=resource))
    assert (answer["error"], answer["iss"]) == ("invalid_scope", "http://testserver")


def test_what_never_got_a_token_is_cleaned_up(flow: Flow, publish: Callable[..., str]) -> None:
    used = publish(path="/used.json")
    enter(flow, used)
    assert ask(flow, publish()).status_code == 200
    Client.objects.update(registered_at=timezone.now() - timedelta(days=8))
    assert registration.clean_unused() == 1
    assert [row.client_id for row in get_application_model().objects.filter(registration_source="cimd")] == [used]


def test_its_arrival_is_in_the_audit_trail(flow: Flow, publish: Callable[..., str]) -> None:
    client_id = publish()
    ask(flow, client_id)
    event = OAuthEvent.objects.filter(kind="document_resolved").get()
    assert (event.client_id, event.client_name, event.detail) == (client_id, "Robot", CALLBACK)
