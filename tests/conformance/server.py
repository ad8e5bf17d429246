"""The real server for one run: the site's own program, on SQLite in a folder of its own."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.toolchain import CannotRun

ROOT = Path(__file__).resolve().parent.parent.parent

PATH = "/mcp"
WORKERS = 2
START_SECONDS = 60
STOP_SECONDS = 20

# Every one of them would lead the server away from the folder it is given, or from the site's defaults.
FOREIGN = (
    "ALLOWED_HOSTS",
    "CACHE_URL",
    "DATABASE_URL",
    "DEBUG",
    "DJANGO_SETTINGS_MODULE",
    "PUBLIC_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "ZOLINGA_DATA_DIR",
    "ZOLINGA_MODULE_DIRS",
)

LOG_NAME = "server.log"


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the fixture modules while the block runs; gives the endpoint's URL.

    ``folder`` gets the data directory and the server's output, ``server.log``. Raises `CannotRun` if the database
    cannot be made, a fixture is refused or the server does not answer.
    """
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {name: value for name, value in os.environ.items() if name not in FOREIGN} | {
        "DJANGO_SETTINGS_MODULE": "tests.conformance.settings",
        "PUBLIC_URL": url,
        "ZOLINGA_DATA_DIR": str(folder / "data"),
    }
    for arguments in (["migrate", "--verbosity=0"], ["import_manifests"]):
        _manage(arguments, environment)
    log = folder / LOG_NAME
    command = [sys.executable, "-m", "zolinga_site.server", "--port", str(port), "--workers", str(WORKERS)]
    command += ["--task-workers", str(WORKERS)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _wait_until_it_answers(process, port, log)
        yield url + PATH
    finally:
        _stop(process)


def _manage(arguments: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotRun(f"manage.py {' '.join(arguments)} failed:\n{(done.stdout + done.stderr).strip()[-4000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Ask for the list of tools until an answer comes, and refuse one that is none."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
        try:
            connection.request("POST", PATH, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read().decode("utf-8", "replace")
        except OSError:
            try:
                process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
            raise CannotRun(f"The server ended with code {process.returncode}.\n{tail(log)}") from None
        finally:
            connection.close()
        if answer.status == http.HTTPStatus.OK:
            return
        raise CannotRun(f"The server answered tools/list with status {answer.status}: {said[:500]}\n{tail(log)}")
    raise CannotRun(f"The server did not answer within {START_SECONDS} s.\n{tail(log)}")


def tail(log: Path, size: int = 4000) -> str:
    """The end of the server's output."""
    return log.read_text(encoding="utf-8", errors="replace")[-size:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        # Its workers are in its session and would outlive it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
