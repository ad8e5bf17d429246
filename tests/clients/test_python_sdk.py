"""The official Python client against the live site, in both eras."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import httpx2
import mcp_types
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.clients.conftest import CALLBACK, Browser
from tests.live import Site

ERAS = pytest.mark.parametrize(("mode", "version"), [("2026-07-28", "2026-07-28"), ("legacy", "2025-11-25")])


def in_loop(test: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
    anyio.run(partial(test, *arguments))


class Storage:
    """What a client remembers: here that it was registered by hand."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.provider: OAuthClientProvider | None = None
        self.client: OAuthClientInformationFull | None = OAuthClientInformationFull(
            client_id="desk-agent", redirect_uris=[AnyUrl(CALLBACK)], token_endpoint_auth_method="none"
        )

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("A client that is registered must not register itself.")


class Stranger(Storage):
    """A client that knows nothing yet, and remembers what it is told when it registers."""

    def __init__(self) -> None:
        super().__init__()
        self.client = None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@asynccontextmanager
async def connect(
    site: Site,
    mode: str,
    browser: Browser | None = None,
    seen: list[httpx2.Response] | None = None,
    storage: Storage | None = None,
    **options: Any,
) -> AsyncIterator[Client]:
    """A client; with a ``browser`` it can log in. ``seen`` collects what the endpoint answered.

    ``storage`` is what it remembers, ``options`` are members of its metadata and, as ``client_metadata_url``, the
    address of its document.
    """

    async def remember(response: httpx2.Response) -> None:
        if seen is not None and response.url.path == "/mcp":
            seen.append(response)

    async def show(url: str) -> None:
        assert browser is not None
        await anyio.to_thread.run_sync(browser.open, url)

    async def callback() -> AuthorizationCodeResult:
        assert browser is not None
        answer = browser.answer
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer["state"], iss=answer["iss"])

    document = options.pop("client_metadata_url", None)
    provider = None
    if browser is not None:
        memory = storage or Storage()
        provider = memory.provider = OAuthClientProvider(
            site.endpoint,
            OAuthClientMetadata.model_validate(
                {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none", **options}
            ),
            memory,
            show,
            callback,
            client_metadata_url=document,
        )
    async with (
        httpx2.AsyncClient(auth=provider, timeout=60, event_hooks={"response": [remember]}) as http,
        Client(streamable_http_client(site.endpoint, http_client=http), mode=mode) as client,
    ):
        yield client


def official(kind: type[Any], result: Any) -> None:
    """The result, as the official types write it, is one the official types read."""
    kind.model_validate(result.model_dump(by_alias=True, mode="json", exclude_unset=True))


@ERAS
def test_a_client_without_token_lists_the_tools_and_calls_an_open_one(site: Site, mode: str, version: str) -> None:
    async def run() -> None:
        async with connect(site, mode) as client:
            assert client.protocol_version == version
            listed = await client.list_tools()
            official(mcp_types.ListToolsResult, listed)
            names = {tool.name for tool in listed.tools}
            assert {"getPricingList", "echo", "my-tool", "listPriceAlerts", "setPriceAlert"} <= names

            result = await client.call_tool("getPricingList", {"search": "austria"})
            official(mcp_types.CallToolResult, result)
            assert not result.is_error
            assert result.structured_content is not None
            assert "Austria" in str(result.structured_content)

    in_loop(run)


@ERAS
def test_a_client_logs_in_when_a_tool_asks_for_it_and_steps_up_for_more(
    site: Site, browser: Browser, mode: str, version: str
) -> None:
    seen: list[httpx2.Response] = []

    async def run() -> None:
        async with connect(site, mode, browser, seen) as client:
            await client.list_tools()
            assert browser.pages == []

            alerts = await client.call_tool("listPriceAlerts", {})
            official(mcp_types.CallToolResult, alerts)
            assert not alerts.is_error
            login, consent = browser.pages
            assert "Sign in to" in login
            for text in ("Desk agent", "127.0.0.1:33418", site.endpoint, "Use the tools of this site"):
                assert text in consent

            done = await client.call_tool("setPriceAlert", {"country": "AT", "limit": 0.1})
            official(mcp_types.CallToolResult, done)
            assert not done.is_error, done
            assert "example:write" in browser.pages[2]
            # What was allowed before still is, with the new token.
            assert not (await client.call_tool("listPriceAlerts", {})).is_error

    in_loop(run)
    refused = [response for response in seen if response.status_code in (401, 403)]
    assert [response.status_code for response in refused] == [401, 403]
    metadata = f"{site.url}/.well-known/oauth-protected-resource/mcp"
    assert refused[0].headers["WWW-Authenticate"] == f'Bearer resource_metadata="{metadata}", scope="mcp:tools"'
    challenge = refused[1].headers["WWW-Authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert f'resource_metadata="{metadata}"' in challenge
    assert 'scope="example:write mcp:tools"' in challenge


@ERAS
def test_a_person_who_denies_more_is_heard(site: Site, browser: Browser, mode: str, version: str) -> None:
    """The client reads the answer as one of ours (it checks state and issuer first) and gives up."""
    seen: list[httpx2.Response] = []
    refused: list[BaseException] = []

    async def run() -> None:
        try:
            async with connect(site, mode, browser, seen) as client:
                assert not (await client.call_tool("listPriceAlerts", {})).is_error
                browser.button = "Deny"
                await client.call_tool("setPriceAlert", {"country": "AT", "limit": 0.1})
        except* OAuthFlowError as group:
            refused.extend(group.exceptions)

    in_loop(run)
    assert refused
    assert "example:write" in browser.pages[-1]
    assert (browser.answer["error"], browser.answer["iss"]) == ("access_denied", site.url)
    assert seen[-1].status_code == 403


@ERAS
def test_a_token_from_the_command_line_works_in_a_client(site: Site, mode: str, version: str) -> None:
    token = site.manage("mcp_token", "--user", "admin", "--scope", "mcp:tools").stdout.strip()

    async def run() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(site.endpoint, http_client=http), mode=mode) as client,
        ):
            assert not (await client.call_tool("listPriceAlerts", {})).is_error

    in_loop(run)
