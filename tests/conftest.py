"""Fixtures every room uses: a module on disk, an import of it, a browser.

Tests that need PostgreSQL, Chromium or Redis ask for it with the marker ``service``: see tests/services.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.core.management import call_command

from mcp_gateway import registry

pytest_plugins = ["tests.live", "tests.services", "tests.sharing", "tests.stages"]

# How long a busy machine takes for an example, or to think of one, says nothing of the code.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _fresh_snapshot() -> None:
    """Each test starts from its own database, so the snapshot of the last one is dropped."""
    registry.forget()


@pytest.fixture
def module_dir(tmp_path: Path, settings: Any) -> Path:
    """An empty folder that is the one entry of ``MODULE_DIRS``."""
    folder = tmp_path / "modules"
    folder.mkdir()
    settings.ZOLINGA = {**settings.ZOLINGA, "MODULE_DIRS": [folder]}
    return folder


@pytest.fixture
def write_module(module_dir: Path) -> Callable[..., Path]:
    """Write ``zolinga.json`` and further files of a module: objects as JSON, strings and bytes as they are."""

    def write(manifest: Any, files: dict[str, Any] | None = None, module: str = "demo") -> Path:
        folder = module_dir / module
        for name, content in {"zolinga.json": manifest, **(files or {})}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return folder

    return write


@pytest.fixture
def import_manifests(db: None) -> Callable[..., dict[str, Any]]:
    """Run ``import_manifests --json`` and give its report back, whatever its exit code."""

    def run(*arguments: str) -> dict[str, Any]:
        out = StringIO()
        with suppress(SystemExit):
            call_command("import_manifests", "--json", *arguments, stdout=out)
        report: dict[str, Any] = json.loads(out.getvalue())
        return report

    return run
