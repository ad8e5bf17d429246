"""What programs hear from the authorization server: JSON with the right error, at both spellings of each address."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client
from oauth2_provider.models import (
    AbstractApplication,
    get_access_token_model,
    get_application_model,
)

from mcp_gateway.conf import oauth2_provider
from tests.oauth.flow import MCP, Flow

FORM = "application/x-www-form-urlencoded"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
OWN_SCOPES = {"read": "Read your posts", "write": "Write posts"}

PROGRAMS = ("token", "revoke_token", "register", "register/robot", "device-authorization")


def error(response: Any) -> str:
    assert response["Content-Type"] == "application/json", response.content
    return str(response.json()["error"])


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("path", PROGRAMS)
def test_both_spellings_answer_alike_and_never_with_a_page(
    client: Client, application: Any, settings: Any, path: str, debug: bool
) -> None:
    settings.DEBUG = debug
    for method in ("get", "post", "put", "delete"):
        without, with_slash = (getattr(client, method)(f"/oauth/{path}{end}") for end in ("", "/"))
        assert (without.status_code, without.content) == (with_slash.status_code, with_slash.content)
        assert error(without)
        assert 400 <= without.status_code < 500


def test_a_whole_login_goes_through_the_spellings_without_a_slash(flow: Flow) -> None:
    flow.authorize_path, flow.token_path = "/oauth/authorize", "/oauth/token"
    token = flow.token(code=flow.code()).json()["access_token"]
    revoked = flow.browser.post("/oauth/revoke_token", {"token": token, "client_id": "robot"})
    assert (revoked.status_code, revoked.content) == (200, b"")
    assert not get_access_token_model().objects.exists()
    assert flow.browser.get("/oauth/connections").status_code == 200
    flow.browser.logout()
    assert flow.browser.get("/oauth/login").status_code == 200


@pytest.mark.parametrize("place", ["oauth-authorization-server", "oauth-protected-resource", "openid-configuration"])
def test_metadata_are_there_with_a_slash_too(client: Client, db: None, place: str) -> None:
    documents = [client.get(f"/.well-known/{place}{end}") for end in ("", "/")]
    assert [document.status_code for document in documents] == [200, 200]
    assert documents[0].json() == documents[1].json()


def test_below_the_prefix_nothing_is_listed_that_cannot_be_had(client: Client, db: None) -> None:
    below = client.get("/oauth/.well-known/oauth-authorization-server").json()
    assert below == client.get("/.well-known/oauth-authorization-server").json()
    assert DEVICE not in below["grant_types_supported"]
    assert "device_authorization_endpoint" not in below
    assert client.get("/oauth/.well-known/oauth-protected-resource").status_code == 404


def test_a_project_with_clients_of_its_own_keeps_its_documents(client: Client, db: None, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver", SCOPES=OWN_SCOPES)
    below = client.get("/oauth/.well-known/oauth-authorization-server").json()
    assert DEVICE in below["grant_types_supported"]
    assert client.get("/oauth/.well-known/oauth-protected-resource").status_code == 200


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({}, "invalid_request"),
        ({"grant_type": ""}, "invalid_request"),
        ({"grant_type": "magic"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code", "client_id": "robot"}, "invalid_request"),
        ({"grant_type": "refresh_token", "client_id": "robot"}, "invalid_request"),
        ({"grant_type": "authorization_code", "client_id": "robot", "code": "x"}, "invalid_grant"),
        ({"grant_type": "refresh_token", "client_id": "robot", "refresh_token": "x"}, "invalid_grant"),
        ({"grant_type": "authorization_code", "client_id": "nobody", "code": "x"}, "invalid_client"),
        ({"grant_type": DEVICE}, "invalid_request"),
        ({"grant_type": DEVICE, "device_code": "x", "client_id": "robot"}, "unauthorized_client"),
    ],
)
def test_the_token_endpoint_names_the_fault(
    client: Client, application: Any, sent: dict[str, str], expected: str
) -> None:
    """RFC 6749 section 5.2."""
    response = client.post("/oauth/token/", sent)
    assert error(response) == expected
    assert response.status_code == (401 if expected == "invalid_client" else 400)
    assert response["Cache-Control"] == "no-store"


def test_json_is_no_token_request(client: Client, db: None) -> None:
    body = json.dumps({"grant_type": "authorization_code"})
    response = client.post("/oauth/token/", body, content_type="application/json")
    assert error(response) == "invalid_request"
    assert "form" in response.json()["error_description"]


@pytest.mark.parametrize("address", ["https://client.example/other", "http://127.0.0.1/callback", "nonsense"])
def test_a_code_comes_with_the_address_it_was_sent_to(flow: Flow, address: str) -> None:
    response = flow.token(code=flow.code(), redirect_uri=address)
    assert (response.status_code, error(response)) == (400, "invalid_grant")
    assert "redirect_uri" in response.json()["error_description"]


@pytest.mark.parametrize("response_type", ["token", "id_token", "code token", "code id_token token", "magic"])
def test_whatever_a_form_asks_for_the_answer_names_its_issuer_once(flow: Flow, response_type: str) -> None:
    """RFC 9207 section 2, and RFC 6749 section 4.2.2.1: an answer to the implicit flow is in the fragment."""
    answer = flow.press(flow.open(), "Allow", response_type=response_type)
    parts = urlsplit(answer["Location"])
    said = {**parse_qs(parts.query), **parse_qs(parts.fragment)}
    assert (parts.query + parts.fragment).count("iss=") == 1
    assert (said["iss"], said["state"]) == (["http://testserver"], ["st4te"])
    assert said["error"] == ["unsupported_response_type"]


@pytest.mark.parametrize("sent", [{}, {"scope": "mcp:tools"}, {"resource": MCP}])
def test_no_device_code_leads_to_an_endpoint(client: Client, application: Any, sent: dict[str, str]) -> None:
    response = client.post("/oauth/device-authorization/", {"client_id": "robot", **sent})
    assert (response.status_code, error(response)) == (400, "unauthorized_client")
    assert "authorization code" in response.json()["error_description"]


def test_a_projects_own_devices_log_in(client: Client, user: Any, application: Any, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver", SCOPES=OWN_SCOPES)
    get_application_model().objects.create(
        client_id="television",
        client_type="public",
        authorization_grant_type=AbstractApplication.GRANT_DEVICE_CODE,
    )
    for ask in ({"client_id": "television"}, {"client_id": "television", "scope": "read"}):
        codes = client.post("/oauth/device-authorization", urlencode(ask), content_type=FORM)
        assert codes.status_code == 200, codes.content
        assert codes.json()["verification_uri"] == "http://testserver/oauth/device/"
    form = {"grant_type": DEVICE, "client_id": "television", "device_code": codes.json()["device_code"]}
    assert error(client.post("/oauth/token/", form)) == "authorization_pending"
    client.force_login(user)
    confirm = client.post("/oauth/device/", {"user_code": codes.json()["user_code"]})
    client.post(confirm["Location"], {"action": "accept"})
    answer = client.post("/oauth/token/", form)
    assert (answer.status_code, answer.json()["scope"]) == (200, "read")
    assert get_access_token_model().objects.get().user == user
    robot_form = {**form, "client_id": "robot"}
    assert error(client.post("/oauth/token/", robot_form)) in ("invalid_grant", "unauthorized_client")
    # Nor do they get one for an endpoint.
    assert error(client.post("/oauth/token/", {**form, "resource": MCP})) == "unauthorized_client"
    assert error(client.post("/oauth/device-authorization", {**ask, "resource": MCP})) == "unauthorized_client"
