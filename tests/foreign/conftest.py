"""The wheel, an environment that holds nothing but it, and projects in that environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import django
import pytest

from tests.foreign import shop
from tests.foreign.project import Project

ROOT = Path(__file__).parent.parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One run is enough: they bring their own databases, whatever the run's is."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.once)


@pytest.fixture(scope="session")
def uv() -> str:
    """The uv binary that runs these tests, or the one on ``PATH``."""
    found = os.environ.get("UV") or shutil.which("uv")
    if not found:
        pytest.fail("These tests build the wheel with uv: pip install uv, and run them with `uv run pytest`.")
    return found


@pytest.fixture(scope="session")
def wheel(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this work tree, built as for a release: from the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    _run(uv, "build", "--out-dir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def environment(uv: str, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel and what it asks for, with this run's Django."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    _run(uv, "venv", "--python", sys.executable, str(folder))
    python = folder / "bin" / "python"
    # The projects' processes write no bytecode, as their files change too fast for it, but read this.
    _run(
        uv, "pip", "install", "--compile-bytecode", "--python", str(python), str(wheel), f"Django=={django.__version__}"
    )
    return python


@pytest.fixture
def new_project(environment: Path, tmp_path: Path) -> Callable[[], Project]:
    """Make a project as ``django-admin startproject`` makes it."""
    return lambda: Project(tmp_path / "project", environment)


@pytest.fixture
def project(new_project: Callable[[], Project]) -> Project:
    """A fresh project with the app ``shop``, whose module has one open tool."""
    made = new_project()
    made.write(shop.files(shop.HELLO))
    made.settings('INSTALLED_APPS += ["shop"]')
    return made


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
