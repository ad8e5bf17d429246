"""Many clients at one moment: limits hold, and one document makes one client."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connections
from django.test import Client as Browser
from oauth2_provider.models import get_application_model

from mcp_gateway.models import Client, OAuthEvent
from tests.oauth import web
from tests.oauth.flow import Flow
from tests.oauth.test_documents import CALLBACK, CLIENT, FETCHER, REAL
from tests.oauth.test_registration import limit, post
from tests.oauth.web import LocalFetcher

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 6


def at_once(act: Callable[[int], Any], times: int) -> list[Any]:
    def run(number: int) -> Any:
        try:
            return act(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(run, range(times)))


def test_no_more_clients_come_in_at_one_moment_than_in_an_hour(settings: Any) -> None:
    limit(settings, PER_HOUR=4)
    statuses = at_once(lambda _number: post(REAL["one that says the least"]).status_code, 12)
    assert sorted(statuses) == [201] * 4 + [429] * 8
    assert get_application_model().objects.count() == Client.objects.count() == 4
    assert OAuthEvent.objects.filter(kind="registered").count() == 4


def test_a_document_that_several_bring_at_once_makes_one_client(settings: Any, tmp_path: Path) -> None:
    user = get_user_model().objects.create_user("ada")
    limit(settings, FETCHER=FETCHER)

    def ask(_number: int) -> int:
        browser = Browser()
        browser.force_login(user)
        return int(Flow(browser).open(client_id=CLIENT, redirect_uri=CALLBACK).status_code)

    with web.serve(tmp_path) as internet:
        LocalFetcher.web = internet
        internet.put("/oauth/client.json", {**REAL["one that says the least"], "client_id": CLIENT})
        # As many as are fetched at once by one process.
        assert at_once(ask, 4) == [200] * 4
    assert get_application_model().objects.filter(client_id=CLIENT).count() == 1
    assert Client.objects.count() == 1
