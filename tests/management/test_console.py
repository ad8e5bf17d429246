"""The console script ``zolinga``."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

MANIFEST = {
    "name": "Demo",
    "listen": [{"event": "my:event", "class": "\\Demo\\Handler", "method": "on", "origin": ["cli"]}],
}
CODE = "class Handler:\n    def on(self, event):\n        return {'got': event.request}\n"
SETTINGS = """
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "rest_framework"]
INSTALLED_APPS += ["oauth2_provider", "mcp_gateway"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
SECRET_KEY = "for this test"
USE_TZ = True
OAUTH2_PROVIDER = {"SCOPES": {"mcp:tools": "Use the tools"}}
ZOLINGA = {"MODULE_DIRS": ["modules"]}
"""
MANAGE = """
import os, sys
from django.core.management import execute_from_command_line
if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
    execute_from_command_line(sys.argv)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one module, migrated; its manage.py beside."""
    folder = tmp_path_factory.mktemp("project")
    files = {
        "shop/__init__.py": "",
        "shop/settings.py": SETTINGS,
        "modules/demo/zolinga.json": json.dumps(MANIFEST),
        "modules/demo/__init__.py": CODE,
        "manage.py": MANAGE,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    done = _run(folder, [sys.executable, "manage.py", "migrate", "-v", "0"])
    assert done.returncode == 0, done.stderr
    return folder


def _run(folder: Path, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "ZOLINGA_DATA_DIR", "PYTHONPATH")
    }
    return subprocess.run(
        command,
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def zolinga(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script as it is installed: its function, called by Python."""
    start = "import sys; from mcp_gateway.management.console import main; sys.exit(main())"
    return _run(folder, [sys.executable, "-c", start, *arguments], **environment)


def test_it_is_installed_under_its_name() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, function = scripts["zolinga"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_without_arguments_it_imports_and_with_an_event_it_dispatches(project: Path) -> None:
    dry = zolinga(project, "--dry-run", "--json")
    assert dry.returncode == 0, dry.stderr
    assert [entry["name"] for entry in json.loads(dry.stdout)["added"]]
    imported = zolinga(project)
    assert imported.returncode == 0, imported.stderr
    assert "my:event" in imported.stdout
    done = zolinga(project, "my:event", "--key=value", "--n:=5")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["response"] == {"got": {"key": "value", "n": 5}}
    assert zolinga(project, "no:event").returncode == 1


def test_every_key_of_an_event_is_its_own_also_one_that_django_has_an_option_for(project: Path) -> None:
    assert zolinga(project).returncode == 0
    done = zolinga(project, "my:event", "--settings=dark", "--pythonpath=/nowhere", "--help", "--version")
    assert done.returncode == 0, done.stderr
    got = {"settings": "dark", "pythonpath": "/nowhere", "help": True, "version": True}
    assert json.loads(done.stdout)["response"] == {"got": got}


def test_the_project_is_that_of_the_environment_where_no_manage_py_is_beside(project: Path, tmp_path: Path) -> None:
    (tmp_path / "shop").symlink_to(project / "shop")
    (tmp_path / "modules").symlink_to(project / "modules")
    (tmp_path / "db.sqlite3").symlink_to(project / "db.sqlite3")
    assert zolinga(tmp_path, DJANGO_SETTINGS_MODULE="shop.settings").returncode == 0
    done = zolinga(tmp_path, "my:event", DJANGO_SETTINGS_MODULE="shop.settings")
    assert json.loads(done.stdout)["ok"] is True


def test_without_a_project_it_says_what_to_do(tmp_path: Path) -> None:
    done = zolinga(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "manage.py" in done.stderr
    assert "DJANGO_SETTINGS_MODULE" in done.stderr
    assert "Traceback" not in done.stderr


def test_its_help_tells_both_habits(tmp_path: Path) -> None:
    done = zolinga(tmp_path, "--help")
    assert done.returncode == 0
    assert "import_manifests" in done.stdout
    assert "dispatch_event" in done.stdout
