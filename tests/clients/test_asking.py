"""The official Python client is asked in the middle of calls, in both eras, by a site with two workers.

Answers of the legacy era come in requests of their own, at whichever worker takes them: through the database, and
where there is one through Redis.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.clients.conftest import Browser
from tests.clients.test_python_sdk import ERAS, in_loop
from tests.live import Migrated, Site
from tests.oauth.flow import form_fields

HANDLERS = """
from mcp_gateway.events import Form, Roots, Sampling

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
KEY = {"type": "object", "properties": {"key": {"type": "string", "writeOnly": True}}, "required": ["key"]}


class Handler:
    def on_greet(self, event):
        first = event.ask("first", "First name?", NAME)
        if not first.accepted:
            return {"said": first.action}
        last = event.ask("last", f"Last name, {first['name']}?", NAME)
        return {"said": f"{first['name']} {last['name']}"}

    def on_everything(self, event):
        answers = event.ask_all({"name": Form("Name?", NAME), "poem": Sampling("Rhyme!", 50), "where": Roots()})
        return {"said": [answers["name"]["name"], answers["poem"].text, answers["where"][0].uri]}

    def on_connect(self, event):
        return {"said": len(event.ask("key", "Your key?", KEY, mode="url")["key"])}
"""


def listener(event: str, **own: Any) -> dict[str, Any]:
    return {
        "event": event,
        "description": "Asks.",
        "class": "\\Asking\\Handler",
        "method": f"on_{event}",
        "origin": ["mcp"],
        "schema": {"response": {"type": "object"}},
        **own,
    }


@pytest.fixture(scope="module", params=["table", pytest.param("redis", marks=pytest.mark.service("REDIS_URL"))])
def site(
    request: pytest.FixtureRequest, migrated: Migrated, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A site with two workers and tools that ask."""
    modules = tmp_path_factory.mktemp("modules")
    manifest = {
        "listen": [
            listener("greet"),
            listener("everything", needs=["elicitation", "sampling", "roots"]),
            listener("connect", right="oauth2:scope mcp:tools"),
        ]
    }
    (modules / "asking").mkdir()
    (modules / "asking" / "zolinga.json").write_text(json.dumps(manifest), encoding="utf-8")
    (modules / "asking" / "handler.py").write_text(HANDLERS, encoding="utf-8")
    environment = {"ZOLINGA_MODULE_DIRS": str(modules)}
    if request.param == "redis":
        environment["CACHE_URL"] = f"{os.environ['REDIS_URL']}?key_prefix={secrets.token_hex(4)}"
    folder = tmp_path_factory.mktemp("site") / "var"
    with migrated.copy(folder, environment) as live, live.up("--workers", "2"):
        yield live


Elicit = Callable[[Any], Awaitable[dict[str, Any]]]


@asynccontextmanager
async def connect(site: Site, mode: str, elicit: Elicit, token: str = "") -> AsyncIterator[Client]:
    """A client whose person answers as ``elicit`` says; its model rhymes, and it works in one folder."""

    async def elicitation(context: Any, params: Any) -> mcp_types.ElicitResult:
        return mcp_types.ElicitResult.model_validate(await elicit(params))

    async def sampling(context: Any, params: Any) -> mcp_types.CreateMessageResult:
        content = {"type": "text", "text": f"{params.messages[0].content.text} Roses"}
        return mcp_types.CreateMessageResult.model_validate({"role": "assistant", "content": content, "model": "m"})

    async def roots(context: Any) -> mcp_types.ListRootsResult:
        return mcp_types.ListRootsResult.model_validate({"roots": [{"uri": "file:///home/ann"}]})

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(
            streamable_http_client(site.endpoint, http_client=http),
            mode=mode,
            elicitation_callback=elicitation,
            sampling_callback=sampling,
            list_roots_callback=roots,
        ) as client,
    ):
        yield client


@ERAS
def test_a_person_answers_question_after_question(site: Site, mode: str, version: str) -> None:
    asked: list[str] = []

    async def answer(params: Any) -> dict[str, Any]:
        asked.append(params.message)
        return {"action": "accept", "content": {"name": "Ann" if "First" in params.message else "Lee"}}

    async def run() -> None:
        async with connect(site, mode, answer) as client:
            assert client.protocol_version == version
            result = await client.call_tool("greet", {})
            assert result.structured_content == {"said": "Ann Lee"}, result
        assert asked == ["First name?", "Last name, Ann?"]

    in_loop(run)


@ERAS
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_does_not_want_to_answer(site: Site, mode: str, version: str, action: str) -> None:
    async def answer(params: Any) -> dict[str, Any]:
        return {"action": action}

    async def run() -> None:
        async with connect(site, mode, answer) as client:
            result = await client.call_tool("greet", {})
            assert result.structured_content == {"said": action}, result

    in_loop(run)


@ERAS
def test_many_calls_ask_at_once_and_each_gets_its_own_answers(site: Site, mode: str, version: str) -> None:
    async def run() -> None:
        results: dict[int, Any] = {}

        async def one(number: int) -> None:
            async def answer(params: Any) -> dict[str, Any]:
                return {"action": "accept", "content": {"name": f"n{number}"}}

            async with connect(site, mode, answer) as client:
                results[number] = await client.call_tool("everything", {})

        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(one, number)
        for number, result in results.items():
            said = [f"n{number}", "Rhyme! Roses", "file:///home/ann"]
            assert result.structured_content == {"said": said}, result

    in_loop(run)


@ERAS
def test_a_key_goes_through_the_browser_and_not_through_the_client(site: Site, mode: str, version: str) -> None:
    token = site.manage("mcp_token", "--user", "admin", "--scope", "mcp:tools").stdout.strip()
    browser = Browser(site)

    async def answer(params: Any) -> dict[str, Any]:
        assert params.mode == "url"
        await anyio.to_thread.run_sync(fill_in, browser, params.url)
        return {"action": "accept"}

    async def run() -> None:
        async with connect(site, mode, answer, token) as client:
            result = await client.call_tool("connect", {})
            assert result.structured_content == {"said": 6}, result

    in_loop(run)
    browser.close()


def fill_in(browser: Browser, url: str) -> None:
    """Log in, and send a key."""
    page = browser._http.get(url, follow_redirects=True)
    fields = {**form_fields(page.text), "username": "admin", "password": browser.site.password}
    page = browser._http.post(str(page.url), data=fields, follow_redirects=True)
    assert str(page.url) == url, page.text
    sent = browser._http.post(url, data={**form_fields(page.text, "Send"), "field0": "s3cret"})
    assert "Thank you" in sent.text, sent.text
