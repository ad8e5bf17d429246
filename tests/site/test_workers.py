"""What an administrator changes holds on the next request, in every worker process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live import Migrated, Site

# Connections are spread over the workers by chance: so many leave no worker out but once in a very long time.
CONNECTIONS = 32

HANDLER = """
import os
import signal

class Handler:
    def on_worker(self, event):
        return {"pid": os.getpid()}

    def on_death(self, event):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def write_module(folder: Path) -> None:
    """A module whose tools tell which worker answers."""
    folder.mkdir(parents=True)
    listeners = [
        {
            "event": name,
            "class": "\\Probe\\Handler",
            "method": method,
            "origin": ["mcp"],
            "schema": {"response": {"type": "object"}},
        }
        for name, method in (("worker", "onWorker"), ("guarded", "onWorker"), ("deadly", "onDeath"))
    ]
    (folder / "__init__.py").write_text(HANDLER)
    (folder / "zolinga.json").write_text(json.dumps({"name": "Probe", "listen": listeners}))


def call(client: httpx.Client, tool: str) -> httpx.Response:
    """Call a tool without arguments and without a token."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}
    return client.post("/mcp", json=body, headers={"MCP-Protocol-Version": "2025-11-25"})


class Operator:
    """An administrator at the live admin site."""

    def __init__(self, client: httpx.Client, password: str) -> None:
        self.client = client
        self.send("/admin/login/", username="admin", password=password, next="/admin/")

    def send(self, address: str, **form: Any) -> None:
        """Open a page and submit its form; saving leads on to another page."""
        page = self.client.get(address).raise_for_status().text
        # What a browser sends along of the lists of rows within the form.
        counts = dict(re.findall(r'<input type="hidden" name="([^"]+_FORMS)" value="(\d+)"', page))
        token = {"csrfmiddlewaretoken": self.client.cookies["csrftoken"]}
        answer = self.client.post(address, data={**counts, **form, **token})
        assert answer.status_code == 302, answer.text

    def page_of(self, model: str, name: str) -> str:
        """The address of a row's page, by its name in the list."""
        listing = self.client.get(f"/admin/mcp_gateway/{model}/").text
        found = re.search(rf'href="(/admin/mcp_gateway/{model}/\d+/change/)[^"]*">{re.escape(name)}<', listing)
        assert found is not None, f"no {name} in the list of {model}"
        return found[1]


@pytest.fixture
def site(migrated: Migrated, tmp_path: Path) -> Iterator[Site]:
    """A site with a module that tells its workers apart."""
    write_module(tmp_path / "modules" / "probe")
    with migrated.copy(tmp_path / "var", {"ZOLINGA_MODULE_DIRS": str(tmp_path / "modules")}) as copied:
        yield copied


def test_a_change_in_admin_holds_on_the_next_request_in_every_worker(site: Site) -> None:
    with site.up("--workers", "2"), ExitStack() as stack:
        connections = [stack.enter_context(site.client()) for _ in range(CONNECTIONS)]
        workers = {
            json.loads(call(client, "worker").json()["result"]["content"][0]["text"])["pid"] for client in connections
        }
        assert len(workers) == 2
        operator = Operator(stack.enter_context(site.client()), site.password)

        def everywhere(expect: Any) -> None:
            for client in connections:
                expect(client)

        def served(client: httpx.Client) -> None:
            assert call(client, "guarded").json()["result"]["isError"] is False

        everywhere(served)

        tool = operator.page_of("tool", "guarded")
        operator.send("/admin/mcp_gateway/tool/", action="switch_off", _selected_action=re.findall(r"\d+", tool)[0])

        def gone(client: httpx.Client) -> None:
            assert call(client, "guarded").json()["error"]["code"] == -32602
            listing = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()
            assert "guarded" not in {entry["name"] for entry in listing["result"]["tools"]}

        everywhere(gone)

        operator.send("/admin/mcp_gateway/scope/add/", name="probe:use", description="Use the probe", enabled="on")
        scope = operator.page_of("scope", "probe:use")
        overrides = {"rights_from": "both", "title_override": "", "description_override": ""}
        operator.send(tool, enabled="on", required_scopes=re.findall(r"\d+", scope)[0], **overrides)

        def needs(name: str, client: httpx.Client) -> None:
            answer = call(client, "guarded")
            assert answer.status_code == 401
            assert f'scope="mcp:tools {name}"' in answer.headers["WWW-Authenticate"]

        everywhere(lambda client: needs("probe:use", client))

        operator.send(scope, name="probe:view", description="Use the probe", enabled="on")
        everywhere(lambda client: needs("probe:view", client))

        operator.send(tool, enabled="on", **overrides)
        everywhere(served)


def test_a_call_that_kills_its_worker_again_and_again_ends_nobody_elses_site(site: Site) -> None:
    with site.up("--workers", "1") as process:
        for _again in range(3):
            with site.client() as client, pytest.raises(httpx.TransportError):
                call(client, "deadly")
        with site.client() as client:
            assert call(client, "worker").json()["result"]["isError"] is False
        assert process.poll() is None
