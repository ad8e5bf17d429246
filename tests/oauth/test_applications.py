"""The pages on which people register OAuth applications: Django's permissions decide who may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from oauth2_provider.models import get_application_model

PAGES = [("list", "view"), ("detail", "view"), ("register", "add"), ("update", "change"), ("delete", "delete")]

MACHINE = {
    "name": "Machine",
    "client_id": "machine",
    "client_secret": "s3cret",
    "client_type": "confidential",
    "authorization_grant_type": "client-credentials",
    "algorithm": "",
}


@pytest.fixture
def address(application: Any, user: Any) -> Callable[[str], str]:
    """The address of a page; the pages of one application are those of the person's own."""
    application.user = user
    application.save()

    def build(name: str) -> str:
        arguments = [application.pk] if name in ("detail", "update", "delete") else []
        return reverse(f"oauth2_provider:{name}", args=arguments)

    return build


def permission(action: str) -> Permission:
    return Permission.objects.get(content_type__app_label="oauth2_provider", codename=f"{action}_application")


@pytest.mark.parametrize(("name", "action"), PAGES)
def test_a_page_of_applications_needs_its_permission_and_no_other(
    client: Client, user: Any, address: Callable[[str], str], name: str, action: str
) -> None:
    client.force_login(user)
    user.user_permissions.set([permission(other) for other in {"view", "add", "change", "delete"} - {action}])
    assert client.get(address(name)).status_code == 403
    assert client.post(address(name), MACHINE).status_code == 403
    user.user_permissions.set([permission(action)])
    assert client.get(address(name)).status_code == 200


def test_nobody_makes_a_client_that_acts_for_itself_just_by_logging_in(
    client: Client, user: Any, address: Callable[[str], str]
) -> None:
    client.force_login(user)
    client.post(address("register"), MACHINE)
    assert not get_application_model().objects.filter(client_id="machine").exists()
    user.user_permissions.add(permission("add"))
    client.post(address("register"), MACHINE)
    assert get_application_model().objects.get(client_id="machine").user == user


@pytest.mark.parametrize(("name", "action"), PAGES)
def test_who_is_not_logged_in_is_asked_to(
    client: Client, address: Callable[[str], str], name: str, action: str
) -> None:
    answer = client.get(address(name))
    assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/oauth/login/")
