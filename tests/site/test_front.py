"""The front page tells what is there, and nothing that is not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.views.defaults import server_error

from mcp_gateway.models import Endpoint, Tool

pytestmark = pytest.mark.django_db


def page(client: Client) -> str:
    """The page's text."""
    answer = client.get("/")
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_it_names_the_endpoint_and_the_admin_site(client: Client) -> None:
    text = page(client)
    assert "http://testserver/mcp" in text
    assert 'href="/admin/"' in text
    assert "There are none yet." in text


def test_the_admin_site_says_what_it_administers(admin_client: Client) -> None:
    assert "<title>Site administration | Zolinga on Django</title>" in str(admin_client.get("/admin/").content.decode())


def test_it_lists_the_tools_that_anyone_sees(client: Client, import_manifests: Callable[..., Any]) -> None:
    import_manifests()
    Tool.objects.filter(name="echo").update(enabled=False)
    Tool.objects.filter(name="my-tool").update(visibility="unlisted")
    text = page(client)
    assert "<code>getPricingList</code>" in text
    assert "<code>echo</code>" not in text
    assert "<code>my-tool</code>" not in text
    assert text.count("protected") == 3


def test_tools_behind_a_token_are_not_told(client: Client, import_manifests: Callable[..., Any]) -> None:
    import_manifests()
    Endpoint.objects.update(access="token")
    text = page(client)
    assert "getPricingList" not in text
    assert "answers only to clients with an access token" in text


def test_an_endpoint_that_is_off_is_not_offered(client: Client) -> None:
    Endpoint.objects.update(enabled=False)
    text = page(client)
    assert "The endpoint is switched off." in text
    assert "/mcp" not in text


def test_its_title_is_the_endpoints(client: Client) -> None:
    Endpoint.objects.update(title="Our <shop>")
    assert "<title>Our &lt;shop&gt;</title>" in page(client)


def test_only_reading_is_allowed(client: Client) -> None:
    assert client.post("/").status_code == 405


def test_browsers_find_an_icon(client: Client) -> None:
    answer = client.get("/favicon.ico", follow=True)
    with closing(answer):
        assert answer["Content-Type"] == "image/svg+xml"
        assert b"<svg" in answer.getvalue()


@pytest.mark.parametrize("path", ["/", "/admin/login/", "/oauth/device/"])
def test_a_form_in_another_charset_is_the_senders_mistake(path: str) -> None:
    kind = "application/x-www-form-urlencoded; charset=utf-16"
    browser = Client(enforce_csrf_checks=True)
    browser.cookies["csrftoken"] = "a" * 32
    answer = browser.post(path, "a=1", content_type=kind)
    assert answer.status_code == 400
    assert "Bad request" in answer.content.decode()


def test_an_address_without_a_page_leads_on(client: Client) -> None:
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert "There is no page at this address" in answer.content.decode()
    assert 'href="/"' in answer.content.decode()


def test_a_page_that_an_account_may_not_see_says_who_can_help(client: Client, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_user("eve", is_staff=True))
    answer = client.get("/admin/mcp_gateway/tool/")
    assert answer.status_code == 403
    assert "An administrator of the site can give it to you." in answer.content.decode()


def test_a_form_of_admin_from_before_somebody_signed_in_leads_on() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.get("/admin/login/?next=/admin/auth/")
    answer = browser.post("/admin/login/?next=/admin/auth/", {"username": "ada", "csrfmiddlewaretoken": "x" * 64})
    assert answer.status_code == 403
    text = answer.content.decode()
    assert "Nothing was done." in text
    assert 'href="/admin/login/?next=/admin/auth/"' in text


def test_a_fault_of_the_site_is_said_without_the_database() -> None:
    text = server_error(RequestFactory().get("/")).content.decode()
    assert "Something went wrong" in text
    assert "front.css" in text
