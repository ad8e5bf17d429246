"""The token endpoint: a code becomes a token for one endpoint, and nothing widens it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_refresh_token_model,
)

from mcp_gateway.models import Client as ClientRow
from mcp_gateway.models import Endpoint, Scope
from mcp_gateway.oauth.authentication import InvalidToken, check_request
from tests.oauth.flow import MCP, REDIRECT, Flow


def test_a_code_becomes_a_short_lived_token_that_opens_the_endpoint(flow: Flow, user: Any) -> None:
    response = flow.token(code=flow.code())
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    answer = response.json()
    assert (answer["token_type"], answer["scope"], answer["expires_in"]) == ("Bearer", "mcp:tools", 900)
    principal = check_request(f"Bearer {answer['access_token']}", "").principal
    assert (principal.user, principal.scopes, principal.client_id) == (user, frozenset({"mcp:tools"}), "robot")
    row = get_access_token_model().objects.get()
    assert row.token == ""
    assert row.expires <= timezone.now() + timedelta(seconds=900)


def test_a_projects_own_lifetime_counts(flow: Flow, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "ACCESS_TOKEN_EXPIRE_SECONDS": 120}
    flow.browser.get("/oauth/authorize/")
    assert flow.token(code=flow.code()).json()["expires_in"] == 120


@pytest.mark.parametrize("authorized", [MCP, f"{MCP}/", "HTTP://TESTSERVER/mcp", None])
@pytest.mark.parametrize("exchanged", [MCP, f"{MCP}/", "http://testserver:80/mcp", None])
def test_every_spelling_of_the_resource_is_the_same_one(
    flow: Flow, authorized: str | None, exchanged: str | None
) -> None:
    answer = flow.token(code=flow.code(resource=authorized), resource=exchanged).json()
    assert check_request(f"Bearer {answer['access_token']}", "").principal.authenticated


@pytest.mark.parametrize("resource", ["https://other.example/mcp", f"{MCP}/billing", [MCP, f"{MCP}/billing"], "x"])
def test_an_exchange_cannot_reach_for_another_resource(flow: Flow, resource: Any) -> None:
    Endpoint.objects.create(slug="billing")
    code = flow.code()
    response = flow.token(code=code, resource=resource)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_target")
    assert not get_access_token_model().objects.exists()


def test_a_code_works_once(flow: Flow) -> None:
    code = flow.code()
    assert flow.token(code=code).status_code == 200
    assert flow.token(code=code).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("verifier", ["w" * 43, None])
def test_a_code_needs_its_verifier(flow: Flow, verifier: str | None) -> None:
    response = flow.token(code=flow.code(), code_verifier=verifier)
    assert response.status_code == 400
    assert not get_access_token_model().objects.exists()


def test_a_refresh_keeps_scope_and_endpoint(flow: Flow) -> None:
    Scope.objects.create(name="orders:read")
    first = flow.token(code=flow.code(scope="mcp:tools orders:read")).json()
    for resource in (None, f"{MCP}/"):
        second = flow.token(grant_type="refresh_token", refresh_token=first["refresh_token"], resource=resource).json()
        assert set(second["scope"].split()) == {"mcp:tools", "orders:read"}
        assert second["expires_in"] == 900
        assert check_request(f"Bearer {second['access_token']}", "").principal.authenticated
        with pytest.raises(InvalidToken):
            check_request(f"Bearer {first['access_token']}", "")
        first = second


def test_a_refresh_hands_out_no_scope_that_the_client_may_no_longer_ask_for(flow: Flow, application: Any) -> None:
    Scope.objects.create(name="orders:read")
    first = flow.token(code=flow.code(scope="mcp:tools orders:read")).json()
    ClientRow.objects.create(application=application).allowed_scopes.add(Scope.objects.get(name="mcp:tools"))
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    assert flow.token(**form, scope="orders:read").json()["error"] == "invalid_scope"
    assert flow.token(**form).json()["scope"] == "mcp:tools"


def test_a_refresh_hands_out_no_scope_that_its_user_may_no_longer_grant(flow: Flow, user: Any) -> None:
    traders = Group.objects.create(name="traders")
    Scope.objects.create(name="orders:write").groups.add(traders)
    user.groups.add(traders)
    code = flow.code(scope="mcp:tools orders:write")
    first = flow.token(code=flow.code(scope="mcp:tools orders:write")).json()
    assert set(first["scope"].split()) == {"mcp:tools", "orders:write"}
    user.groups.clear()
    assert flow.token(code=code).json()["scope"] == "mcp:tools"
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    assert flow.token(**form, scope="orders:write").json()["error"] == "invalid_scope"
    assert flow.token(**form).json()["scope"] == "mcp:tools"


@pytest.mark.parametrize("lost", ["disabled", "deleted", "not allowed"])
def test_an_answer_names_no_scope_that_was_lost_since_consent(flow: Flow, application: Any, lost: str) -> None:
    Scope.objects.create(name="orders:read")
    code = flow.code(scope="mcp:tools orders:read")
    first = flow.token(code=flow.code(scope="mcp:tools orders:read")).json()
    if lost == "not allowed":
        ClientRow.objects.create(application=application).allowed_scopes.add(Scope.objects.get(name="mcp:tools"))
    elif lost == "disabled":
        Scope.objects.filter(name="orders:read").update(enabled=False)
    else:
        Scope.objects.get(name="orders:read").delete()
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    for answer in (flow.token(code=code).json(), flow.token(**form).json()):
        assert answer["scope"] == "mcp:tools"
        assert check_request(f"Bearer {answer['access_token']}", "").principal.scopes == {"mcp:tools"}


def test_where_no_scope_is_left_the_client_asks_anew(flow: Flow) -> None:
    Scope.objects.create(name="orders:read")
    code = flow.code(scope="orders:read")
    first = flow.token(code=flow.code(scope="orders:read")).json()
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    Scope.objects.filter(name="orders:read").update(enabled=False)
    for response in (flow.token(code=code), flow.token(**form)):
        assert (response.status_code, response.json()["error"]) == (400, "invalid_grant")
        assert "scopes" in response.json()["error_description"]
    # Nothing was spent: with the scope back, both go on.
    Scope.objects.filter(name="orders:read").update(enabled=True)
    assert flow.token(code=code).json()["scope"] == "orders:read"
    assert flow.token(**form).json()["scope"] == "orders:read"


def test_who_reads_the_database_cannot_use_a_code(flow: Flow) -> None:
    code = flow.code()
    kept = get_grant_model().objects.get().code
    assert code not in kept
    assert flow.token(code=kept).json()["error"] == "invalid_grant"
    answer = flow.token(code=code).json()
    assert not get_grant_model().objects.exists()
    # A second use ends the family, as ever; what is stored ends nothing.
    assert flow.token(code=kept).json()["error"] == "invalid_grant"
    assert check_request(f"Bearer {answer['access_token']}", "").principal.authenticated
    assert flow.token(code=code).json()["error"] == "invalid_grant"
    with pytest.raises(InvalidToken):
        check_request(f"Bearer {answer['access_token']}", "")


def test_a_code_from_before_codes_were_hashed_is_still_good(flow: Flow) -> None:
    code = flow.code()
    get_grant_model().objects.update(code=code)
    answer = flow.token(code=code).json()
    assert check_request(f"Bearer {answer['access_token']}", "").principal.authenticated
    assert flow.token(code=code).json()["error"] == "invalid_grant"
    with pytest.raises(InvalidToken):
        check_request(f"Bearer {answer['access_token']}", "")


def test_a_refresh_cannot_reach_for_another_endpoint(flow: Flow) -> None:
    Endpoint.objects.create(slug="billing")
    first = flow.token(code=flow.code()).json()
    response = flow.token(grant_type="refresh_token", refresh_token=first["refresh_token"], resource=f"{MCP}/billing")
    assert (response.status_code, response.json()["error"]) == (400, "invalid_target")


def test_what_was_agreed_to_for_an_endpoint_waits_while_that_is_switched_off(flow: Flow) -> None:
    """The toolkit knows nothing of it, and would issue a token by its own rules."""
    first, code = flow.token(code=flow.code()).json(), flow.code()
    Endpoint.objects.update(enabled=False)
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    for resource in (MCP, None):
        assert flow.token(**form, resource=resource).json()["error"] == "invalid_target"
        assert flow.token(code=code, resource=resource).json()["error"] == "invalid_target"
    Endpoint.objects.update(enabled=True)
    assert flow.token(**form).json()["expires_in"] == 900
    assert flow.token(code=code).json()["expires_in"] == 900


def test_a_grant_for_nothing_in_particular_cannot_become_one_for_an_endpoint(flow: Flow, user: Any) -> None:
    """The toolkit itself takes the resource of the token request where the grant has none."""
    code = flow.code()
    get_grant_model().objects.update(resource=[])
    assert flow.token(code=code).json()["error"] == "invalid_target"

    first = flow.token(code=flow.code()).json()
    get_refresh_token_model().objects.update(resource=[])
    response = flow.token(grant_type="refresh_token", refresh_token=first["refresh_token"])
    assert response.json()["error"] == "invalid_target"


def test_a_disabled_user_gets_no_token(flow: Flow, user: Any) -> None:
    first = flow.token(code=flow.code()).json()
    code = flow.code()
    user.is_active = False
    user.save()
    assert flow.token(code=code).json()["error"] == "invalid_grant"
    response = flow.token(grant_type="refresh_token", refresh_token=first["refresh_token"])
    assert response.json()["error"] == "invalid_grant"


def test_a_disabled_client_gets_no_token(flow: Flow, application: Any) -> None:
    first = flow.token(code=flow.code()).json()
    code = flow.code()
    ClientRow.objects.create(application=application, enabled=False)
    for response in (
        flow.token(code=code),
        flow.token(grant_type="refresh_token", refresh_token=first["refresh_token"]),
    ):
        assert (response.status_code, response.json()["error"]) == (401, "invalid_client")


def test_programs_have_no_csrf_token_and_no_session(flow: Flow, user: Any, settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    code = flow.code()
    program = Client(enforce_csrf_checks=True)
    answer = Flow(program).token(code=code)
    assert answer.status_code == 200
    form = {"token": answer.json()["access_token"], "client_id": "robot"}
    assert program.post("/oauth/revoke_token/", form).status_code == 200
    # The person without a session is led to the login page with the whole request.
    assert Flow(program).open()["Location"].startswith("/oauth/login/?next=/oauth/authorize/%3Fresponse_type")


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_a_revoked_token_is_out_at_once(flow: Flow, which: str) -> None:
    answer = flow.token(code=flow.code()).json()
    assert check_request(f"Bearer {answer['access_token']}", "").principal.authenticated
    revoked = flow.browser.post("/oauth/revoke_token/", {"token": answer[which], "client_id": "robot"})
    assert revoked.status_code == 200
    with pytest.raises(InvalidToken):
        check_request(f"Bearer {answer['access_token']}", "")
    refreshed = flow.token(grant_type="refresh_token", refresh_token=answer["refresh_token"])
    assert refreshed.json()["error"] == "invalid_grant"


def test_a_password_is_no_way_to_a_token_for_an_endpoint(client: Client, user: Any) -> None:
    get_application_model().objects.create(
        client_id="machine", client_secret="s3cret", client_type="confidential", authorization_grant_type="password"
    )
    form = {"username": "ada", "password": "secret", "client_id": "machine", "client_secret": "s3cret"}
    for resource in ({"resource": MCP}, {}):
        response = client.post("/oauth/token/", {"grant_type": "password", **form, **resource})
        assert response.json()["error"] == "unauthorized_client"
    assert not get_access_token_model().objects.exists()


@pytest.mark.parametrize("parameter", ["code", "client_id", "refresh_token", "resource", "code_verifier"])
def test_a_nul_character_is_refused_politely(flow: Flow, parameter: str) -> None:
    assert flow.token(code=flow.code(), **({} if parameter == "code" else {parameter: "a\0b"})).status_code in (
        200,
        400,
    )
    assert flow.token(**{"code": "x", parameter: "a\0b"}).status_code == 400


def test_a_query_string_that_cannot_be_read_is_no_server_error(flow: Flow) -> None:
    flow.token_path = "/oauth/token/?%zz=1&&a"
    assert flow.token(code=flow.code(), redirect_uri=REDIRECT).status_code in (200, 400)
    flow.authorize_path = "/oauth/authorize/?%zz&&"
    assert flow.open().status_code < 500
