"""Personal access tokens in admin."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client as Browser
from oauth2_provider.models import get_access_token_model

from mcp_gateway.models import OAuthEvent, PersonalToken, Scope
from mcp_gateway.oauth import personal
from mcp_gateway.oauth.authentication import InvalidToken, check_request

Page = Callable[..., str]


@pytest.fixture(autouse=True)
def _urls(settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": "http://testserver"}
    personal.forget()


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_user("ada", password="secret")


def form(owner: User, **changed: Any) -> dict[str, Any]:
    return {"user": owner.pk, "name": "Build", "endpoint": "", "scopes": ["mcp:tools"], "days": "90", **changed}


def text_of(response: Any) -> str:
    return unescape(response.content.decode())


def token_in(response: Any) -> str:
    match = re.search(rf"{personal.PREFIX}[\w-]+", text_of(response))
    assert match is not None, text_of(response)
    return match[0]


def test_an_administrator_makes_a_token_for_somebody(admin_client: Browser, page: Page, person: User) -> None:
    Scope.objects.create(name="orders:write", description="Change orders")
    add = page("personaltoken", view="add")
    assert "Change orders" in text_of(admin_client.get(add))
    made = admin_client.post(add, form(person, scopes=["mcp:tools", "orders:write"]))
    assert made.status_code == 200
    assert "no-store" in made["Cache-Control"]
    principal = check_request(f"Bearer {token_in(made)}", "").principal
    assert (principal.user, principal.scopes) == (person, frozenset({"mcp:tools", "orders:write"}))
    assert "made by admin" in OAuthEvent.objects.get(kind="token_issued").detail
    token = PersonalToken.objects.get()
    listed = text_of(admin_client.get(page("personaltoken")))
    assert "orders:write" in listed
    shown = admin_client.get(page("personaltoken", token))
    assert shown.status_code == 200
    for response in (listed, text_of(shown)):
        assert token_in(made) not in response


@pytest.mark.parametrize("action", [True, False])
def test_deleting_one_revokes_the_token(admin_client: Browser, page: Page, person: User, action: bool) -> None:
    text = token_in(admin_client.post(page("personaltoken", view="add"), form(person)))
    token = PersonalToken.objects.get()
    if action:
        chosen = {"action": "delete_selected", "_selected_action": [token.pk], "post": "yes"}
        admin_client.post(page("personaltoken"), chosen)
    else:
        admin_client.post(page("personaltoken", token, view="delete"), {"post": "yes"})
    with pytest.raises(InvalidToken):
        check_request(f"Bearer {text}", "")
    assert not PersonalToken.objects.exists()
    assert not get_access_token_model().objects.exists()
    assert "revoked by admin" in OAuthEvent.objects.get(kind="revoked").detail


def test_what_the_user_could_not_have_makes_no_token(admin_client: Browser, page: Page, person: User) -> None:
    Scope.objects.create(name="traders:only").groups.add(Group.objects.create(name="traders"))
    add = page("personaltoken", view="add")
    assert "may not grant: traders:only" in text_of(admin_client.post(add, form(person, scopes=["traders:only"])))
    wrong: list[dict[str, Any]] = [{"scopes": []}, {"name": ""}, {"days": "1000"}, {"endpoint": "nosuch"}, {"user": ""}]
    for changed in wrong:
        assert "errorlist" in text_of(admin_client.post(add, form(person, **changed)))
    admin_client.post(add, form(person))
    assert "of this name already" in text_of(admin_client.post(add, form(person)))
    person.is_active = False
    person.save()
    assert "is disabled" in text_of(admin_client.post(add, form(person, name="Other")))
    assert PersonalToken.objects.count() == 1


def test_who_is_no_superuser_makes_no_token_that_acts_as_one(
    client: Browser, page: Page, admin_user: User, person: User
) -> None:
    helper = User.objects.create_user("eve", is_staff=True)
    helper.user_permissions.add(*Permission.objects.filter(codename__endswith="_personaltoken"))
    client.force_login(helper)
    add = page("personaltoken", view="add")
    assert "Only a superuser" in text_of(client.post(add, form(admin_user)))
    assert token_in(client.post(add, form(person)))


def test_the_administrators_group_sees_and_revokes_but_makes_none(
    client: Browser, page: Page, admin_client: Browser, person: User
) -> None:
    admin_client.post(page("personaltoken", view="add"), form(person))
    helper = User.objects.create_user("eve", is_staff=True)
    helper.groups.add(Group.objects.get(name="MCP administrators"))
    client.force_login(helper)
    assert client.get(page("personaltoken", view="add")).status_code == 403
    token = PersonalToken.objects.get()
    assert client.get(page("personaltoken", token)).status_code == 200
    client.post(page("personaltoken", token, view="delete"), {"post": "yes"})
    assert not PersonalToken.objects.exists()


def test_there_is_one_way_to_save_a_new_token(admin_client: Browser, page: Page, db: None) -> None:
    text = admin_client.get(page("personaltoken", view="add")).content.decode()
    assert 'name="_save"' in text
    assert "_addanother" not in text
    assert "_continue" not in text
