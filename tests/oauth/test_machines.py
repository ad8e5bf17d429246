"""Clients that act for themselves (RFC 6749 section 4.4; the extension OAuth Client Credentials)."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.checks import run_checks
from django.test import Client
from oauth2_provider.models import get_access_token_model, get_application_model, get_refresh_token_model

from mcp_gateway.conf import oauth2_provider
from mcp_gateway.models import Client as ClientRow
from mcp_gateway.models import OAuthEvent, Scope
from mcp_gateway.oauth.authentication import InvalidToken, check_request
from mcp_gateway.oauth.issuing import COMMAND_LINE, builtin_application
from tests.oauth.flow import MCP

FORM = {"grant_type": "client_credentials", "client_id": "machine", "client_secret": "s3cret", "resource": MCP}


def machine(**fields: Any) -> Any:
    return get_application_model().objects.create(
        **{
            "client_id": "machine",
            "client_secret": "s3cret",
            "client_type": "confidential",
            "authorization_grant_type": "client-credentials",
            **fields,
        }
    )


def test_a_machine_whose_owner_is_disabled_gets_no_token_for_an_endpoint(client: Client, user: Any, robot: Any) -> None:
    get_application_model().objects.update(user=user)
    assert "access_token" in client.post("/oauth/token/", FORM).json()
    user.is_active = False
    user.save()
    assert client.post("/oauth/token/", FORM).json()["error"] == "unauthorized_client"


def test_a_machine_that_registered_itself_acts_for_nobody(client: Client, db: None) -> None:
    machine(registration_source="dcr")
    form = {"grant_type": "client_credentials", "client_id": "machine", "client_secret": "s3cret", "resource": MCP}
    assert client.post("/oauth/token/", form).json()["error"] == "unauthorized_client"


def test_a_machine_without_a_service_user_learns_what_an_administrator_must_do(client: Client, db: None) -> None:
    application = machine()
    for row in (None, {}, {"enabled": True}):
        if row is not None:
            ClientRow.objects.update_or_create(application=application, defaults=row)
        response = client.post("/oauth/token/", FORM)
        assert (response.status_code, response.json()["error"]) == (400, "unauthorized_client")
        assert "administrator" in response.json()["error_description"]
        assert "service user" in response.json()["error_description"]
    assert not get_access_token_model().objects.exists()


def test_other_grants_learn_which_one_it_takes(client: Client, user: Any) -> None:
    machine(authorization_grant_type="password")
    form = {**FORM, "grant_type": "password", "username": "ada", "password": "secret"}
    assert "authorization code" in client.post("/oauth/token/", form).json()["error_description"]


def test_a_token_ends_with_the_service_user(client: Client, robot: Any) -> None:
    token = client.post("/oauth/token/", FORM).json()["access_token"]
    robot.delete()
    with pytest.raises(InvalidToken, match="service user"):
        check_request(f"Bearer {token}", "")


def test_a_projects_own_machine_that_never_comes_to_an_endpoint_goes_on(
    client: Client, db: None, settings: Any
) -> None:
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver", SCOPES={"read": "Read posts"})
    machine()
    form = {"grant_type": "client_credentials", "client_id": "machine", "client_secret": "s3cret"}
    answer = client.post("/oauth/token/", form).json()
    assert (answer["scope"], answer["expires_in"]) == ("read", 36000)
    assert get_access_token_model().objects.get().user is None
    for asked in ({"resource": MCP}, {"scope": "mcp:tools"}):
        assert client.post("/oauth/token/", {**form, **asked}).json()["error"] == "unauthorized_client"


def told() -> list[str]:
    """What the system check says of machines."""
    return [str(message.msg) for message in run_checks(databases=["default"]) if message.id == "mcp_gateway.W019"]


def test_a_check_names_machines_without_a_service_user(db: None, settings: Any) -> None:
    assert told() == []
    application = machine(name="Night job")
    machine(client_id="stranger", registration_source="dcr")
    builtin_application(COMMAND_LINE, "Command line")
    (message,) = told()
    assert "“Night job”." in message
    # In a project with scopes of its own, only one that somebody made known to the gateway.
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver", SCOPES={"read": "Read posts"})
    assert told() == []
    row = ClientRow.objects.create(application=application)
    assert "Night job" in told()[0]
    row.service_user = get_user_model().objects.create_user("robot")
    row.save()
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver")
    assert told() == []


@pytest.fixture
def robot(db: None) -> Any:
    """The user that the machine acts as."""
    robot = get_user_model().objects.create_user("robot")
    ClientRow.objects.create(application=machine(), service_user=robot)
    return robot


def test_a_machine_acts_as_its_service_user(client: Client, robot: Any) -> None:
    answer = client.post("/oauth/token/", FORM).json()
    assert (answer["expires_in"], answer["scope"], "refresh_token" in answer) == (900, "mcp:tools", False)
    assert check_request(f"Bearer {answer['access_token']}", "").principal.user == robot
    assert not get_refresh_token_model().objects.exists()
    row = get_access_token_model().objects.get()
    assert (row.token, row.resource) == ("", [MCP])
    event = OAuthEvent.objects.get()
    assert (event.kind, event.client_id, event.scopes, event.resource) == ("token_issued", "machine", "mcp:tools", MCP)


def test_a_machine_shows_its_secret_in_the_header_too(client: Client, robot: Any) -> None:
    headers = {"Authorization": "Basic bWFjaGluZTpzM2NyZXQ="}
    form = {"grant_type": "client_credentials", "resource": MCP}
    assert client.post("/oauth/token/", form, headers=headers).status_code == 200


@pytest.mark.parametrize("secret", ["wrong", "", None])
def test_without_its_secret_a_machine_gets_nothing(client: Client, robot: Any, secret: str | None) -> None:
    form = {**FORM, "client_secret": secret} if secret is not None else {**FORM}
    if secret is None:
        del form["client_secret"]
    response = client.post("/oauth/token/", form)
    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")


def test_a_machine_whose_service_user_is_disabled_is_out_at_once(client: Client, robot: Any) -> None:
    token = client.post("/oauth/token/", FORM).json()["access_token"]
    robot.is_active = False
    robot.save()
    with pytest.raises(InvalidToken):
        check_request(f"Bearer {token}", "")
    assert client.post("/oauth/token/", FORM).json()["error"] == "unauthorized_client"


def test_a_disabled_machine_is_out_at_once(client: Client, robot: Any) -> None:
    token = client.post("/oauth/token/", FORM).json()["access_token"]
    ClientRow.objects.update(enabled=False)
    with pytest.raises(InvalidToken):
        check_request(f"Bearer {token}", "")
    assert client.post("/oauth/token/", FORM).json()["error"] == "invalid_client"


def test_a_scope_kept_to_groups_takes_a_service_user_of_one(client: Client, robot: Any) -> None:
    traders = Group.objects.create(name="traders")
    Scope.objects.create(name="orders:write", is_default=True).groups.add(traders)
    assert client.post("/oauth/token/", {**FORM, "scope": "orders:write"}).json()["error"] == "invalid_scope"
    assert client.post("/oauth/token/", FORM).json()["scope"] == "mcp:tools"
    robot.groups.add(traders)
    assert client.post("/oauth/token/", {**FORM, "scope": "orders:write"}).json()["scope"] == "orders:write"
    assert client.post("/oauth/token/", FORM).json()["scope"] == "mcp:tools orders:write"


def test_the_metadata_say_that_machines_are_welcome(client: Client, db: None) -> None:
    document = client.get("/.well-known/oauth-authorization-server").json()
    assert "client_credentials" in document["grant_types_supported"]
    assert "client_secret_basic" in document["token_endpoint_auth_methods_supported"]


@pytest.mark.parametrize("client_type", ["confidential", "public"])
@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("", {"client_id": "machine"}),
        ("", {"client_id": "machine", "client_secret": ""}),
        ("machine:", {}),
        ("machine:wrong", {"client_id": "machine"}),
    ],
)
def test_who_sends_no_secret_does_not_act_as_a_machine_whose_secret_was_emptied(
    client: Client, robot: Any, client_type: str, header: str, body: dict[str, str]
) -> None:
    application = get_application_model().objects.get()
    application.client_secret, application.client_type = "", client_type
    application.save()
    headers = {"Authorization": f"Basic {base64.b64encode(header.encode()).decode()}"} if header else {}
    sent = {"grant_type": "client_credentials", "resource": MCP, **body}
    answer = client.post("/oauth/token/", sent, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


def test_a_client_id_beside_the_proof_of_another_client_is_the_clients_mistake(client: Client, robot: Any) -> None:
    machine(client_id="other")
    proof = {"Authorization": f"Basic {base64.b64encode(b'machine:s3cret').decode()}"}
    sent = {"grant_type": "client_credentials", "client_id": "other", "resource": MCP}
    answer = client.post("/oauth/token/", sent, headers=proof)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert "client_id" in answer.json()["error_description"]
