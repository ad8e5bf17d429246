"""The page on which people see what they allowed, take it back, and make tokens for their tools."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client as Browser
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model, get_refresh_token_model

from mcp_gateway.models import Client, Endpoint, OAuthEvent, PersonalToken, Scope
from mcp_gateway.oauth import personal
from mcp_gateway.oauth.authentication import InvalidToken, check_request
from tests.oauth.flow import MCP, Flow

PAGE = "/oauth/connections/"
NEW = {"action": "make", "name": "Editor", "endpoint": "", "scopes": ["mcp:tools"], "days": "30"}


@pytest.fixture(autouse=True)
def _nothing_noted() -> None:
    personal.forget()


def works(token: str, slug: str = "") -> bool:
    try:
        return check_request(f"Bearer {token}", slug).principal.authenticated
    except InvalidToken:
        return False


def text_of(response: Any) -> str:
    return unescape(response.content.decode())


def forms(response: Any, action: str) -> list[dict[str, str]]:
    """The fields of the page's forms for an action."""
    found = [
        dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form))
        for form in re.findall(r"<form.*?</form>", text_of(response), re.DOTALL)
    ]
    return [fields for fields in found if fields.get("action") == action]


def make(browser: Browser, **changed: Any) -> str:
    """Make a token, and read it from the page."""
    response = browser.post(PAGE, {**NEW, **changed})
    assert response.status_code == 200, text_of(response)
    match = re.search(rf"{personal.PREFIX}[\w-]+", text_of(response))
    assert match is not None
    return match[0]


def test_who_is_not_logged_in_logs_in_first(client: Browser, db: None) -> None:
    assert client.get(PAGE)["Location"] == f"/oauth/login/?next={PAGE}"
    assert client.post(PAGE, NEW)["Location"].startswith("/oauth/login/")


def test_it_shows_what_was_allowed_to_whom(flow: Flow) -> None:
    Scope.objects.create(name="orders:read", description="Read your orders")
    flow.token(code=flow.code(scope="mcp:tools orders:read"))
    page = flow.browser.get(PAGE)
    for text in ("Robot", "robot", MCP, "MCP gateway", "Use the tools of this site", "Read your orders", "last used"):
        assert text in text_of(page), text
    assert len(forms(page, "disconnect")) == 1


def test_others_see_nothing_of_it(flow: Flow, client: Browser) -> None:
    flow.token(code=flow.code())
    make(flow.browser)
    client.force_login(get_user_model().objects.create_user("eve"))
    page = client.get(PAGE)
    assert "Robot" not in text_of(page)
    assert "Editor" not in text_of(page).replace("Editor on my laptop", "")
    assert not forms(page, "disconnect")


def test_disconnecting_ends_every_token_and_code_of_the_client(flow: Flow) -> None:
    first, code = flow.token(code=flow.code()).json(), flow.code()
    second = flow.token(code=flow.code()).json()
    renewed = flow.token(grant_type="refresh_token", refresh_token=first["refresh_token"]).json()
    [form] = forms(flow.browser.get(PAGE), "disconnect")
    page = flow.browser.post(PAGE, form, follow=True)
    assert "can do nothing for you any more" in text_of(page)
    assert "Robot" not in text_of(page)
    assert not works(second["access_token"])
    assert not works(renewed["access_token"])
    for answer in (first, second, renewed):
        refused = flow.token(grant_type="refresh_token", refresh_token=answer["refresh_token"])
        assert refused.json()["error"] == "invalid_grant"
    assert flow.token(code=code).json()["error"] == "invalid_grant"
    event = OAuthEvent.objects.get(kind="revoked")
    assert (event.user, event.client_id, event.resource, event.detail) == ("ada", "robot", MCP, "By the user.")


def test_the_toolkits_page_of_tokens_ends_all_of_the_client_too(flow: Flow) -> None:
    """Two windows that refreshed at one moment have two pairs of tokens."""
    first = flow.token(code=flow.code()).json()
    form = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    windows = [flow.token(**form).json() for _window in range(2)]
    row = get_access_token_model().objects.order_by("pk").last()
    assert flow.browser.post(f"/oauth/authorized_tokens/{row.pk}/delete/")["Location"] == "/oauth/authorized_tokens/"
    for window in windows:
        assert not works(window["access_token"])
        assert "error" in flow.token(grant_type="refresh_token", refresh_token=window["refresh_token"]).json()
    assert OAuthEvent.objects.filter(kind="revoked", detail="By the user.").count() == 1


