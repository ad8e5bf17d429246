"""The shape of the repository: what lies where, how long a file may be, what an import may need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

TOP_LEVEL = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "manage.py",
    "mcp_gateway",
    "modules",
    "pyproject.toml",
    "tests",
    "zolinga_site",
}

MAX_LINES = 450


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """Every file that is in the repository or is about to be, relative to its root."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: what belongs to the repository is not known")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
    assert found
    return found


def test_nothing_else_lies_at_the_top(files: list[Path]) -> None:
    assert {path.parts[0] for path in files} - TOP_LEVEL == set()


def test_no_lock_file_is_kept(files: list[Path]) -> None:
    locks = {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml"}
    assert [path for path in files if path.name in locks] == []


def test_no_file_holds_more_than_one_can_read(files: list[Path]) -> None:
    python = [path for path in files if path.suffix == ".py" and path.parts[0] in ("mcp_gateway", "zolinga_site")]
    lengths = {
        str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for path in python
        if "migrations" not in path.parts
    }
    assert lengths
    assert {path: lines for path, lines in lengths.items() if lines > MAX_LINES} == {}


def test_no_file_is_named_after_nothing(files: list[Path]) -> None:
    nameless = {"utils.py", "util.py", "helpers.py", "misc.py", "common.py"}
    assert [path for path in files if path.name in nameless] == []


def test_what_a_handler_sees_imports_without_settings_and_apps() -> None:
    program = (
        "import mcp_gateway.events, mcp_gateway.events.event, mcp_gateway.events.status\n"
        "from mcp_gateway.events import CallEvent, Status\n"
        "event = CallEvent('echo', 'mcp', {'text': 'x'})\n"
        "event.set_status(Status.OK, 'OK')\n"
        "from django.apps import apps\n"
        "from django.conf import settings\n"
        "print(event.status.name, settings.configured, apps.ready)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["OK", "False", "False"], done.stderr
