"""Imports while the site serves: no failed answer, none that mixes two states, in any worker, also while paging.

``ZOLINGA_LIVE_SECONDS=60`` lets the imports go on for a minute.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live import PATIENCE, ROOT, Migrated, Site

SECONDS = float(os.environ.get("ZOLINGA_LIVE_SECONDS", "5"))
WORKERS = 2
CLIENTS = 4

HANDLER = """
class Handler:
    def on_call(self, event):
        return {"state": event.request["state"]}
"""

# Offered in every state, and in every other one alone.
ALWAYS = [f"always{number:02}" for number in range(9)]
SOMETIMES = [f"sometimes{number}" for number in range(3)]


def write_state(folder: Path, state: int) -> None:
    """A module of which every tool tells the state in its description and both schemas."""
    names = ALWAYS + (SOMETIMES if state % 2 else [])
    schema = {
        "type": "object",
        "properties": {"state": {"const": state}},
        "required": ["state"],
        "additionalProperties": False,
    }
    listen = [
        {
            "event": name,
            "class": "\\Probe\\Handler",
            "method": "onCall",
            "origin": ["mcp"],
            "description": f"state {state}",
            "schema": {"request": schema, "response": schema},
        }
        for name in names
    ]
    folder.mkdir(parents=True, exist_ok=True)
    if state == 1:
        (folder / "__init__.py").write_text(HANDLER)
    new = folder / "new"
    new.write_text(json.dumps({"name": "Probe", "version": f"1.{state}", "listen": listen}))
    new.replace(folder / "zolinga.json")


class Reader:
    """One client: lists page by page and calls what it read, and notes what should not be."""

    def __init__(self, site: Site, stop: threading.Event, news: threading.Condition) -> None:
        self._site, self._stop, self._news = site, stop, news
        self.wrong: list[str] = []
        self.states: set[int] = set()
        self.calls = self.lists = 0
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            with self._site.client() as client:
                while not self._stop.is_set():
                    self._round(client)
                    with self._news:
                        self._news.notify_all()
        except Exception as error:
            self.wrong.append(repr(error))
            with self._news:
                self._news.notify_all()

    def _ask(self, client: httpx.Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = client.post("/mcp", json=body, headers={"MCP-Protocol-Version": "2025-11-25"})
        result = answer.json().get("result")
        if answer.status_code != 200 or result is None:
            raise AssertionError(f"{method}: {answer.status_code} {answer.text}")
        return dict(result)

    def _round(self, client: httpx.Client) -> None:
        seen: list[str] = []
        state, cursor = 0, None
        while True:
            page = self._ask(client, "tools/list", {} if cursor is None else {"cursor": cursor})
            own = [tool for tool in page["tools"] if tool["name"].startswith(("always", "sometimes"))]
            seen += [tool["name"] for tool in own]
            states = {int(tool["description"].removeprefix("state ")) for tool in own}
            states |= {
                tool[key]["properties"]["state"]["const"] for tool in own for key in ("inputSchema", "outputSchema")
            }
            if len(states) > 1:
                self.wrong.append(f"one page holds the states {states}")
            if any(tool["name"] in SOMETIMES for tool in own) and not all(number % 2 for number in states):
                self.wrong.append("a tool of another state is listed")
            state = max([state, *states])
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        self.lists += 1
        self.states.add(state)
        if len(seen) != len(set(seen)) or not set(ALWAYS) <= set(seen):
            self.wrong.append(f"the pages together hold {seen}")
        result = self._ask(client, "tools/call", {"name": ALWAYS[0], "arguments": {"state": state}})
        self.calls += 1
        text = result["content"][0]["text"]
        if result["isError"]:
            # The state moved on between list and call: the arguments are what no longer fits, never the result.
            if not text.startswith("The arguments do not fit"):
                self.wrong.append(text)
        elif result["structuredContent"] != {"state": state}:
            self.wrong.append(text)


@pytest.fixture
def site(migrated: Migrated, tmp_path: Path) -> Iterator[Site]:
    """A site with one module of many tools and short pages."""
    write_state(tmp_path / "modules" / "probe", 1)
    own = {
        "ZOLINGA_MODULE_DIRS": str(tmp_path / "modules"),
        "DJANGO_SETTINGS_MODULE": "tests.site.paged_settings",
    }
    with migrated.copy(tmp_path / "var", own) as copied:
        yield copied


def reached(readers: list[Reader], state: int) -> bool:
    """Whether a state was served, or something else went wrong."""
    return any(state in reader.states or reader.wrong for reader in readers)


def test_no_answer_fails_or_mixes_two_states_while_imports_go_on(site: Site, tmp_path: Path) -> None:
    stop, news = threading.Event(), threading.Condition()
    readers = [Reader(site, stop, news) for _ in range(CLIENTS)]
    log = tmp_path / "imports.log"
    with site.up("--workers", str(WORKERS)), log.open("w") as output:
        # One process imports, as soon as the manifest changes; the workers learn of it by themselves.
        importer = subprocess.Popen(
            [sys.executable, "manage.py", "import_manifests", "--watch", "--json"],
            cwd=ROOT,
            env=site.env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            for reader in readers:
                reader.thread.start()
            state, end = 1, time.monotonic() + SECONDS
            while not any(reader.wrong for reader in readers) and (time.monotonic() < end or state < 4):
                state += 1
                write_state(tmp_path / "modules" / "probe", state)
                with news:
                    served = news.wait_for(partial(reached, readers, state), PATIENCE)
                assert served, f"state {state} was never served"
        finally:
            stop.set()
            for reader in readers:
                reader.thread.join(PATIENCE)
            importer.terminate()
            importer.wait(PATIENCE)
    printed = log.read_text()
    assert [problem for reader in readers for problem in reader.wrong] == []
    assert all(reader.calls and reader.lists for reader in readers)
    assert "refused" in printed
    assert not re.search(r'"refused": \[\{', printed), printed


DYING = """
import os, signal
import django
django.setup()
from mcp_gateway.manifest import apply

def die(*arguments):
    print("everything is written", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

# The last step of the transaction.
apply._record = die
apply.run_import()
"""


def test_an_import_that_is_killed_half_way_leaves_the_old_state_serving(site: Site, tmp_path: Path) -> None:
    site.manage("import_manifests")
    write_state(tmp_path / "modules" / "probe", 2)
    killed = subprocess.run(
        [sys.executable, "-c", DYING],
        cwd=ROOT,
        env=site.env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    assert killed.stdout == "everything is written\n"
    called = site.manage("mcp_call", ALWAYS[0], '{"state": 1}')
    assert json.loads(called.stdout)["structuredContent"] == {"state": 1}
    assert site.manage("import_manifests", "--check", check=False).returncode == 1
    assert "Imported" in site.manage("import_manifests").stdout
    assert site.manage("import_manifests", "--check", check=False).returncode == 0
