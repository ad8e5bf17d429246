"""Tokens in the official Python client: renewed, expired, revoked, and those of clients with a secret or a key."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwcrypto import jwk
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

from tests.clients.conftest import CALLBACK, Browser
from tests.clients.test_python_sdk import Storage, in_loop
from tests.live import Site
from tests.oauth.flow import form_fields

MODE = "2026-07-28"


@asynccontextmanager
async def connect(
    site: Site, provider: httpx2.Auth | None, seen: list[httpx2.Response] | None = None
) -> AsyncIterator[Client]:
    """A client that logs in as its provider does; ``seen`` collects every answer it got."""

    async def remember(response: httpx2.Response) -> None:
        if seen is not None:
            seen.append(response)

    async with (
        httpx2.AsyncClient(auth=provider, timeout=60, event_hooks={"response": [remember]}) as http,
        Client(streamable_http_client(site.endpoint, http_client=http), mode=MODE) as client,
    ):
        yield client


def by_browser(
    site: Site, browser: Browser, storage: Storage, metadata: OAuthClientMetadata | None = None
) -> OAuthClientProvider:
    """The authorization code flow, with a person."""

    async def show(url: str) -> None:
        await anyio.to_thread.run_sync(browser.open, url)

    async def callback() -> AuthorizationCodeResult:
        answer = browser.answer
        return AuthorizationCodeResult(code=answer.get("code", ""), state=answer["state"], iss=answer["iss"])

    metadata = metadata or OAuthClientMetadata(redirect_uris=[AnyUrl(CALLBACK)], token_endpoint_auth_method="none")
    return OAuthClientProvider(site.endpoint, metadata, storage, show, callback)


async def call(client: Client) -> bool:
    """Call a protected tool."""
    return not (await client.call_tool("listPriceAlerts", {})).is_error


def token_answers(seen: list[httpx2.Response]) -> list[int]:
    return [response.status_code for response in seen if response.url.path.endswith("/token/")]


def python(site: Site, code: str) -> str:
    """Run code in the site, as an administrator's script would."""
    return site.manage("shell", "--no-imports", "-c", code).stdout.strip()


def test_a_client_renews_its_token_and_keeps_its_scope(site: Site, browser: Browser) -> None:
    storage, seen = Storage(), []  # type: ignore[var-annotated]

    async def run() -> None:
        provider = by_browser(site, browser, storage)
        async with connect(site, provider, seen) as client:
            assert await call(client)
            first = storage.tokens
            provider.context.token_expiry_time = 1
            assert await call(client)
            assert first is not None
            assert storage.tokens is not None
            assert storage.tokens.refresh_token != first.refresh_token
            assert (storage.tokens.scope, storage.tokens.expires_in) == (first.scope, 900)

    in_loop(run)
    assert token_answers(seen) == [200, 200]
    # Login and consent, once.
    assert len(browser.pages) == 2


def test_two_windows_of_a_client_renew_the_same_token_at_once(site: Site, browser: Browser) -> None:
    storage, seen = Storage(), []  # type: ignore[var-annotated]

    async def window(provider: OAuthClientProvider) -> None:
        async with connect(site, provider, seen) as client:
            assert await call(client)

    async def run() -> None:
        first = by_browser(site, browser, storage)
        async with connect(site, first) as client:
            assert await call(client)
        windows = []
        for _number in range(3):
            own = Storage()
            own.tokens = storage.tokens
            provider = by_browser(site, browser, own)
            await provider._initialize()
            provider.context.token_expiry_time = 1
            provider.context.oauth_metadata = first.context.oauth_metadata
            provider.context.protected_resource_metadata = first.context.protected_resource_metadata
            windows.append(provider)
        async with anyio.create_task_group() as group:
            for provider in windows:
                group.start_soon(window, provider)

    in_loop(run)
    assert token_answers(seen) == [200, 200, 200]
    assert len(browser.pages) == 2


def test_a_client_whose_token_the_server_finds_expired_logs_in_again(site: Site, browser: Browser) -> None:
    seen: list[httpx2.Response] = []

    async def run() -> None:
        async with connect(site, by_browser(site, browser, Storage()), seen) as client:
            assert await call(client)
            python(
                site,
                "from django.utils import timezone; from oauth2_provider.models import AccessToken; "
                "AccessToken.objects.update(expires=timezone.now())",
            )
            assert await call(client)

    in_loop(run)
    refused = [response.headers["WWW-Authenticate"] for response in seen if response.status_code == 401]
    assert ["invalid_token" in header for header in refused] == [False, True]