def test_the_toolkits_page_revokes_a_personal_token_and_a_projects_own_one_alone(flow: Flow, make_token: Any) -> None:
    token, other = make(flow.browser), make(flow.browser, name="Other")
    row = PersonalToken.objects.get(name="Editor").access_token
    flow.browser.post(f"/oauth/authorized_tokens/{row.pk}/delete/")
    assert (works(token), works(other)) == (False, True)
    assert [made.name for made in PersonalToken.objects.all()] == ["Other"]
    make_token("first", resource=[])
    make_token("second", resource=[])
    row = get_access_token_model().objects.order_by("pk").last()
    flow.browser.post(f"/oauth/authorized_tokens/{row.pk}/delete/")
    assert get_access_token_model().objects.filter(resource=[]).count() == 1


def test_one_endpoint_is_disconnected_and_the_other_stays(flow: Flow) -> None:
    Endpoint.objects.create(slug="billing", title="Billing")
    one = flow.token(code=flow.code()).json()["access_token"]
    other = {"resource": f"{MCP}/billing"}
    two = flow.token(code=flow.code(**other), **other).json()["access_token"]
    page = flow.browser.get(PAGE)
    assert "Billing" in text_of(page)
    by_resource = {form["resource"]: form for form in forms(page, "disconnect")}
    flow.browser.post(PAGE, by_resource[MCP])
    assert (works(one), works(two, "billing")) == (False, True)


def test_nobody_disconnects_what_is_not_theirs(flow: Flow, client: Browser) -> None:
    token = flow.token(code=flow.code()).json()["access_token"]
    [form] = forms(flow.browser.get(PAGE), "disconnect")
    other = Browser()
    other.force_login(get_user_model().objects.create_user("eve"))
    for sent in (form, {**form, "application": "x"}, {"action": "disconnect"}, {"action": "nonsense"}, {}):
        page = other.post(PAGE, sent, follow=True)
        assert page.redirect_chain == [(PAGE, 302)]
        assert "can do nothing for you any more" not in text_of(page)
    assert works(token)


def test_what_nobody_can_renew_or_use_is_not_shown(flow: Flow) -> None:
    flow.token(code=flow.code())
    get_access_token_model().objects.update(expires=timezone.now() - timedelta(days=1))
    assert "Robot" in text_of(flow.browser.get(PAGE))
    get_refresh_token_model().objects.all().delete()
    assert "Robot" not in text_of(flow.browser.get(PAGE))


def test_clients_of_the_project_that_are_none_of_ours_are_not_shown(flow: Flow, make_token: Any) -> None:
    make_token(resource=[])
    assert "Robot" not in text_of(flow.browser.get(PAGE))


