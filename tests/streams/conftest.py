"""A live site whose one tool does what files tell it to, and a client that reads an answer as it comes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.live import PATIENCE, ROOT, Migrated, Site
from tests.wire import CLIENT_META

HANDLER = """
import time
from pathlib import Path

from django.contrib.auth.models import Group

FOLDER = Path({folder!r})


class Handler:
    def on_wait(self, event):
        name = event.request["name"]
        if event.request.get("talk"):
            event.progress(1, message="begun")
        Group.objects.create(name=name)
        (FOLDER / f"{{name}}.begun").touch()
        while not (FOLDER / f"{{name}}.go").exists():
            if event.cancelled:
                (FOLDER / f"{{name}}.cancelled").touch()
                return {{}}
            time.sleep(0.01)
        event.progress(2)
        (FOLDER / f"{{name}}.ended").touch()
        return {{"name": name}}

    def on_idle(self, event):
        name = event.request["name"]
        while not (FOLDER / f"{{name}}.go").exists():
            if event.cancelled:
                (FOLDER / f"{{name}}.cancelled").touch()
                break
            time.sleep(0.01)
        return {{}}

    def on_kept(self, event):
        return {{"kept": Group.objects.filter(name=event.request["name"]).exists()}}
"""

SETTINGS = """
from zolinga_site.settings import *
from zolinga_site.settings import ZOLINGA

