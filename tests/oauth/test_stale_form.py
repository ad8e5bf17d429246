"""Forms that lay open while their owner signed in elsewhere: refused as ever, with a way to go on."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.views.csrf import csrf_failure

from tests.oauth.flow import Flow, form_fields

LOGIN = "/oauth/login/"
NEXT = "/oauth/connections/"


@pytest.fixture
def browser() -> Client:
    """One that is checked, as a real one is."""
    return Client(enforce_csrf_checks=True)


def the_link(response: Any) -> str:
    """Where the page lets a person go on."""
    found = re.search(r'<a href="([^"]*)">Go on</a>', response.content.decode())
    assert found
    return unescape(found[1])


def signed_in_elsewhere(browser: Client, form: dict[str, str]) -> None:
    """The same browser's other window."""
    answer = browser.post(LOGIN, {**form, "username": "ada", "password": "secret"})
    assert answer.status_code == 302


def test_who_signs_in_from_two_windows_goes_on_from_the_second(browser: Client, user: Any) -> None:
    form = form_fields(browser.get(f"{LOGIN}?next={NEXT}").content.decode())
    signed_in_elsewhere(browser, form)
    stale = browser.post(f"{LOGIN}?next={NEXT}", {**form, "username": "ada", "password": "secret"})
    assert stale.status_code == 403
    assert "in another window" in stale.content.decode()
    assert stale["Content-Security-Policy"]
    assert the_link(stale) == NEXT
    assert browser.get(the_link(stale)).status_code == 200


def test_who_is_not_signed_in_gets_the_form_again(browser: Client) -> None:
    browser.get(LOGIN)
    stale = browser.post(LOGIN, {"next": NEXT, "csrfmiddlewaretoken": "x" * 64})
    assert stale.status_code == 403
    assert the_link(stale) == f"{LOGIN}?next=%2Foauth%2Fconnections%2F"
    assert the_link(browser.post(LOGIN, {"next": "https://evil.example/", "csrfmiddlewaretoken": "x"})) == LOGIN


def test_a_consent_page_that_is_too_old_leads_to_a_new_one(browser: Client, application: Any, user: Any) -> None:
    form = form_fields(browser.get(LOGIN).content.decode())
    browser.force_login(user)
    flow = Flow(browser)
    page = f"{flow.authorize_path}?{flow.query()}"
    old = form_fields(browser.get(page).content.decode(), "Allow")
    form["csrfmiddlewaretoken"] = old["csrfmiddlewaretoken"]
    signed_in_elsewhere(browser, form)
    stale = browser.post(page, old)
    assert (stale.status_code, the_link(stale)) == (403, page)
    anew = form_fields(browser.get(the_link(stale)).content.decode(), "Allow")
    assert browser.post(page, anew).status_code == 302


def test_what_does_not_concern_us_has_the_projects_answer(browser: Client, db: None, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "SCOPES": {"write": "Change everything"}}
    posted = "/oauth/authorize/", {"client_id": "theirs"}
    assert browser.post(*posted).content == csrf_failure(RequestFactory().post(*posted)).content


def test_a_form_of_another_site_is_told_with_the_reason(browser: Client) -> None:
    browser.get(LOGIN)
    foreign = browser.post(LOGIN, {}, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert "Origin checking failed" in foreign.content.decode()


def test_a_browser_without_cookies_is_told(browser: Client) -> None:
    assert "Allow cookies" in browser.post(NEXT, {}).content.decode()


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
@pytest.mark.parametrize("path", [LOGIN, NEXT, "/oauth/authorize/"])
def test_what_no_form_sends_is_not_served(client: Client, user: Any, path: str, method: str) -> None:
    client.force_login(user)
    answer = getattr(client, method)(path)
    assert answer.status_code == 405
    assert "POST" in answer["Allow"]
