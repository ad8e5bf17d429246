"""The authorization endpoint: what is refused, what people see, what the client gets back."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from oauth2_provider.models import get_grant_model

from mcp_gateway.models import Client as ClientRow
from mcp_gateway.models import Endpoint, OAuthEvent, Scope
from tests.oauth.flow import MCP, REDIRECT, Flow, form_fields


def test_allow_sends_a_code_state_and_issuer(flow: Flow) -> None:
    answer = flow.answer(flow.press(flow.open(), "Allow"))
    assert answer.pop("code")
    assert answer == {"state": "st4te", "iss": "http://testserver"}
    grant = get_grant_model().objects.get()
    assert (grant.resource, grant.scope, grant.code_challenge_method) == ([MCP], "mcp:tools", "S256")


def test_deny_sends_access_denied_state_and_issuer(flow: Flow) -> None:
    answer = flow.answer(flow.press(flow.open(), "Deny"))
    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "st4te", "http://testserver")
    assert not get_grant_model().objects.exists()


def test_the_issuer_is_there_once_with_the_toolkits_own_switch_on(flow: Flow, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True}
    location = flow.press(flow.open(), "Allow")["Location"]
    assert parse_qs(urlsplit(location).query)["iss"] == ["http://testserver"]


@pytest.mark.parametrize("resource", [MCP, f"{MCP}/", "HTTP://TestServer:80/mcp"])
def test_every_spelling_of_the_resource_is_stored_as_one(flow: Flow, resource: str) -> None:
    flow.code(resource=resource)
    assert get_grant_model().objects.get().resource == [MCP]


def test_a_missing_resource_means_the_only_endpoint(flow: Flow) -> None:
    flow.code(resource=None)
    assert get_grant_model().objects.get().resource == [MCP]


def test_a_missing_resource_is_refused_where_there_are_several_endpoints(flow: Flow) -> None:
    Endpoint.objects.create(slug="billing")
    answer = flow.answer(flow.open(resource=None))
    assert (answer["error"], answer["iss"]) == ("invalid_target", "http://testserver")


@pytest.mark.parametrize(
    "resource",
    [
        "https://other.example/mcp",
        "http://testserver/",
        "http://testserver/mcp/nosuch",
        "nonsense",
        [MCP, "https://other.example/mcp"],
        [MCP, "http://testserver/mcp/billing"],
    ],
)
def test_an_unknown_resource_is_an_invalid_target_on_get_and_post(flow: Flow, resource: Any) -> None:
    Endpoint.objects.create(slug="billing")
    answer = flow.answer(flow.open(resource=resource))
    assert (answer["error"], answer["state"], answer["iss"]) == ("invalid_target", "st4te", "http://testserver")

    text = resource if isinstance(resource, str) else " ".join(resource)
    answer = flow.answer(flow.press(flow.open(), "Allow", resource=text))
    assert (answer["error"], answer["iss"]) == ("invalid_target", "http://testserver")
    assert not get_grant_model().objects.exists()


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge": "x" * 200}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "nosuch"}, "invalid_scope"),
        ({"scope": "mcp:tools nosuch"}, "invalid_scope"),
    ],
)
def test_what_our_endpoints_do_not_allow(flow: Flow, changed: dict[str, Any], error: str) -> None:
    answer = flow.answer(flow.open(**changed))
    assert (answer["error"], answer["state"], answer["iss"]) == (error, "st4te", "http://testserver")


def test_the_form_cannot_smuggle_what_the_request_may_not(flow: Flow) -> None:
    for changed in ({"scope": "nosuch", "grant:nosuch": "on"}, {"code_challenge_method": "plain"}):
        assert "error" in flow.answer(flow.press(flow.open(), "Allow", **changed))
    fields = {**form_fields(flow.open().content.decode(), "Allow"), "code_challenge": ""}
    assert flow.answer(flow.browser.post("/oauth/authorize/", fields))["error"] == "invalid_request"
    assert not get_grant_model().objects.exists()


def test_no_scope_asks_for_the_default_scopes(flow: Flow) -> None:
    flow.code(scope=None)
    assert get_grant_model().objects.get().scope == "mcp:tools"


def test_a_client_asks_only_for_what_it_was_allowed(flow: Flow, application: Any) -> None:
    allowed = Scope.objects.create(name="orders:read", description="Read your orders")
    row = ClientRow.objects.create(application=application)
    row.allowed_scopes.add(allowed)
    assert flow.answer(flow.open(scope="mcp:tools"))["error"] == "invalid_scope"
    assert flow.open(scope="orders:read").status_code == 200


def test_a_disabled_scope_is_granted_to_nobody(flow: Flow) -> None:
    Scope.objects.create(name="orders:read", enabled=False)
    assert flow.answer(flow.open(scope="orders:read"))["error"] == "invalid_scope"


def test_who_comes_from_a_disabled_client_is_not_told_to_register_a_new_one(flow: Flow, application: Any) -> None:
    ClientRow.objects.create(application=application, enabled=False)
    response = flow.open()
    text = response.content.decode()
    assert response.status_code == 400
    assert "switched off" in text
    assert "add it again" not in text
    assert "not registered with this server" in flow.open(client_id="nosuch").content.decode()


@pytest.mark.parametrize("changed", [{"client_id": "nosuch"}, {"redirect_uri": "https://evil.example/callback"}])
def test_a_wrong_client_or_redirect_uri_is_told_to_the_person_only(flow: Flow, changed: dict[str, Any]) -> None:
    response = flow.open(**changed)
    assert response.status_code == 400
    assert "Location" not in response
    assert "evil.example" not in response.content.decode()


@pytest.mark.parametrize("parameter", ["client_id", "scope", "resource", "code_challenge", "state"])
def test_a_nul_character_is_refused_politely(flow: Flow, parameter: str) -> None:
    assert flow.open(**{parameter: "a\0b"}).status_code == 400


@pytest.mark.parametrize("setting", ["force", "auto"])
def test_a_client_cannot_skip_consent(flow: Flow, settings: Any, setting: str) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "REQUEST_APPROVAL_PROMPT": setting}
    flow.token(code=flow.code())
    response = flow.open(approval_prompt="auto")
    assert response.status_code == 200
    assert "Allow" in response.content.decode()


def test_only_an_administrator_can_waive_consent(flow: Flow, application: Any) -> None:
    application.skip_authorization = True
    application.save()
    answer = flow.answer(flow.open())
    assert answer["code"]
    assert answer["iss"] == "http://testserver"


def test_a_request_that_forbids_a_page_is_told_that_consent_is_needed(flow: Flow) -> None:
    answer = flow.answer(flow.open(prompt="none"))
    assert (answer["error"], answer["state"], answer["iss"]) == ("consent_required", "st4te", "http://testserver")


def test_a_request_that_forbids_a_page_is_told_that_login_is_needed(client: Client, application: Any) -> None:
    flow = Flow(client)
    answer = flow.answer(flow.open(prompt="none"))
    assert (answer["error"], answer["state"], answer["iss"]) == ("login_required", "st4te", "http://testserver")


def test_consent_names_everything_a_person_must_know(flow: Flow) -> None:
    narrow = Scope.objects.create(name="orders:read", description="Read your orders")
    broad = Scope.objects.create(name="orders:all", description="Do anything with your orders")
    broad.implies.add(narrow)
    page = flow.open(scope="mcp:tools orders:all").content.decode()
    for text in (
        "Robot",
        "robot",
        "client.example",
        "MCP gateway",
        "http://testserver/mcp",
        "ada",
        "Use the tools of this site",
        "Do anything with your orders",
        "Read your orders",
    ):
        assert f">{text}</" in page, text


@pytest.fixture
def orders(db: None) -> None:
    """Two more scopes, one of which only traders may grant."""
    Scope.objects.create(name="orders:read", description="Read your orders")
    write = Scope.objects.create(name="orders:write", description="Change your orders")
    write.groups.add(Group.objects.create(name="traders"))


ALL_THREE = "mcp:tools orders:read orders:write"


@pytest.mark.usefixtures("orders")
def test_a_person_ticks_off_what_a_client_should_not_do(flow: Flow, user: Any) -> None:
    user.groups.add(Group.objects.get(name="traders"))
    page = flow.open(scope=ALL_THREE)
    assert page.content.decode().count('type="checkbox"') == 3
    fields = form_fields(page.content.decode(), "Allow")
    del fields["grant:orders:read"]
    answer = flow.answer(flow.browser.post(f"/oauth/authorize/?{page.request['QUERY_STRING']}", fields))
    token = flow.token(code=answer["code"]).json()
    assert set(token["scope"].split()) == {"mcp:tools", "orders:write"}
    assert OAuthEvent.objects.get(kind="consent_granted").scopes == "mcp:tools orders:write"


@pytest.mark.usefixtures("orders")
def test_ticking_nothing_is_no_answer_yet(flow: Flow) -> None:
    page = flow.open(scope="mcp:tools orders:read")
    fields = {
        name: value
        for name, value in form_fields(page.content.decode(), "Allow").items()
        if not name.startswith("grant:")
    }
    again = flow.browser.post(f"/oauth/authorize/?{page.request['QUERY_STRING']}", fields, follow=True)
    assert again.status_code == 200
    assert "Nothing was ticked" in again.content.decode()
    assert flow.answer(flow.press(again, "Allow"))["code"]
    assert flow.browser.post("/oauth/authorize/", fields).status_code == 400


@pytest.mark.usefixtures("orders")
def test_no_box_adds_what_was_not_asked_for(flow: Flow) -> None:
    page = flow.open(scope="mcp:tools")
    assert 'type="checkbox"' not in page.content.decode()
    code = flow.answer(flow.press(page, "Allow", **{"grant:orders:read": "on"}))["code"]
    assert flow.token(code=code).json()["scope"] == "mcp:tools"


@pytest.mark.usefixtures("orders")
def test_what_a_person_may_not_grant_is_not_offered(flow: Flow) -> None:
    page = flow.open(scope=ALL_THREE)
    text = page.content.decode()
    assert "you cannot allow" in text
    assert "grant:orders:write" not in text
    code = flow.answer(flow.press(page, "Allow", **{"grant:orders:write": "on", "scope": ALL_THREE}))["code"]
    assert set(flow.token(code=code).json()["scope"].split()) == {"mcp:tools", "orders:read"}


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("skip", [True, False])
def test_who_may_grant_nothing_of_it_denies(flow: Flow, application: Any, skip: bool) -> None:
    application.skip_authorization = skip
    application.save()
    answer = flow.answer(flow.open(scope="orders:write"))
    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "st4te", "http://testserver")


@pytest.mark.usefixtures("orders")
def test_waived_consent_grants_no_more_than_a_person_may(flow: Flow, application: Any) -> None:
    application.skip_authorization = True
    application.save()
    code = flow.answer(flow.open(scope=ALL_THREE))["code"]
    assert set(flow.token(code=code).json()["scope"].split()) == {"mcp:tools", "orders:read"}


def test_the_audit_trail_tells_what_was_asked_agreed_and_denied(flow: Flow) -> None:
    page = flow.open()
    flow.open()
    flow.press(page, "Deny")
    flow.press(page, "Allow")
    told = OAuthEvent.objects.order_by("pk")
    assert [event.kind for event in told] == ["consent_shown", "consent_denied", "consent_granted"]
    assert {(event.user, event.client_id, event.resource, event.scopes, event.address) for event in told} == {
        ("ada", "robot", MCP, "mcp:tools", "127.0.0.1")
    }


def test_a_form_for_a_client_that_is_gone_is_refused(flow: Flow, application: Any) -> None:
    page = flow.open()
    application.delete()
    assert flow.press(page, "Allow").status_code == 400


def test_consent_warns_where_the_answer_stays_on_this_computer(flow: Flow) -> None:
    assert "program on the computer" not in flow.open().content.decode()
    page = flow.open(redirect_uri="http://127.0.0.1:33418/callback").content.decode()
    assert "127.0.0.1:33418" in page
    assert "program on the computer" in page


def test_consent_warns_where_the_answer_opens_an_app(flow: Flow, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "cursor"]}
    page = flow.open(redirect_uri="cursor://callback")
    assert "cursor:" in page.content.decode()
    assert "app that is installed" in page.content.decode()
    assert "form-action 'self' cursor:" in page["Content-Security-Policy"]
    assert flow.press(page, "Allow")["Location"].startswith("cursor://callback?code=")


def test_names_are_text_and_never_markup(flow: Flow, application: Any) -> None:
    application.name = "<script>alert(1)</script>"
    application.save()
    page = flow.open().content.decode()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_page_is_not_framed_not_stored_and_loads_nothing_foreign(flow: Flow) -> None:
    response = flow.open()
    policy = dict(part.split(" ", 1) for part in response["Content-Security-Policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "style-src": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "form-action": "'self' https://client.example",
    }
    assert response["X-Frame-Options"] == "DENY"
    assert response["Cache-Control"] == "no-store"
    page = response.content.decode()
    assert "<script" not in page
    assert "style=" not in page


def test_the_stylesheet_may_come_from_where_static_files_are(flow: Flow, settings: Any) -> None:
    settings.STATIC_URL = "https://cdn.example/static/"
    assert "style-src https://cdn.example" in flow.open()["Content-Security-Policy"]


def test_an_ipv6_redirect_is_named_by_its_scheme(flow: Flow, application: Any) -> None:
    application.redirect_uris = "http://[::1]/callback"
    application.save()
    response = flow.open(redirect_uri="http://[::1]:3030/callback")
    assert response["Content-Security-Policy"].endswith("form-action 'self' http:")


def test_somebody_who_is_not_logged_in_logs_in_on_our_page(client: Client, user: Any, application: Any) -> None:
    flow = Flow(client)
    redirect = flow.open()
    assert redirect["Location"].startswith("/oauth/login/?next=/oauth/authorize/")
    page = client.get(redirect["Location"])
    assert page.status_code == 200
    wrong = client.post("/oauth/login/", {**form_fields(page.content.decode()), "username": "ada", "password": "no"})
    assert "correct username and password" in wrong.content.decode()
    form = {**form_fields(wrong.content.decode()), "username": "ada", "password": "secret"}
    consent = client.post("/oauth/login/", form, follow=True)
    assert consent.redirect_chain[0][0].startswith("/oauth/authorize/?")
    assert "Robot" in consent.content.decode()


def test_not_you_leads_to_the_login_page_and_back(flow: Flow) -> None:
    page = flow.open().content.decode()
    assert "prompt=login" in page
    response = flow.open(prompt="login")
    assert response["Location"].startswith("/oauth/login/?next=")
    assert "prompt" not in response["Location"]


def test_a_projects_own_login_page_is_used(client: Client, application: Any, settings: Any) -> None:
    settings.LOGIN_URL = "/.well-known/openid-configuration"
    assert Flow(client).open()["Location"].startswith("/.well-known/openid-configuration?next=")
    settings.LOGIN_URL = "https://login.example/"
    assert Flow(client).open()["Location"].startswith("https://login.example/?next=")


def test_without_next_a_login_leads_somewhere(client: Client, user: Any) -> None:
    response = client.post("/oauth/login/", {"username": "ada", "password": "secret"})
    assert response["Location"] == "/"


def test_a_form_that_is_not_ours_is_refused(flow: Flow) -> None:
    response = flow.browser.post("/oauth/authorize/", {"resource": MCP, "scope": "mcp:tools"})
    assert response.status_code == 400
    assert REDIRECT not in response.content.decode()


def test_the_form_needs_its_csrf_token(application: Any, user: Any) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    flow = Flow(browser)
    page = flow.open()
    fields = form_fields(page.content.decode(), "Allow")
    assert browser.post(f"/oauth/authorize/?{flow.query()}", fields).status_code == 302
    fields["csrfmiddlewaretoken"] = "x" * 64
    assert browser.post(f"/oauth/authorize/?{flow.query()}", fields).status_code == 403
