"""``mcp-remote``, which lends its login to programs that can only start one: against a live site with two workers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest

from tests.clients.conftest import Browser, Programs, Strange
from tests.clients.test_typescript_login import EXPIRE
from tests.live import PATIENCE, Site
from tests.oauth.web import HOST

pytestmark = [pytest.mark.once, pytest.mark.service("NPM_CLIENTS")]

PROGRAM = "node_modules/mcp-remote/dist/proxy.js"


@pytest.fixture
def site(strange: Strange) -> Site:
    return strange.site


@dataclass
class Remote:
    """The program, spoken to over its standard input. ``browser`` opens the pages that it asks a person to visit."""

    process: subprocess.Popen[str]
    browser: Browser
    said: list[str] = field(default_factory=list)
    answers: Queue[dict[str, Any]] = field(default_factory=Queue)

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.answers.put(json.loads(line))

    def attend(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if line.startswith(f"{self.browser.site.url}/oauth/authorize/"):
                self.browser.open(line.strip())

    def send(self, method: str, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """What comes back for a request."""
        self.send(method, id=method, params=params)
        while True:
            answer = self.answers.get(timeout=PATIENCE)
            if answer.get("id") == method:
                return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=tool, arguments=arguments)


@contextmanager
def remote(site: Site, programs: Programs, browser: Browser, memory: Path, *options: str) -> Iterator[Remote]:
    """The program, initialized. What it remembers is in the folder ``memory``."""
    process = subprocess.Popen(
        [programs.node, PROGRAM, site.endpoint, *options],
        cwd=programs.folder,
        env={**programs.env, "MCP_REMOTE_CONFIG_DIR": str(memory)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    program = Remote(process, browser)
    threads = [Thread(target=program.listen), Thread(target=program.attend)]
    for thread in threads:
        thread.start()
    try:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tour", "version": "1"}}
        assert program.ask("initialize", **hello)["result"]["serverInfo"]["name"] == "django-zolinga", program.said
        program.send("notifications/initialized")
        yield program
    finally:
        process.kill()
        for thread in threads:
            thread.join(PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()
        process.wait()


def test_it_lists_without_a_login_and_logs_in_when_a_call_needs_it(
    site: Site, programs: Programs, browser: Browser, tmp_path: Path
) -> None:
    with remote(site, programs, browser, tmp_path) as program:
        names = {tool["name"] for tool in program.ask("tools/list")["result"]["tools"]}
        assert {"getPricingList", "listPriceAlerts"} <= names
        assert program.call("getPricingList", search="austria")["result"]["isError"] is False
        assert browser.pages == []
        answer = program.call("listPriceAlerts")
        assert answer["result"]["isError"] is False, program.said
        assert "registered itself" in browser.pages[1]
    # It remembers, and renews by itself.
    seen = len(browser.pages)
    site.manage("shell", "--no-imports", "-c", EXPIRE)
    with remote(site, programs, browser, tmp_path) as program:
        assert program.call("listPriceAlerts")["result"]["isError"] is False, program.said
    assert len(browser.pages) == seen


def test_it_is_known_by_its_document_and_steps_up(
    site: Site, strange: Strange, programs: Programs, browser: Browser, tmp_path: Path
) -> None:
    path = "/lender/client.json"
    said = {"client_id": f"https://{HOST}{path}", "client_name": "Lender", "token_endpoint_auth_method": "none"}
    document = strange.internet.put(path, {**said, "redirect_uris": ["http://localhost/oauth/callback"]})
    options = ("--client-metadata-url", document, "--protocol", "auto")
    with remote(site, programs, browser, tmp_path, *options) as program:
        assert program.call("listPriceAlerts")["result"]["isError"] is False, program.said
        assert f"{HOST}</bdi> describes it" in browser.pages[1]
        answer = program.call("setPriceAlert", country="AT", limit=0.1)
        assert answer["result"]["isError"] is False, program.said
        assert "example:write" in browser.pages[2]


def test_its_user_hears_that_the_person_denied(
    site: Site, programs: Programs, browser: Browser, tmp_path: Path
) -> None:
    browser.button = "Deny"
    with remote(site, programs, browser, tmp_path) as program:
        answer = program.call("listPriceAlerts")
        assert "access_denied" in json.dumps(answer), (answer, program.said)
        assert browser.answer["iss"] == site.url
