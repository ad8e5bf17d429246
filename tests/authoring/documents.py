"""Reading documents with commands, and running these in the test's own process and database."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.live import OF_THE_TESTS

ROOT = Path(__file__).parent.parent.parent
PREFIXES = ("uv run manage.py ", "python manage.py ")


@dataclass(frozen=True)
class Block:
    """A fenced block: its mark, its text, and the last words in code before it if the sentence ends with them."""

    mark: str
    text: str
    path: str


def blocks(text: str) -> list[Block]:
    """All blocks, in order."""
    found = []
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        path = re.search(r"`([^`]+)`:\s*\Z", text[: match.start()])
        found.append(Block(match[1], match[2], path[1] if path else ""))
    return found


def commands(text: str) -> list[str]:
    """The lines of a shell block; all are commands of ``manage.py`` or of pytest."""
    return [line for line in text.splitlines() if line.strip()]


def run(line: str) -> str:
    """Run a command of ``manage.py``; what it printed. Raises ``CommandError`` or ``SystemExit`` where it fails."""
    prefix = next(prefix for prefix in PREFIXES if line.startswith(prefix))
    name, *arguments = shlex.split(line.removeprefix(prefix))
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def run_tests(pytester: pytest.Pytester, folder: Path) -> pytest.RunResult:
    """Run the tests in a folder of modules, as their author would, in a process of their own."""
    options = ("--ds=tests.settings", f"--rootdir={folder}", "-o", f"pythonpath={ROOT}", "-p", "no:cacheprovider")
    with pytest.MonkeyPatch.context() as patch:
        # A database of its own, not the one that this run is using.
        for name in OF_THE_TESTS:
            patch.delenv(name, raising=False)
        return pytester.runpytest_subprocess(str(folder), *options)
