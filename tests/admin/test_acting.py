"""Whom a client acts as: nobody becomes more than they are by naming a service user, a key or a secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client as Browser
from django.urls import reverse
from oauth2_provider.models import get_application_model

from mcp_gateway.models import Client, Scope
from tests.admin.test_pages import text_of

Staff = Callable[..., Browser]
Page = Callable[..., str]

KEYS = "https://keys.example/ada"


@pytest.fixture
def machine(db: None) -> Any:
    """An application of the grant for clients that act for themselves."""
    return get_application_model().objects.create(
        name="Nightly",
        client_id="nightly",
        client_secret="s3cret",
        client_type="confidential",
        authorization_grant_type="client-credentials",
    )


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def robot(db: None) -> User:
    """Somebody without any rights."""
    return User.objects.create_user("robot")


def ranked(**fields: Any) -> User:
    return User.objects.create_user("ranked", **fields)


def grouped() -> User:
    user = ranked()
    user.groups.add(Group.objects.create(name="Buyers"))
    return user


def permitted() -> User:
    user = ranked()
    user.user_permissions.add(Permission.objects.get(codename="delete_user"))
    return user


BEYOND: dict[str, Callable[[], User]] = {
    "superuser": lambda: ranked(is_superuser=True),
    "group": grouped,
    "permission": permitted,
    "disabled": lambda: ranked(is_active=False),
}


@pytest.mark.parametrize("who", BEYOND)
def test_nobody_lets_a_client_act_as_someone_who_may_do_more(staff: Staff, page: Page, machine: Any, who: str) -> None:
    browser, user = staff("add_personaltoken"), BEYOND[who]()
    fields = {"application": machine.pk, "enabled": "on", "service_user": user.pk}
    assert "only a superuser" in text_of(browser.post(page("client", view="add"), fields)).lower()
    assert not Client.objects.exists()
    row = Client.objects.create(application=machine)
    assert "only a superuser" in text_of(browser.post(page("client", row), fields)).lower()
    row.refresh_from_db()
    assert row.service_user is None


def test_to_let_a_client_act_as_somebody_else_takes_the_permission_for_their_tokens(
    staff: Staff, page: Page, machine: Any, robot: User
) -> None:
    browser, row = staff(), Client.objects.create(application=machine)
    fields = {"enabled": "on", "service_user": robot.pk}
    assert "Can add personal access token" in text_of(browser.post(page("client", row), fields))
    own = User.objects.get(username="operator")
    assert browser.post(page("client", row), {"enabled": "on", "service_user": own.pk}).status_code == 302
    own.user_permissions.add(Permission.objects.get(codename="add_personaltoken"))
    assert browser.post(page("client", row), fields).status_code == 302
    row.refresh_from_db()
    assert row.service_user == robot


def test_a_superuser_names_whom_they_like(admin_client: Browser, page: Page, machine: Any, root: User) -> None:
    row = Client.objects.create(application=machine)
    assert admin_client.post(page("client", row), {"enabled": "on", "service_user": root.pk}).status_code == 302
    row.refresh_from_db()
    assert row.service_user == root


def test_a_client_that_acts_as_a_superuser_keeps_its_keys_and_scopes(
    staff: Staff, page: Page, machine: Any, root: User, scope: Scope
) -> None:
    browser, row = staff("add_personaltoken"), Client.objects.create(application=machine, service_user=root)
    row.allowed_scopes.add(scope)
    text = text_of(browser.get(page("client", row)))
    assert "Only a superuser can let a client or a token act as a superuser." in text
    for field in ("service_user", "auth_method", "jwks", "jwks_uri", "allowed_scopes"):
        assert f'name="{field}"' not in text
    sent = {"enabled": "on", "service_user": "", "auth_method": "private_key_jwt", "jwks_uri": KEYS, "jwks": "{}"}
    assert browser.post(page("client", row), sent).status_code == 302
    row.refresh_from_db()
    assert (row.service_user, row.auth_method, row.jwks_uri, row.jwks) == (root, "", "", "")
    assert list(row.allowed_scopes.all()) == [scope]


def test_a_client_that_acts_as_a_superuser_is_disabled_by_the_group_and_not_enabled_again(
    staff: Staff, page: Page, machine: Any, root: User, robot: User
) -> None:
    browser, row = staff("add_personaltoken"), Client.objects.create(application=machine, service_user=root)

    def is_enabled() -> bool:
        row.refresh_from_db()
        return row.enabled

    browser.post(page("client"), {"action": "disable", "_selected_action": [row.pk]})
    assert not is_enabled()
    answer = browser.post(page("client"), {"action": "enable", "_selected_action": [row.pk]}, follow=True)
    assert "“Nightly” stays disabled." in text_of(answer)
    assert not is_enabled()
    assert "Only a superuser" in text_of(browser.post(page("client", row), {"enabled": "on"}))
    assert not is_enabled()
    Client.objects.update(service_user=robot)
    browser.post(page("client"), {"action": "enable", "_selected_action": [row.pk]})
    assert is_enabled()


def may_change_applications(browser: Browser) -> User:
    user = User.objects.get(username="operator")
    user.user_permissions.add(*Permission.objects.filter(codename__in=("change_application", "view_application")))
    return user


SECRET = {
    "name": "Nightly",
    "client_id": "nightly",
    "client_secret": "known-to-ada",
    "client_type": "confidential",
    "authorization_grant_type": "client-credentials",
    "algorithm": "",
}


def test_the_secret_of_such_a_client_is_out_of_reach_in_the_toolkits_admin(
    staff: Staff, machine: Any, root: User, robot: User
) -> None:
    browser = staff("add_personaltoken")
    may_change_applications(browser)
    get_application_model().objects.update(client_secret="s3cret", hash_client_secret=False)
    Client.objects.create(application=machine, service_user=root)
    address = reverse("admin:oauth2_provider_application_change", args=[machine.pk])
    text = text_of(browser.get(address))
    assert "s3cret" not in text
    assert 'name="client_secret"' not in text
    assert browser.post(address, SECRET).status_code == 403
    Client.objects.update(service_user=robot)
    assert browser.post(address, SECRET).status_code == 302


def test_the_secret_of_such_a_client_is_out_of_reach_on_its_owners_page(
    staff: Staff, machine: Any, root: User, robot: User
) -> None:
    browser = staff("add_personaltoken")
    get_application_model().objects.update(user=may_change_applications(browser))
    Client.objects.create(application=machine, service_user=root)
    address = reverse("oauth2_provider:update", args=[machine.pk])
    assert browser.post(address, SECRET).status_code == 403
    Client.objects.update(service_user=robot)
    assert browser.post(address, SECRET).status_code == 302


def test_nobody_makes_a_token_that_acts_as_someone_who_may_do_more(staff: Staff, page: Page) -> None:
    browser, user = staff("add_personaltoken"), grouped()
    sent = {"user": user.pk, "name": "Ci", "endpoint": "", "scopes": ["mcp:tools"], "days": "7"}
    assert "only a superuser can let" in text_of(browser.post(page("personaltoken", view="add"), sent))
    user.groups.clear()
    assert "mcp_pat_" in text_of(browser.post(page("personaltoken", view="add"), sent))