def test_a_token_is_shown_once_and_stored_as_a_hash(flow: Flow, user: Any, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": False}
    token = make(flow.browser)
    principal = check_request(f"Bearer {token}", "").principal
    assert (principal.user, principal.scopes) == (user, frozenset({"mcp:tools"}))
    page = text_of(flow.browser.get(PAGE))
    assert token not in page
    assert "Editor" in page
    row = get_access_token_model().objects.get()
    assert (row.token, row.resource) == ("", [MCP])
    assert timedelta(days=29) < row.expires - timezone.now() < timedelta(days=31)
    for values in (*PersonalToken.objects.values(), *OAuthEvent.objects.values()):
        assert not any(token in str(value) for value in values.values())


def test_the_page_with_the_token_is_not_stored_framed_or_scripted(flow: Flow) -> None:
    response = flow.browser.post(PAGE, NEW)
    assert response["Cache-Control"] == "no-store"
    assert response["X-Frame-Options"] == "DENY"
    assert "form-action 'self'" in response["Content-Security-Policy"]
    assert "default-src 'none'" in response["Content-Security-Policy"]


def test_a_form_sent_twice_makes_one_token(flow: Flow) -> None:
    make(flow.browser)
    again = flow.browser.post(PAGE, NEW)
    assert again.status_code == 400
    assert "of this name already" in text_of(again)
    assert PersonalToken.objects.count() == 1


def test_a_token_is_good_at_its_endpoint_alone(flow: Flow) -> None:
    Endpoint.objects.create(slug="billing", title="Billing")
    token = make(flow.browser, endpoint="billing")
    assert (works(token), works(token, "billing")) == (False, True)


@pytest.mark.parametrize(
    "changed",
    [
        {"scopes": []},
        {"scopes": ["nosuch"]},
        {"scopes": ["mcp:tools", "orders:write"]},
        {"scopes": ["traders:only"]},
        {"name": ""},
        {"name": "x" * 101},
        {"days": "31"},
        {"days": ""},
        {"endpoint": "nosuch"},
    ],
)
def test_what_cannot_be_had_makes_no_token(flow: Flow, changed: dict[str, Any]) -> None:
    """Also a scope that is not self-service, and one that the person may not grant."""
    Scope.objects.create(name="orders:write")
    Scope.objects.create(name="traders:only", self_service=True).groups.add(Group.objects.create(name="traders"))
    response = flow.browser.post(PAGE, {**NEW, **changed})
    assert response.status_code == 400
    assert 'role="alert"' in text_of(response)
    assert not PersonalToken.objects.exists()
    assert not get_access_token_model().objects.exists()


def test_a_member_of_the_group_can_have_the_scope(flow: Flow, user: Any) -> None:
    traders = Group.objects.create(name="traders")
    Scope.objects.create(name="traders:only", self_service=True).groups.add(traders)
    user.groups.add(traders)
    token = make(flow.browser, scopes=["traders:only"])
    assert check_request(f"Bearer {token}", "").principal.scopes == {"traders:only"}
    user.groups.clear()
    assert check_request(f"Bearer {token}", "").principal.scopes == set()


def test_revoking_a_token_ends_it(flow: Flow) -> None:
    token = make(flow.browser)
    other = make(flow.browser, name="Other")
    [*_others, form] = forms(flow.browser.get(PAGE), "revoke-token")
    page = flow.browser.post(PAGE, form, follow=True)
    assert "can do nothing for you any more" in text_of(page)
    assert (works(token), works(other)) == (False, True)
    assert [row.name for row in PersonalToken.objects.all()] == ["Other"]
    assert "Editor" in OAuthEvent.objects.get(kind="revoked").detail


def test_nobody_revokes_a_token_of_somebody_else(flow: Flow) -> None:
    token = make(flow.browser)
    [form] = forms(flow.browser.get(PAGE), "revoke-token")
    other = Browser()
    other.force_login(get_user_model().objects.create_user("eve"))
    # Python reads no number as long as the last one.
    for sent in (form, {**form, "token": "x"}, {**form, "token": "9" * 5000}):
        assert "can do nothing for you any more" not in text_of(other.post(PAGE, sent, follow=True))
    assert works(token)


def test_a_deleted_row_takes_its_token_along_and_the_other_way_round(flow: Flow) -> None:
    token, other = make(flow.browser), make(flow.browser, name="Other")
    PersonalToken.objects.get(name="Editor").delete()
    get_access_token_model().objects.get().delete()
    assert not works(token)
    assert not works(other)
    assert not PersonalToken.objects.exists()


def test_a_disabled_or_limited_kind_of_token_is_no_use(flow: Flow) -> None:
    token = make(flow.browser)
    application = get_application_model().objects.get(client_id=personal.CLIENT_ID)
    row = Client.objects.create(application=application, enabled=False)
    assert not works(token)
    refused = flow.browser.post(PAGE, {**NEW, "name": "Other"})
    assert refused.status_code == 400
    assert "switched personal access tokens off" in text_of(refused)
    row.enabled = True
    row.save()
    row.allowed_scopes.add(Scope.objects.create(name="orders:read", self_service=True))
    assert works(token)
    assert check_request(f"Bearer {token}", "").principal.scopes == set()
    assert flow.browser.post(PAGE, {**NEW, "name": "Other"}).status_code == 400


def test_a_token_of_a_disabled_user_or_past_its_day_is_none(flow: Flow, user: Any) -> None:
    token = make(flow.browser)
    get_access_token_model().objects.update(expires=timezone.now())
    assert not works(token)
    assert "Expired" in text_of(flow.browser.get(PAGE))
    get_access_token_model().objects.update(expires=timezone.now() + timedelta(days=1))
    assert works(token)
    user.is_active = False
    user.save()
    assert not works(token)


def test_the_use_of_a_token_is_noted_once_an_hour(flow: Flow, django_assert_num_queries: Any) -> None:
    token = make(flow.browser)
    assert "never used" in text_of(flow.browser.get(PAGE))
    with django_assert_num_queries(2):
        assert works(token)
    with django_assert_num_queries(1):
        assert works(token)
    row = PersonalToken.objects.get()
    assert row.last_used is not None
    assert "never used" not in text_of(flow.browser.get(PAGE))
    personal.forget()
    works(token)
    assert PersonalToken.objects.get().last_used == row.last_used


def test_the_forms_need_their_csrf_token(flow: Flow, user: Any, settings: Any) -> None:
    settings.MIDDLEWARE = [entry for entry in settings.MIDDLEWARE if "Csrf" not in entry]
    browser = Browser(enforce_csrf_checks=True)
    browser.force_login(user)
    assert browser.post(PAGE, NEW).status_code == 403


def test_names_are_text_and_never_markup(flow: Flow, application: Any) -> None:
    application.name = "<script>alert(1)</script>"
    application.save()
    flow.token(code=flow.code())
    flow.browser.post(PAGE, {**NEW, "name": "<b>bold</b>"})
    page = flow.browser.get(PAGE).content.decode()
    assert "<script" not in page
    assert "<b>bold" not in page


def test_the_consent_page_leads_here(flow: Flow) -> None:
    assert f'href="{PAGE}"' in flow.open().content.decode()