def test_what_a_person_takes_back_ends_at_once_and_the_client_asks_again(site: Site, browser: Browser) -> None:
    async def run() -> None:
        storage = Storage()
        provider = by_browser(site, browser, storage)
        async with connect(site, provider) as client:
            assert await call(client)
            before = len(browser.pages)
            assert "Desk agent" in await anyio.to_thread.run_sync(browser.connections)
            await anyio.to_thread.run_sync(browser.disconnect, "desk-agent")
            assert "Desk agent" not in await anyio.to_thread.run_sync(browser.connections)
            # The client knows nothing of it, and is refused; then it asks the person.
            assert await call(client)
            assert len(browser.pages) == before + 1

    in_loop(run)


def test_a_client_gets_no_more_than_a_person_left_ticked(site: Site, browser: Browser) -> None:
    seen: list[httpx2.Response] = []

    async def run() -> None:
        storage = Storage()
        async with connect(site, by_browser(site, browser, storage), seen) as client:
            assert await call(client)
            browser.unticked = ("mcp:tools",)
            await client.call_tool("setPriceAlert", {"country": "AT", "limit": 0.1})

    with pytest.raises(BaseExceptionGroup):
        in_loop(run)
    assert "example:write" in browser.pages[-1]
    # It asked for both, and was told which one it has.
    assert [json.loads(response.content)["scope"] for response in seen if response.url.path.endswith("/token/")] == [
        "mcp:tools",
        "example:write",
    ]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_with_a_secret_logs_in_and_renews(site: Site, browser: Browser, method: Any) -> None:
    seen: list[httpx2.Response] = []
    site.manage(
        *("createapplication", "confidential", "authorization-code", "--client-id", method),
        *("--client-secret", "s3cret s%cret", "--redirect-uris", CALLBACK),
    )

    async def run() -> None:
        storage = Storage()
        storage.client = OAuthClientInformationFull(
            client_id=method,
            client_secret="s3cret s%cret",
            redirect_uris=[AnyUrl(CALLBACK)],
            token_endpoint_auth_method=method,
        )
        metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(CALLBACK)], token_endpoint_auth_method=method)
        provider = by_browser(site, browser, storage, metadata)
        async with connect(site, provider, seen) as client:
            assert await call(client)
            provider.context.token_expiry_time = 1
            assert await call(client)

    in_loop(run)
    assert token_answers(seen) == [200, 200]


MACHINE = """
from django.contrib.auth import get_user_model
from oauth2_provider.models import get_application_model
from mcp_gateway.models import Client
user, _made = get_user_model().objects.get_or_create(username="nightly")
application = get_application_model().objects.create(
    client_id={client_id!r}, client_secret="s3cret", client_type="confidential",
    authorization_grant_type="client-credentials")
Client.objects.update_or_create(
    application=application, defaults=dict(service_user=user, auth_method={method!r}, jwks={jwks!r}))
"""


def test_a_machine_with_a_secret_acts_as_its_service_user(site: Site) -> None:
    python(site, MACHINE.format(client_id="nightly-secret", method="", jwks=""))
    seen: list[httpx2.Response] = []

    async def run() -> None:
        provider = ClientCredentialsOAuthProvider(
            site.endpoint, Storage(), "nightly-secret", "s3cret", scope="mcp:tools", issuer=site.url
        )
        async with connect(site, provider, seen) as client:
            assert await call(client)

    in_loop(run)
    assert token_answers(seen) == [200]


def test_a_machine_with_a_key_signs_for_its_token(site: Site) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = jwk.JWK.from_pem(pem).export_public(as_dict=True)
    jwks = json.dumps({"keys": [public]})
    python(site, MACHINE.format(client_id="nightly-key", method="private_key_jwt", jwks=jwks))
    seen: list[httpx2.Response] = []

    async def run() -> None:
        signing = SignedJWTParameters(issuer="nightly-key", subject="nightly-key", signing_key=pem.decode())
        provider = PrivateKeyJWTOAuthProvider(
            site.endpoint,
            Storage(),
            "nightly-key",
            signing.create_assertion_provider(),
            scope="mcp:tools",
            issuer=site.url,
        )
        async with connect(site, provider, seen) as client:
            assert await call(client)

    in_loop(run)
    assert token_answers(seen) == [200]


def test_a_personal_token_made_on_the_page_works_in_a_client(site: Site, browser: Browser) -> None:
    url = f"{site.url}/oauth/connections/"
    page = browser._http.get(url, follow_redirects=True)
    fields = {**form_fields(page.text), "username": "admin", "password": site.password}
    page = browser._http.post(str(page.url), data=fields, follow_redirects=True)
    fields = {**form_fields(page.text), "name": "Editor", "scopes": "mcp:tools", "days": "7"}
    page = browser._http.post(url, data=fields)
    match = re.search(r"mcp_pat_[\w-]+", page.text)
    assert match is not None, page.text
    token = match[0]

    async def run() -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
            Client(streamable_http_client(site.endpoint, http_client=http), mode=MODE) as client,
        ):
            assert await call(client)

    in_loop(run)
