"""Commands where the database is new."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "command",
    [
        ["import_manifests"],
        ["mcp_call", "echo"],
        ["mcp_token", "--user", "ada"],
        ["dispatch_event", "example:pricing:list"],
        ["mcp_doctor", "--user", "ada"],
    ],
)
def test_a_database_without_tables_is_told_with_the_cure(command: list[str], tmp_path: Path) -> None:
    site = {**os.environ, "ZOLINGA_DATA_DIR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path}/new.sqlite3"}
    run = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=site,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1
    assert "run “migrate” first" in run.stderr
    assert "Traceback" not in run.stderr
