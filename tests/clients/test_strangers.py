"""Clients that nobody registered, against a live site with two workers: the endpoint's URL is all they have."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from mcp.client.auth import OAuthFlowError

from tests.clients.conftest import CALLBACK, CLIENT, Browser, Strange, decide
from tests.clients.test_python_sdk import ERAS, Stranger, connect, in_loop
from tests.live import Site


@pytest.fixture
def site(strange: Strange) -> Site:
    return strange.site


@pytest.fixture
def document(strange: Strange) -> str:
    """The client's own document, as its makers publish it."""
    said = {"client_id": CLIENT, "client_name": "Desk agent of client.test", "redirect_uris": [CALLBACK]}
    return strange.internet.put("/oauth/client.json", {**said, "token_endpoint_auth_method": "none"})


async def log_in_and_step_up(site: Site, mode: str, browser: Browser, storage: Stranger, **options: Any) -> None:
    async with connect(site, mode, browser, storage=storage, **options) as client:
        await client.list_tools()
        assert browser.pages == []
        assert not (await client.call_tool("listPriceAlerts", {})).is_error
        done = await client.call_tool("setPriceAlert", {"country": "AT", "limit": 0.1})
        assert not done.is_error, done
        assert "example:write" in browser.pages[2]


@ERAS
def test_a_client_registers_itself_logs_in_and_steps_up(site: Site, browser: Browser, mode: str, version: str) -> None:
    storage = Stranger()

    async def run() -> None:
        await log_in_and_step_up(site, mode, browser, storage, client_name="Desk agent")

    in_loop(run)
    assert storage.client is not None
    assert storage.client.client_id
    assert storage.client.client_secret is None
    consent = browser.pages[1]
    assert "registered itself" in consent
    assert "127.0.0.1:33418" in consent


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_a_client_that_registers_for_a_secret_uses_it(site: Site, browser: Browser, method: str) -> None:
    storage = Stranger()

    async def run() -> None:
        async with connect(site, "auto", browser, storage=storage, token_endpoint_auth_method=method) as client:
            assert not (await client.call_tool("listPriceAlerts", {})).is_error

    in_loop(run)
    assert storage.client is not None
    assert storage.client.client_secret


@ERAS
def test_a_client_with_a_document_registers_nothing(
    site: Site, strange: Strange, browser: Browser, document: str, mode: str, version: str
) -> None:
    async def run() -> None:
        await log_in_and_step_up(site, mode, browser, Stranger(), client_metadata_url=document)

    in_loop(run)
    consent = browser.pages[1]
    assert "Desk agent of client.test" in consent
    assert "<bdi>client.test</bdi> describes it" in consent
    # Two workers, two eras, and one look at the document.
    assert strange.internet.paths == ["/oauth/client.json"]


def test_a_tokens_end_is_nothing_people_hear_of(site: Site, browser: Browser, document: str) -> None:
    storage = Stranger()
    seen: list[httpx2.Response] = []

    async def run() -> None:
        options = {"client_metadata_url": document}
        async with connect(site, "auto", browser, seen, storage=storage, **options) as client:
            assert not (await client.call_tool("listPriceAlerts", {})).is_error
            first, pages = storage.tokens, len(browser.pages)
            assert first is not None
            assert storage.provider is not None
            storage.provider.context.token_expiry_time = 1
            assert not (await client.call_tool("listPriceAlerts", {})).is_error
            assert storage.tokens is not None
            assert storage.tokens.access_token != first.access_token
            assert storage.tokens.scope == first.scope
            assert len(browser.pages) == pages

    in_loop(run)


def test_a_person_who_denies_a_stranger_is_heard(site: Site, browser: Browser, document: str) -> None:
    browser.button = "Deny"
    refused: list[BaseException] = []

    async def run() -> None:
        try:
            async with connect(site, "auto", browser, storage=Stranger(), client_metadata_url=document) as client:
                await client.call_tool("listPriceAlerts", {})
        except* OAuthFlowError as group:
            refused.extend(group.exceptions)

    in_loop(run)
    assert refused
    assert (browser.answer["error"], browser.answer["iss"]) == ("access_denied", site.url)


def test_a_client_that_an_administrator_disables_is_out_at_once(site: Site, browser: Browser, document: str) -> None:
    storage = Stranger()

    async def run() -> None:
        async with connect(site, "auto", browser, storage=storage, client_metadata_url=document) as client:
            assert not (await client.call_tool("listPriceAlerts", {})).is_error

    in_loop(run)
    assert storage.tokens is not None
    rows = f"Client.objects.filter(application__client_id={CLIENT!r})"
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "listPriceAlerts"}}
    with site.client() as http:
        http.headers["Authorization"] = f"Bearer {storage.tokens.access_token}"
        assert http.post("/mcp", json=message).status_code == 200
        decide(site, f"{rows}.update(enabled=False)")
        # Whichever worker it is that answers.
        assert {http.post("/mcp", json=message).status_code for _time in range(8)} == {401}
    decide(site, f"{rows}.update(enabled=True)")
