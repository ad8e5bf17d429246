"""The statement of a request in projects with their own models and databases, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def run(kind: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.oauth.swapped.run", kind],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_projects_own_user_application_and_token_models() -> None:
    """A user in two tables without ``is_active``, UUIDs as keys, ``is_usable()`` and ``is_expired()`` of its own.

    The second statement is ``is_expired()`` reading a column that only this project has.
    """
    assert run("models") == {
        "user": True,
        "user_is_whole": True,
        "same_fields": True,
        "application": True,
        "statements": 2,
        "statements_without_token": 1,
        "first": "valid",
        "registers": True,
        "suspended": "The access token's client may not be used.",
        "frozen": "The access token has expired.",
    }


def test_oauth_in_another_database() -> None:
    assert run("databases") == {
        "user": True,
        "user_is_whole": True,
        "same_fields": True,
        "application": True,
        "statements": 2,
        "statements_without_token": 1,
        "first": "valid",
        "registers": True,
        "with_client_row": "valid",
        "service_user": True,
        "client_disabled": "The access token's client is disabled.",
    }
