"""Dynamic client registration: what real clients send is registered, what is unsafe is refused, and in what form."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client as Browser
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model

from mcp_gateway.models import Client, Generation, OAuthEvent, Scope, Tally
from mcp_gateway.oauth import client_metadata, registration
from mcp_gateway.oauth.registration_views import MAX_BYTES
from tests.oauth.flow import MCP, Flow

pytestmark = pytest.mark.django_db

REGISTER = "/oauth/register/"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
# 1024 bits.
WEAK_MODULUS = "x" + "Ab3d" * 42 + "Ab"

KEY = {"kty": "EC", "crv": "P-256", "kid": "1"} | {
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
}

# What they send, as their sources and their users' reports show it.
REAL: dict[str, dict[str, Any]] = {
    "VS Code": {
        "client_name": "Visual Studio Code",
        "client_uri": "https://code.visualstudio.com",
        "grant_types": ["authorization_code", "refresh_token", DEVICE],
        "response_types": ["code"],
        "redirect_uris": [
            "https://insiders.vscode.dev/redirect",
            "https://vscode.dev/redirect",
            "http://127.0.0.1/",
            "http://127.0.0.1:33418/",
            "http://localhost/",
            "http://localhost:33418/",
        ],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    },
    "Cursor": {
        "client_name": "Cursor",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "redirect_uris": [
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "https://www.cursor.com/agents/mcp/oauth/callback",
            "http://localhost:8787/callback",
        ],
        "token_endpoint_auth_method": "none",
    },
    "Claude": {
        "client_name": "Claude",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
        "token_endpoint_auth_method": "client_secret_post",
        "scope": "mcp:tools",
    },
    "Claude Code": {
        "client_name": "Claude Code (demo)",
        "grant_types": ["authorization_code", "refresh_token", JWT_BEARER],
        "response_types": ["code"],
        "redirect_uris": ["http://localhost:51763/callback"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    },
    "ChatGPT": {
        "client_name": "ChatGPT",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect"],
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
        "token_endpoint_auth_signing_alg": "RS256",
        "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
    },
    "Inspector": {
        "redirect_uris": ["http://localhost:6274/oauth/callback"],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "client_name": "MCP Inspector",
        "client_uri": "https://github.com/modelcontextprotocol/inspector",
    },
    "mcp-remote": {
        "redirect_uris": ["http://localhost:3334/oauth/callback"],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "client_name": "MCP CLI Proxy",
        "software_id": "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
        "software_version": "0.15.1",
        "application_type": "native",
        "scope": "mcp:tools orders:admin",
    },
    "a client of few words": {"redirect_uris": ["https://client.example/callback"]},
}


def post(document: Any, browser: Browser | None = None, **headers: Any) -> Any:
    body = document if isinstance(document, (str, bytes)) else json.dumps(document)
    options = {"content_type": "application/json", **headers}
    return (browser or Browser()).post(REGISTER, body, **options)


def register(document: Any = None, **members: Any) -> dict[str, Any]:
    """A client, registered; without a document a public one with a single redirect URI."""
    usual = {"redirect_uris": ["https://client.example/callback"], "token_endpoint_auth_method": "none"}
    response = post({**(document or usual), **members})
    assert response.status_code == 201, response.content
    found: dict[str, Any] = response.json()
    return found


def refused(document: Any, error: str = "invalid_client_metadata", status: int = 400, **headers: Any) -> str:
    response = post(document, **headers)
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    assert response.json()["error"] == error
    assert not get_application_model().objects.exists()
    return str(response.json()["error_description"])


@pytest.mark.parametrize("name", REAL)
def test_what_real_clients_send_is_registered_and_told_back_whole(name: str) -> None:
    Scope.objects.create(name="orders:admin")
    sent = REAL[name]
    answer = register(sent)
    for member in ("redirect_uris", "client_name", "client_uri", "software_id", "application_type", "jwks_uri"):
        if member in sent:
            assert answer[member] == sent[member]
    assert answer["grant_types"] == ["authorization_code", "refresh_token"]
    assert answer["response_types"] == ["code"]
    assert answer["client_id"]
    assert abs(answer["client_id_issued_at"] - timezone.now().timestamp()) < 600
    assert answer["registration_client_uri"] == f"http://testserver{REGISTER}{answer['client_id']}/"
    assert answer["registration_access_token"]
    method = answer["token_endpoint_auth_method"]
    offered = str(sent)
    assert method == ("none" if "'none'" in offered else sent.get("token_endpoint_auth_method", "client_secret_basic"))
    assert ("client_secret" in answer) == method.startswith("client_secret")
    assert answer.get("client_secret_expires_at") == (0 if "client_secret" in answer else None)
    # Only what a client that registered itself may have.
    assert answer.get("scope") == ("mcp:tools" if "scope" in sent else None)


def test_no_answer_is_stored_anywhere_on_its_way() -> None:
    response = post(REAL["Cursor"])
    assert (response["Cache-Control"], response["Pragma"]) == ("no-store", "no-cache")


@pytest.mark.parametrize(
    "uri",
    [
        "http://evil.example/callback",
        "http://127.0.0.1.evil.example/callback",
        "http://127.0.0.1@evil.example/callback",
        "http://10.0.0.1/callback",
        "https://user@client.example/callback",
        "https://client.example/callback#fragment",
        "https://*.example/callback",
        "https://client.example\\@evil.example/",
        "https://client.example/call back",
        "https:///callback",
        "https://client.example:port/",
        "https://[::1/",
        "HTTP://client.example/callback",
        "JavaScript:alert(1)",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "unknown-app://callback",
        "cursor:callback",
        "/callback",
        "",
        "https://client.example/" + "x" * 2000,
        "https://clïent.example/",
    ],
)
def test_an_unsafe_redirect_uri_refuses_the_whole_registration(uri: str) -> None:
    uris = ["https://client.example/callback", uri]
    text = refused({"redirect_uris": uris}, "invalid_redirect_uri")
    assert len(text) < 400


@pytest.mark.parametrize("uri", ["HTTPS://Client.example/callback", "Http://127.0.0.1/callback", "CURSOR://callback"])
def test_a_scheme_has_no_case(client: Browser, django_user_model: Any, uri: str) -> None:
    """RFC 3986 section 3.1. The address itself is compared by the letter, and the answer goes there."""
    made = register({"redirect_uris": [uri], "token_endpoint_auth_method": "none"})
    client.force_login(django_user_model.objects.create_user("ada"))
    flow = Flow(client, client_id=made["client_id"])
    answer = flow.press(flow.open(redirect_uri=uri, scope=None), "Allow")
    assert answer["Location"].startswith(f"{uri}?") or answer["Location"].lower().startswith(f"{uri.lower()}?")
    code = flow.answer(answer)["code"]
    assert flow.token(code=code, redirect_uri=uri).status_code == 200


@pytest.mark.parametrize("uris", [None, [], "https://client.example/", [5], {}, ["https://a.example/"] * 21])
def test_redirect_uris_are_a_list_of_some(uris: Any) -> None:
    refused({"redirect_uris": uris}, "invalid_redirect_uri")


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"grant_types": ["client_credentials"]}, "authorization_code"),
        ({"grant_types": ["refresh_token"]}, "authorization_code"),
        ({"grant_types": []}, "authorization_code"),
        ({"grant_types": "authorization_code"}, "grant_types"),
        ({"grant_types": [["authorization_code"]]}, "grant_types"),
        ({"response_types": ["token"]}, "response_types"),
        ({"token_endpoint_auth_method": "client_secret_jwt"}, "client_secret_post"),
        ({"token_endpoint_auth_method": ["none"]}, "token_endpoint_auth_method"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "jwks_uri"),
        ({"client_name": ["Robot"]}, "client_name"),
        ({"client_name": "x" * 256}, "client_name"),
        ({"jwks": {"keys": [KEY]}, "jwks_uri": "https://client.example/keys"}, "both"),
        ({"jwks_uri": "http://client.example/keys"}, "https"),
        ({"jwks": {"keys": []}}, "keys"),
        ({"jwks": {"keys": [{"kty": "nonsense"}]}}, "key"),
        ({"jwks": {"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}}, "public"),
        ({"jwks": {"keys": [KEY | {"d": "870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE"}]}}, "public"),
        ({"jwks": {"keys": [KEY, KEY | {"y": KEY["x"]}]}}, "numbers"),
        ({"jwks": {"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}}, "numbers"),
        ({"jwks": {"keys": [{"kty": "RSA", "n": WEAK_MODULUS, "e": "AQAB"}]}}, "2048"),
        ({"jwks": [KEY]}, "jwks"),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_reason(members: dict[str, Any], says: str) -> None:
    assert says in refused({"redirect_uris": ["https://client.example/callback"], **members})


@pytest.mark.parametrize("body", [" ", "{", "[]", "null", '"text"', b"\xff\xfe", "{} {}", "[" * 5000])
def test_a_body_that_is_no_json_object_is_refused(body: Any) -> None:
    refused(body)


def test_a_body_is_json_of_a_size_that_a_registration_has() -> None:
    refused({"redirect_uris": ["https://client.example/callback"], "client_name": "x" * MAX_BYTES}, status=413)
    refused("redirect_uris=https://client.example/", status=415, content_type="application/x-www-form-urlencoded")


def test_only_post_is_served_and_told_so() -> None:
    response = Browser(enforce_csrf_checks=True).get(REGISTER)
    assert (response.status_code, response["Allow"]) == (405, "POST, OPTIONS")
    assert response.json()["error"] == "invalid_request"


def test_a_name_cannot_hide_or_turn_what_stands_beside_it() -> None:
    assert register(client_name="Good\u202egnihtemos\n\x00 Robot\u200b")["client_name"] == "Good gnihtemos Robot"


def test_nothing_secret_is_stored_in_the_clear() -> None:
    answer = register(token_endpoint_auth_method="client_secret_post")
    stored = " ".join(
        str(row)
        for model in (get_application_model(), Client, OAuthEvent, get_access_token_model())
        for row in model.objects.values_list()
    )
    assert answer["client_id"] in stored
    assert answer["client_secret"] not in stored
    assert answer["registration_access_token"] not in stored


def test_each_registration_is_in_the_audit_trail() -> None:
    answer = register(REAL["Cursor"])
    post({"redirect_uris": ["http://evil.example/"]})
    refusal, made = OAuthEvent.objects.all()
    assert (made.kind, made.client_id, made.client_name) == ("registered", answer["client_id"], "Cursor")
    assert "cursor://" in made.detail
    assert made.address == "127.0.0.1"
    assert refusal.kind == "registration_refused"
    assert "http://evil.example/" in refusal.detail


def test_a_registration_leaves_every_workers_snapshot_as_it_is() -> None:
    before = Generation.current()
    register()
    assert Generation.current() == before


# Limits


def limit(settings: Any, **policy: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "REGISTRATION": policy}


def test_one_address_registers_only_so_many_an_hour(settings: Any) -> None:
    limit(settings, PER_HOUR=2)
    document = REAL["Cursor"]
    assert [post(document).status_code for _time in range(2)] == [201, 201]
    response = post(document)
    assert response.status_code == 429
    assert 1 <= int(response["Retry-After"]) <= 3600
    assert response.json()["error"] == "too_many_requests"
    assert post(document, REMOTE_ADDR="192.0.2.7").status_code == 201
    assert OAuthEvent.objects.filter(kind="throttled").count() == 1
    Tally.objects.update(ends=timezone.now() - timedelta(seconds=1))
    assert post(document).status_code == 201


def test_all_addresses_together_register_only_so_many_a_day(settings: Any) -> None:
    limit(settings, PER_DAY=2)
    seen = [post(REAL["Cursor"], REMOTE_ADDR=f"192.0.2.{number}") for number in range(3)]
    assert [response.status_code for response in seen] == [201, 201, 429]
    assert int(seen[2]["Retry-After"]) > 3600


def test_what_is_refused_anyway_is_not_counted(settings: Any) -> None:
    limit(settings, PER_HOUR=1)
    post({"redirect_uris": ["http://evil.example/"]})
    assert post(REAL["Cursor"]).status_code == 201


def test_a_site_can_let_nobody_register(settings: Any, client: Browser) -> None:
    server = "/.well-known/oauth-authorization-server"
    assert client.get(server).json()["registration_endpoint"] == f"http://testserver{REGISTER}"
    limit(settings, DYNAMIC="off")
    assert "registration_endpoint" not in client.get(server).json()
    assert post(REAL["Cursor"]).status_code == 404
    assert client.get(f"{REGISTER}x/").status_code == 404


def test_a_projects_own_permission_classes_are_asked(settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {
        **settings.OAUTH2_PROVIDER,
        "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.IsAuthenticatedDCRPermission",),
    }
    response = post(REAL["Cursor"])
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert response.json()["error"] == "access_denied"


# What a registered client may do


@pytest.mark.parametrize(
    ("name", "redirect_uri"),
    [
        ("VS Code", "http://127.0.0.1:51000/"),
        ("VS Code", "https://vscode.dev/redirect"),
        ("Cursor", "cursor://anysphere.cursor-mcp/oauth/callback"),
        ("Cursor", "http://localhost:8787/callback"),
        ("Claude", "https://claude.ai/api/mcp/auth_callback"),
        ("Claude Code", "http://localhost:60001/callback"),
        ("ChatGPT", "https://chatgpt.com/connector_platform_oauth_redirect"),
        ("Inspector", "http://localhost:6274/oauth/callback"),
        ("mcp-remote", "http://localhost:3335/oauth/callback"),
        ("a client of few words", "https://client.example/callback"),
    ],
)
def test_a_registered_client_gets_a_token(flow: Flow, name: str, redirect_uri: str) -> None:
    made = register(REAL[name])
    client_id, secret = made["client_id"], made.get("client_secret")
    code = flow.code(client_id=client_id, redirect_uri=redirect_uri)
    response = flow.token(client_id=client_id, redirect_uri=redirect_uri, code=code, client_secret=secret)
    assert response.status_code == 200, response.content
    assert response.json()["scope"] == "mcp:tools"
    assert response.json()["refresh_token"]
    assert get_access_token_model().objects.get().resource == [MCP]


def test_the_redirect_uri_is_compared_by_the_letter(flow: Flow) -> None:
    made = register(REAL["Cursor"])
    for uri in (
        "https://www.cursor.com/other",
        "cursor://anysphere.cursor-mcp/oauth/callback/x",
        "http://evil.example/",
    ):
        assert flow.open(client_id=made["client_id"], redirect_uri=uri).status_code == 400


def test_scopes_that_are_not_for_such_clients_are_left_out(flow: Flow) -> None:
    Scope.objects.create(name="orders:admin")
    client_id = register()["client_id"]
    page = flow.open(client_id=client_id, scope="mcp:tools orders:admin nosuch")
    assert "orders:admin" not in page.content.decode()
    code = flow.answer(flow.press(page, "Allow"))["code"]
    assert flow.token(client_id=client_id, code=code).json()["scope"] == "mcp:tools"


def test_a_request_for_nothing_that_may_be_had_is_refused(flow: Flow) -> None:
    Scope.objects.create(name="orders:admin")
    answer = flow.answer(flow.open(client_id=register()["client_id"], scope="orders:admin"))
    assert (answer["error"], answer["iss"]) == ("invalid_scope", "http://testserver")


def test_people_are_told_that_nobody_has_checked_it(flow: Flow) -> None:
    page = flow.open(client_id=register(client_name="Trusted Bank")["client_id"]).content.decode()
    assert "Trusted Bank" in page
    assert "registered itself" in page
    assert "registered itself" not in flow.open().content.decode()


def test_tokens_are_in_the_audit_trail(flow: Flow) -> None:
    made = register(client_name="Robot")
    token = flow.token(client_id=made["client_id"], code=flow.code(client_id=made["client_id"])).json()
    flow.token(
        grant_type="refresh_token",
        refresh_token=token["refresh_token"],
        client_id=made["client_id"],
        redirect_uri=None,
        code_verifier=None,
    )
    events = list(OAuthEvent.objects.filter(kind__startswith="token_"))
    assert [event.kind for event in events] == ["token_refreshed", "token_issued"]
    for event in events:
        assert (event.user, event.client_name, event.resource, event.scopes) == ("ada", "Robot", MCP, "mcp:tools")
    told = str(list(OAuthEvent.objects.values_list()))
    assert token["access_token"] not in told
    assert token["refresh_token"] not in told


def test_it_never_acts_for_itself(flow: Flow) -> None:
    made = register(token_endpoint_auth_method="client_secret_post")
    response = flow.browser.post(
        flow.token_path,
        {
            "grant_type": "client_credentials",
            "client_id": made["client_id"],
            "client_secret": made["client_secret"],
            "resource": MCP,
            "scope": "mcp:tools",
        },
    )
    assert response.status_code == 400
    assert response.json()["error"] == "unauthorized_client"


@pytest.mark.parametrize("resource", [None, MCP])
def test_a_projects_own_scopes_are_not_for_it(flow: Flow, settings: Any, resource: str | None) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "SCOPES": {"write": "Change everything"}}
    client_id = register()["client_id"]
    answer = flow.answer(flow.open(client_id=client_id, scope="write", resource=resource))
    assert answer["error"] == "invalid_scope"
    code = flow.code(client_id=client_id, resource=resource)
    assert flow.token(client_id=client_id, code=code, resource=resource).json()["scope"] == "mcp:tools"
    assert get_access_token_model().objects.get().resource == [MCP]


def test_where_approval_is_needed_a_client_waits_for_it(flow: Flow, settings: Any) -> None:
    limit(settings, DYNAMIC="approval")
    client_id = register()["client_id"]
    waiting = flow.open(client_id=client_id)
    assert waiting.status_code == 400
    assert "has to approve it first" in waiting.content.decode()
    assert flow.token(client_id=client_id, code="x").json()["error"] == "invalid_client"
    row = Client.objects.get()
    assert (row.enabled, row.awaits_approval) == (False, True)
    row.enabled = True
    row.save()
    assert flow.code(client_id=client_id)
    row.refresh_from_db()
    assert not row.awaits_approval


# RFC 7592


def manage(method: str, made: dict[str, Any], document: Any = None, **headers: Any) -> Any:
    headers.setdefault("HTTP_AUTHORIZATION", f"Bearer {made['registration_access_token']}")
    options = {} if document is None else {"data": json.dumps(document), "content_type": "application/json"}
    return getattr(Browser(), method)(f"{REGISTER}{made['client_id']}/", **options, **headers)


def test_a_client_reads_its_registration() -> None:
    made = register(REAL["Claude"])
    response = manage("get", made)
    assert response.status_code == 200
    told_once = {"client_secret", "client_secret_expires_at"}
    assert response.json() == {name: value for name, value in made.items() if name not in told_once}


def test_a_client_replaces_its_registration() -> None:
    made = register(REAL["Inspector"])
    changed = {"client_id": made["client_id"], "redirect_uris": ["https://new.example/callback"], "client_name": "New"}
    response = manage("put", made, {**changed, "token_endpoint_auth_method": "none"})
    assert response.status_code == 200, response.content
    assert response.json()["redirect_uris"] == ["https://new.example/callback"]
    assert "client_uri" not in response.json()
    application = get_application_model().objects.get()
    assert (application.redirect_uris, application.name) == ("https://new.example/callback", "New")
    assert manage("get", made).json()["client_name"] == "New"
    assert OAuthEvent.objects.first().kind == "registration_changed"  # type: ignore[union-attr]


def test_a_change_is_judged_as_a_registration_is() -> None:
    made = register(REAL["Inspector"])
    own = {"client_id": made["client_id"]}
    assert manage("put", made, {**own, "redirect_uris": ["http://evil.example/"]}).json()["error"] == (
        "invalid_redirect_uri"
    )
    assert manage("put", made, {**own, "redirect_uris": ["https://a.example/"], "client_id": "x"}).status_code == 400
    assert get_application_model().objects.get().redirect_uris == REAL["Inspector"]["redirect_uris"][0]


def test_a_public_client_that_becomes_confidential_is_told_its_secret() -> None:
    made = register(token_endpoint_auth_method="none")
    document = {"client_id": made["client_id"], "redirect_uris": made["redirect_uris"]}
    first = manage("put", made, document).json()
    assert first["client_secret"]
    # One that has a secret keeps it, and hears no other.
    assert "client_secret" not in manage("put", made, document).json()
    assert get_application_model().objects.get().client_type == "confidential"


def test_changes_are_limited_too() -> None:
    made = register(token_endpoint_auth_method="none")
    document = {**made, "client_name": "Again"}
    statuses = [manage("put", made, document).status_code for _time in range(21)]
    assert statuses == [200] * 20 + [429]


@pytest.mark.parametrize("act", ["delete", "disable"])
def test_a_client_that_is_gone_while_it_changes_its_registration_stays_gone(
    monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    made, reading = register(token_endpoint_auth_method="none"), client_metadata.read

    def read(*args: Any, **kwargs: Any) -> Any:
        if act == "delete":
            Client.objects.all().delete()
            get_application_model().objects.all().delete()
        else:
            Client.objects.update(enabled=False)
        return reading(*args, **kwargs)

    monkeypatch.setattr(client_metadata, "read", read)
    answer = manage("put", made, {**made, "client_name": "Again"})
    assert (answer.status_code, answer.json()["error"]) == (403, "access_denied")
    assert not get_application_model().objects.filter(name="Again").exists()


@pytest.mark.parametrize("method", ["get", "put", "delete"])
def test_a_client_that_is_deleted_while_it_is_looked_up_is_no_server_error(method: str) -> None:
    made = register(token_endpoint_auth_method="none")
    looked_up: list[str] = []

    def run(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        found = execute(sql, params, many, context)
        if "registration_token" in sql and not looked_up:
            looked_up.append(sql)
            Client.objects.all().delete()
            get_application_model().objects.all().delete()
        return found

    with connection.execute_wrapper(run):
        answer = manage(method, made, made if method == "put" else None)
    assert answer.status_code in (200, 204, 403)
    assert not get_application_model().objects.exists()


def test_a_client_deletes_its_registration() -> None:
    made = register()
    assert manage("delete", made).status_code == 204
    assert not get_application_model().objects.exists()
    assert not Client.objects.exists()
    assert manage("get", made).status_code == 401
    assert OAuthEvent.objects.first().kind == "registration_deleted"  # type: ignore[union-attr]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic eDp5"])
def test_nobody_else_manages_a_registration(header: str) -> None:
    response = manage("get", register(), HTTP_AUTHORIZATION=header)
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert response.json()["error"] == "invalid_token"


def test_a_token_manages_its_own_registration_only(settings: Any) -> None:
    mine, other = register(), register()
    assert manage("get", {**other, "registration_access_token": mine["registration_access_token"]}).status_code == 401


def test_a_client_that_waits_for_approval_may_read_and_delete_its_registration_and_not_change_it(settings: Any) -> None:
    limit(settings, DYNAMIC="approval")
    made = register()
    assert manage("get", made).json()["client_id"] == made["client_id"]
    assert manage("put", made, {**REAL["Claude"], "client_id": made["client_id"]}).status_code == 403
    assert manage("delete", made).status_code == 204
    assert not Client.objects.exists()


def test_a_clients_management_token_opens_no_endpoint(client: Browser) -> None:
    made = register()
    response = client.post(
        "/mcp", "{}", content_type="application/json", HTTP_AUTHORIZATION=f"Bearer {made['registration_access_token']}"
    )
    assert response.status_code == 401


# Cleaning up


def age(days: int = 8) -> None:
    Client.objects.filter(registered_at__isnull=False).update(registered_at=timezone.now() - timedelta(days=days))


def test_what_never_got_a_token_goes_after_a_week() -> None:
    register()
    age(6)
    assert registration.clean_unused() == 0
    age(8)
    assert registration.clean_unused() == 1
    assert not get_application_model().objects.exists()


def test_what_was_used_once_stays_for_ever(flow: Flow) -> None:
    client_id = register()["client_id"]
    flow.token(client_id=client_id, code=flow.code(client_id=client_id))
    get_access_token_model().objects.all().delete()
    assert Client.objects.get().last_used is not None
    age(999)
    assert registration.clean_unused() == 0


def test_what_an_administrator_touched_stays(application: Any) -> None:
    Client.objects.create(application=application)
    register()
    Client.objects.filter(registered_at__isnull=False).update(enabled=False)
    age(999)
    assert registration.clean_unused() == 0


def test_a_grant_that_is_under_way_keeps_its_client(flow: Flow) -> None:
    client_id = register()["client_id"]
    flow.code(client_id=client_id)
    age()
    assert registration.clean_unused() == 0


def test_the_next_registration_cleans_up() -> None:
    register()
    age()
    Tally.objects.all().delete()
    register()
    assert get_application_model().objects.count() == 1
