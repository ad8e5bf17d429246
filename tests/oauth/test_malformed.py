"""Requests that nobody who means well sends: an answer in the form that its kind of endpoint has, and no trace."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from oauth2_provider.models import get_application_model

from mcp_gateway.models import Client as Row
from tests.oauth.flow import Flow

TOKEN, REVOKE, AUTHORIZE = "/oauth/token/", "/oauth/revoke_token/", "/oauth/authorize/"
MANY = "&".join(f"a{number}=1" for number in range(3000))
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(autouse=True)
def _no_trace(caplog: pytest.LogCaptureFixture, db: None) -> Iterator[None]:
    """Nobody fills the log by what they send."""
    yield
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (MANY, FORM, 400),
        ("a=" + "b" * 4_000_000, FORM, 413),
        ("grant_type=%00", FORM, 400),
        ("x", "multipart/form-data", 400),
        ("a=1", f"{FORM}; charset=latin-1", 400),
    ],
)
@pytest.mark.parametrize("path", [TOKEN, REVOKE])
def test_programs_get_json_whatever_they_send(client: Client, path: str, body: str, kind: str, status: int) -> None:
    answer = client.post(path, body, content_type=kind)
    assert answer.status_code == status
    assert answer.json()["error"] == "invalid_request"
    assert answer.json()["error_description"]


@pytest.mark.parametrize("query", ["client_id=%00", MANY, "scope=%00", "client_id=a&client_id=b"])
def test_people_get_a_page(client: Client, query: str) -> None:
    answer = client.get(f"{AUTHORIZE}?{query}")
    assert answer.status_code == 400
    assert "This request cannot be answered" in answer.content.decode()


def test_a_request_too_long_for_the_way_to_the_login_is_refused(client: Client, application: Any) -> None:
    answer = client.get(f"{AUTHORIZE}?{Flow(client).query(state='s' * 20_000)}")
    assert answer.status_code == 400
    assert "This request cannot be answered" in answer.content.decode()
    assert client.get(f"/oauth/connections/?x={'x' * 20_000}").status_code == 302


@pytest.mark.parametrize("path", ["/oauth/login/", "/oauth/connections/", AUTHORIZE])
def test_forms_that_cannot_be_read_are_refused_with_a_page(client: Client, path: str) -> None:
    answer = client.post(path, MANY, content_type=FORM)
    assert answer.status_code == 400
    assert "too many parameters" in answer.content.decode()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (TOKEN, "grant_type=authorization_code&grant_type=x"),
        (TOKEN, "grant_type=refresh_token&refresh_token=a&refresh_token=b"),
        (REVOKE, "token=a&token=b"),
    ],
)
def test_a_parameter_stands_once(client: Client, path: str, body: str) -> None:
    answer = client.post(path, body, content_type=FORM)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert "more than once" in answer.json()["error_description"]


def test_every_error_has_a_description(flow: Flow) -> None:
    for sent in ({"code": "nobody-issued"}, {"client_id": "nobody", "code": "x"}, {"grant_type": "nothing"}):
        assert flow.token(**sent).json()["error_description"]
    assert flow.answer(flow.open(scope="no-such-scope"))["error_description"]


def basic(text: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


@pytest.fixture
def no_nul() -> Iterator[None]:
    """PostgreSQL fails where it is asked for what holds one."""
    asked: list[Any] = []

    def run(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.extend(params or ())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(run):
        yield
    assert not [value for value in asked if isinstance(value, str) and "\0" in value]


@pytest.mark.usefixtures("no_nul")
@pytest.mark.parametrize("path", [TOKEN, REVOKE, "/oauth/introspect/"])
@pytest.mark.parametrize("credentials", ["ro\0bot:x", "%00:x"])
def test_no_client_has_a_nul_in_its_name(client: Client, path: str, credentials: str) -> None:
    sent = {"grant_type": "client_credentials", "token": "x"}
    assert client.post(path, sent, headers=basic(credentials)).status_code in (401, 403)


@pytest.mark.usefixtures("no_nul")
def test_nor_does_a_signature_name_one(client: Client) -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"sub": "ro\0bot"}).encode()).decode().rstrip("=")
    sent = {
        "grant_type": "client_credentials",
        "client_assertion": f"e30.{claims}.x",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    }
    answer = client.post(TOKEN, sent)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize(
    ("body", "kind"), [("token=%00", FORM), ("token=a&token=b", FORM), ("x", "multipart/form-data")]
)
def test_an_introspection_that_cannot_be_read_is_refused_as_json(client: Client, body: str, kind: str) -> None:
    answer = client.post("/oauth/introspect/", body, content_type=kind)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


def test_a_client_that_is_disabled_or_shows_a_bad_signature_introspects_nothing(
    client: Client, application: Any
) -> None:
    sent = {"token": "x"}
    application.client_type, application.client_secret = "confidential", "s3cret"
    application.save()
    answer = client.post("/oauth/introspect/", sent, headers=basic("robot:s3cret"))
    assert answer.json() == {"active": False}
    refused = client.post("/oauth/introspect/", {**sent, "client_assertion": "a.b.c"})
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    row = Row.objects.create(application=application, enabled=False)
    assert client.post("/oauth/introspect/", sent, headers=basic("robot:s3cret")).status_code == 403
    Row.objects.filter(pk=row.pk).update(awaits_approval=True)
    assert client.post("/oauth/introspect/", sent, headers=basic("robot:s3cret")).status_code == 401


@pytest.mark.parametrize("page", ["authorized_tokens/abc/delete/", "applications/abc/", "applications/abc/update/"])
def test_an_address_that_is_no_rows_is_not_found(admin_client: Client, page: str) -> None:
    assert admin_client.get(f"/oauth/{page}").status_code == 404


@pytest.mark.parametrize("resource", ["http://[", "http://\u2100/"])
def test_a_resource_that_no_url_is_like_is_refused_for_other_clients_too(
    flow: Flow, settings: Any, resource: str
) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "SCOPES": {"write": "Change everything"}}
    page = flow.open(scope="write", resource=resource)
    assert (page.status_code, "resource is no URL" in page.content.decode()) == (400, True)
    machine = get_application_model().objects.get()
    machine.client_type, machine.authorization_grant_type = "confidential", "client-credentials"
    machine.client_secret = "s3cret"
    machine.save()
    answer = flow.token(grant_type="client_credentials", client_secret="s3cret", scope="write", resource=resource)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
