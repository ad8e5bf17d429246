"""The wire tests hold under a project's hostile settings as well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

WIRE_TESTS = ("tests/protocol", "tests/views", "tests/hostile_controls.py")


def test_the_wire_tests_pass_under_hostile_settings(tmp_path: Path) -> None:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "COV_")) and name not in ("DATABASE_URL", "ZOLINGA_DATA_DIR")
    }
    options = ["--ds=tests.hostile_settings", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'run'}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *WIRE_TESTS],
        cwd=ROOT,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == pytest.ExitCode.OK, done.stdout[-8000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
