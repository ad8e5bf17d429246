"""The README is right: its commands are run, word for word, in a fresh copy of the repository.

Blocks marked ``sh`` are run in order; a ``json`` or ``python`` block whose paragraph ends with a path is that
file, and the other ``python`` block is a program that calls the site. Blocks marked ``console`` are lines for other
machines and other projects: tests/foreign follows them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.live import OF_THE_TESTS, ROOT, free_port, lines

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
# Fetching and unpacking everything the environment needs may take long. In seconds.
PATIENCE = 600
SERVES = re.compile(r"manage\.py up\b")
PORTS = ("8000", "8080")


@dataclass(frozen=True)
class Block:
    """One fenced block: its mark, its text, and the path that the paragraph before it ends with."""

    mark: str
    text: str
    path: str


def blocks() -> list[Block]:
    """All blocks, in order."""
    found = []
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        path = re.search(r"`(modules/[^`]+)`:\s*\Z", TEXT[: match.start()])
        found.append(Block(match[1], match[2], path[1] if path else ""))
    return found


class Copy:
    """A fresh copy of the repository, and a shell in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "copy"
        names = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\0")
        for name in names:
            if name and (ROOT / name).is_file():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.folder / name)
        # A Python of its own, so that `pip install uv` touches nothing else.
        subprocess.run([sys.executable, "-m", "venv", str(folder / "python")], check=True)
        kept = {name: value for name, value in os.environ.items() if name not in (*OF_THE_TESTS, "VIRTUAL_ENV")}
        self.env = {
            **kept,
            "PATH": f"{folder / 'python' / 'bin'}:{os.environ['PATH']}",
            "UV_PYTHON": sys.executable,
            "PYTHONUNBUFFERED": "1",
        }
        self.ports = {port: str(free_port()) for port in PORTS}

    def here(self, text: str) -> str:
        """A block's text with ports that are free on this machine."""
        if SERVES.search(text) and "--port" not in text:
            text = f"{text.strip()} --port {PORTS[0]}"
        for port, free in self.ports.items():
            text = text.replace(port, free)
        return text

    def start(self, text: str) -> subprocess.Popen[str]:
        """Run a block that serves, until it answers."""
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", self.here(text)],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        printed = []
        for line in lines(process):
            printed.append(line)
            if line.startswith("Ctrl-C"):
                break
        assert process.poll() is None, "".join(printed)
        found = re.search(r"Endpoint: (\S+)", "".join(printed))
        assert found is not None, "".join(printed)
        with httpx.Client(transport=httpx.HTTPTransport(retries=7), timeout=60) as client:
            client.get(found[1])
        return process

    def stop(self, process: subprocess.Popen[str]) -> None:
        """Press Ctrl-C."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0

    def run(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run a block that ends well."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.here(text)],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A fresh copy of the repository."""
    return Copy(tmp_path)


@pytest.mark.once
def test_every_command_does_what_the_text_says(copy: Copy) -> None:
    shell = [block.text for block in blocks() if block.mark == "sh"]
    first, second, calls, imports, events, refused, allowed, doctor, tests = shell
    for block in blocks():
        if block.path:
            (copy.folder / block.path).parent.mkdir(parents=True, exist_ok=True)
            (copy.folder / block.path).write_text(block.text, encoding="utf-8")
    shutil.move(copy.folder / "modules" / "hello", copy.folder / "later")

    copy.stop(copy.start(first))
    server = copy.start(second)
    try:
        done = copy.run(calls)
        assert '"getPricingList"' in done.stdout
        assert "Austria" in done.stdout
        assert "200 OK" in done.stderr

        (program,) = [block.text for block in blocks() if block.mark == "python" and not block.path]
        (copy.folder / "program.py").write_text(copy.here(program), encoding="utf-8")
        assert "Austria" in copy.run("uv run --no-sync program.py").stdout

        shutil.move(copy.folder / "later", copy.folder / "modules" / "hello")
        done = copy.run(imports)
        assert "Hello, Ada!" in done.stdout

        done = copy.run(events)
        assert '"statusName": "OK"' in done.stdout
        assert '"Austria"' in done.stdout

        done = copy.run(refused)
        assert "401" in done.stderr
        assert "www-authenticate: bearer" in done.stderr.lower()

        done = copy.run(allowed)
        assert '"isError": false' in done.stdout
        assert '"isError": true' not in done.stdout
        assert "Austria" in done.stdout

        done = copy.run(doctor)
        assert done.stdout.count(": 0 faults") == 2
        assert "revocation: The token was given back" in done.stdout
    finally:
        copy.stop(server)
    # The tests themselves are what is running; that their command finds them is enough.
    assert tests.strip() == "uv run pytest"
    assert "test_every_command" in copy.run(f"{tests.strip()} --collect-only -q tests/site/test_readme.py").stdout


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    assert {block.mark for block in blocks()} == {"sh", "json", "python", "console"}


def test_json_in_the_text_is_json() -> None:
    for block in blocks():
        if block.mark == "json":
            json.loads(block.text)


def test_the_entry_shown_from_the_example_is_in_its_manifest() -> None:
    shown = next(json.loads(b.text) for b in blocks() if b.mark == "json" and '"getPricingList"' in b.text)
    manifest = json.loads((ROOT / "modules/example/zolinga.json").read_text(encoding="utf-8"))
    entry = next(entry for entry in manifest["listen"] if entry["event"] == "getPricingList")
    assert shown.items() <= entry.items()


def test_files_that_the_text_names_exist() -> None:
    for path in re.findall(r"`((?:zolinga_site|mcp_gateway|modules/example|\.ci)/[\w./]+)`", TEXT):
        assert (ROOT / path).exists(), path
