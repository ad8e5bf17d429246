"""The site as a user runs it: ``manage.py up`` in a process of its own, on data of its own."""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest

ROOT = Path(__file__).resolve().parent.parent

# Seconds. Generous, because a busy machine only makes a failing run slower.
PATIENCE = 60

LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

# What the run of the tests sets for itself, and a site of its own must not see.
OF_THE_TESTS = (
    "ALLOWED_HOSTS",
    "DATABASE_URL",
    "DEBUG",
    "DJANGO_SETTINGS_MODULE",
    "PUBLIC_URL",
    "SECRET_KEY",
    "ZOLINGA_DATA_DIR",
    "ZOLINGA_MODULE_DIRS",
)


def free_port() -> int:
    """A port that nobody listens on, from below the range that outgoing connections take theirs from.

    Several runs ask at once, so it is chosen by chance instead of being the next one free.
    """
    for _ in range(100):
        port = 20000 + secrets.randbelow(12000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port was found between 20000 and 32000")


def lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """What a process prints. One that does not come to its end, or to what is looked for, is killed with its group."""

    def kill() -> None:
        with suppress(ProcessLookupError):
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()

    assert process.stdout is not None
    watchdog = threading.Timer(3 * PATIENCE, kill)
    watchdog.daemon = True
    watchdog.start()
    try:
        # No ``yield from``: it would close the pipe where the caller stops reading.
        for line in process.stdout:  # noqa: UP028
            yield line
    finally:
        watchdog.cancel()


def until(process: subprocess.Popen[str], *words: str) -> str:
    """What the server prints up to a line that holds one of these words."""
    printed = []
    for line in lines(process):
        printed.append(line)
        if any(word in line for word in words):
            return "".join(printed)
    raise AssertionError("".join(printed))


@dataclass
class Site:
    """A site's environment: run its commands, bring it up, speak to it."""

    data: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    output: str = ""
    # Called as soon as it says that it is ready, before anything is asked.
    on_ready: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> str:
        """Its MCP endpoint."""
        return f"{self.url}/mcp"

    @property
    def env(self) -> dict[str, str]:
        """The environment of its processes."""
        own = {name: value for name, value in os.environ.items() if name not in OF_THE_TESTS}
        return {**own, "ZOLINGA_DATA_DIR": str(self.data), "PYTHONUNBUFFERED": "1", **self.environment}

    def manage(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of ``manage.py``; its output is text."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=check,
        )

    def client(self) -> httpx.Client:
        """An HTTP client that tries again while the server's workers are still starting."""
        return httpx.Client(base_url=self.url, transport=httpx.HTTPTransport(retries=7), timeout=PATIENCE)

    @contextmanager
    def up(self, *arguments: str, task_workers: int = 0) -> Iterator[subprocess.Popen[str]]:
        """Bring it up and wait until it answers; what it printed is in ``output``. Ctrl-C ends it.

        Most tests have no use for a worker for tasks, which takes as long to start as the server.
        """
        process = subprocess.Popen(
            [
                sys.executable,
                "manage.py",
                "up",
                "--port",
                str(self.port),
                "--task-workers",
                str(task_workers),
                *arguments,
            ],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            printed = []
            for line in lines(process):
                printed.append(line)
                if line.startswith("Ctrl-C"):
                    break
            self.output = "".join(printed)
            assert process.poll() is None, self.output
            self.on_ready()
            with self.client() as client:
                client.get("/")
            yield process
        finally:
            if process.poll() is None:
                # As a terminal does: to every process of the group.
                os.killpg(process.pid, signal.SIGINT)
            try:
                rest, _none = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                rest, _none = process.communicate()
            self.output += rest
            # Shown where the test fails.
            print(self.output)

    def tools(self) -> set[str]:
        """The names that ``tools/list`` shows."""
        with self.client() as client:
            return {tool["name"] for tool in client.post("/mcp", json=LIST_TOOLS).json()["result"]["tools"]}

    @property
    def password(self) -> str:
        """The administrator's password as ``up`` printed it."""
        found = re.search(r"Password: (\S+)", self.output)
        assert found is not None, self.output
        return found[1]


@contextmanager
def database(template: str = "template1") -> Iterator[dict[str, str]]:
    """A database of a site's own, as environment: on the server of this run's ``DATABASE_URL``, else SQLite.

    On the server it is a copy of ``template``, the name of another database there; the default one is empty.
    """
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield {}
        return
    import psycopg

    name = f"zolinga_live_{secrets.token_hex(4)}"
    parts = urlsplit(url)
    server = urlunsplit(parts._replace(path="/postgres"))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    try:
        yield {"DATABASE_URL": urlunsplit(parts._replace(path=f"/{name}"))}
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@dataclass(frozen=True)
class Migrated:
    """A migrated database that no site uses: each gets a copy, which takes no time where migrating takes seconds."""

    site: Site

    @contextmanager
    def copy(self, data: Path, environment: Mapping[str, str] | None = None) -> Iterator[Site]:
        """A site with a copy for its database. ``data`` is a folder that is not there yet."""
        own = urlsplit(self.site.environment.get("DATABASE_URL", ""))
        with database(own.path.strip("/")) as copied:
            if not copied:
                data.mkdir(mode=0o700)
                with closing(sqlite3.connect(self.site.data / "db.sqlite3")) as connection:
                    connection.execute("VACUUM INTO ?", [str(data / "db.sqlite3")])
            yield Site(data, {**copied, **(environment or {})})


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Migrated]:
    """The migrated database of this process of the run."""
    with database() as environment:
        site = Site(tmp_path_factory.mktemp("migrated"), environment)
        site.manage("migrate", "--verbosity", "0")
        yield Migrated(site)