ZOLINGA = {**ZOLINGA, "KEEP_ALIVE_SECONDS": 1}
"""


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that happens elsewhere."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


@dataclass
class Stage:
    """The site and the folder through which a test and the tool talk."""

    site: Site
    folder: Path
    process: subprocess.Popen[Any]

    def tell(self, name: str, what: str) -> None:
        """Let the tool go on."""
        (self.folder / f"{name}.{what}").touch()

    def heard(self, name: str, what: str) -> None:
        """Wait until the tool has come so far."""
        until((self.folder / f"{name}.{what}").exists)

    def post(self, method: str, params: dict[str, Any], era: str = "modern", **headers: str) -> Answered:
        """Send a request on a connection of its own."""
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
        if era == "modern":
            params = {**params, "_meta": {**CLIENT_META, **params.get("_meta", {})}}
            sent |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
            if "name" in params:
                sent["Mcp-Name"] = params["name"]
        else:
            sent["MCP-Protocol-Version"] = "2025-11-25"
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        connection = socket.create_connection(("127.0.0.1", self.site.port), timeout=PATIENCE)
        connection.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        )
        return Answered(connection)

    def call(self, name: str, *, era: str = "modern", talk: bool = True, asks: bool = True) -> Answered:
        """Call the tool that waits."""
        meta = {"progressToken": "t"} if asks else {}
        return self.post("tools/call", {"name": "wait", "arguments": {"name": name, "talk": talk}, "_meta": meta}, era)

    def begin_session(self) -> str:
        """The id of a legacy session, at whichever worker."""
        params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "probe"}}
        with self.post("initialize", params, "legacy") as answer:
            return answer.begin().headers["mcp-session-id"]

    def cancel(self, session: str) -> None:
        """Call a session's call off, at whichever worker."""
        headers = {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": session}
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        with self.site.client() as client:
            assert client.post("/mcp", json=body, headers=headers).status_code == 202

    def listen(self) -> Answered:
        """Open a stream of changes."""
        return self.post("subscriptions/listen", {"notifications": {"toolsListChanged": True}})

    def kept(self, name: str) -> bool:
        """Whether what the tool wrote is there."""
        with self.post("tools/call", {"name": "kept", "arguments": {"name": name}}) as answer:
            kept: bool = answer.message()["result"]["structuredContent"]["kept"]
            return kept


@dataclass
class Answered:
    """An answer as it comes over the socket: ``status``, ``headers``, then piece by piece."""

    connection: socket.socket
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._file = self.connection.makefile("rb")

    def __enter__(self) -> Answered:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave, whatever is still to come."""
        self._file.close()
        self.connection.close()

    def begin(self) -> Answered:
        """Read the status and the headers."""
        if not self.status:
            self.status = int(self._file.readline().split()[1])
            while line := self._file.readline().strip().decode():
                name, _, value = line.partition(":")
                self.headers[name.lower()] = value.strip()
        return self

    def piece(self) -> bytes:
        """The next piece of a body that is sent in pieces; empty at its end."""
        self.begin()
        size = int(self._file.readline() or b"0", 16)
        piece = self._file.read(size)
        self._file.readline()
        return piece

    def events(self) -> Iterator[Any]:
        """The messages of a stream, as they come; comments are left out."""
        assert self.begin().headers["content-type"] == "text/event-stream", self.headers
        waiting = b""
        while piece := self.piece():
            waiting += piece
            while b"\n\n" in waiting:
                event, _, waiting = waiting.partition(b"\n\n")
                if not event.startswith(b":"):
                    yield json.loads(event.partition(b"data: ")[2])

    def message(self) -> Any:
        """The one message of an answer that is no stream."""
        assert self.begin().headers["content-type"] == "application/json", self.headers
        if "content-length" in self.headers:
            return json.loads(self._file.read(int(self.headers["content-length"])))
        return json.loads(b"".join(iter(self.piece, b"")))


@contextmanager
def served(site: Site, interface: str) -> Iterator[subprocess.Popen[Any]]:
    """Bring the site up: as its README says, or with the same server on the ASGI application."""
    if interface == "wsgi":
        with site.up("--workers", "2") as up:
            yield up
        return
    command = ["granian", "--interface", "asgi", "--port", str(site.port), "--log-level", "warning"]
    process: subprocess.Popen[Any] = subprocess.Popen(
        [sys.executable, "-m", *command, "zolinga_site.asgi:application"],
        cwd=ROOT,
        env={**site.env, "PUBLIC_URL": site.url, "ZOLINGA_SERVER_THREADS": "16"},
    )
    try:
        with site.client() as client:
            until(lambda: process.poll() is None and _answers(site))
            client.get("/")
        yield process
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def _answers(site: Site) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", site.port)) == 0


@contextmanager
def staged(interface: str, migrated: Migrated, folder: Path) -> Iterator[Stage]:
    """A stage of its own."""
    module = folder / "modules" / "probe"
    module.mkdir(parents=True)
    schema = {"request": {"type": "object"}, "response": {"type": "object"}}
    listeners = [
        {
            "event": name,
            "class": "\\Probe\\Handler",
            "method": f"on_{name}",
            "origin": ["mcp"],
            "atomic": name == "wait",
            "schema": schema,
        }
        for name in ("wait", "idle", "kept")
    ]
    (module / "__init__.py").write_text(HANDLER.format(folder=str(folder)))
    (module / "zolinga.json").write_text(json.dumps({"name": "Probe", "listen": listeners}))
    (folder / "stage_settings.py").write_text(SETTINGS)
    environment = {
        "ZOLINGA_MODULE_DIRS": str(module.parent),
        "DJANGO_SETTINGS_MODULE": "stage_settings",
        "PYTHONPATH": f"{folder}:{ROOT}",
    }
    with migrated.copy(folder / "var", environment) as site:
        site.manage("import_manifests")
        with served(site, interface) as process:
            yield Stage(site, folder, process)


@pytest.fixture(scope="module", params=["wsgi", "asgi"])
def stage(
    request: pytest.FixtureRequest, migrated: Migrated, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """The stage, on each of the two interfaces of a server."""
    with staged(request.param, migrated, tmp_path_factory.mktemp("stage")) as made:
        yield made


@pytest.fixture(params=["wsgi", "asgi"])
def stopping(request: pytest.FixtureRequest, migrated: Migrated, tmp_path: Path) -> Iterator[Stage]:
    """A stage that its test may stop, on each of the two interfaces of a server."""
    with staged(request.param, migrated, tmp_path) as made:
        yield made
