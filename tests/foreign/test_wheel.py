"""What a project gets from ``pip install django-zolinga``."""

from __future__ import annotations

import subprocess
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.foreign.project import clean_environment

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    """The files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_it_holds_mcp_gateway_and_nothing_else(names: list[str]) -> None:
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"mcp_gateway", "django_zolinga"}
    assert not [name for name in names if "__pycache__" in name]


def test_it_holds_every_file_of_mcp_gateway(names: list[str]) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "mcp_gateway"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tracked = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    assert tracked
    assert tracked - set(names) == set()


def test_it_says_that_it_is_typed_and_free(names: list[str], wheel: Path) -> None:
    assert "mcp_gateway/py.typed" in names
    (metadata_name,) = [name for name in names if name.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(metadata_name).decode())
    assert metadata["Name"] == "django-zolinga"
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"


def test_it_brings_what_module_authors_need(names: list[str], wheel: Path) -> None:
    assert "mcp_gateway/manifest/zolinga.schema.json" in names
    assert "mcp_gateway/skills/create-mcp-tool/SKILL.md" in names
    assert "mcp_gateway/skills/convert-remote-event-to-mcp-tool/SKILL.md" in names
    (entry_points,) = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
    with zipfile.ZipFile(wheel) as archive:
        assert "[pytest11]\nmcp_gateway = mcp_gateway.testing" in archive.read(entry_points).decode()


def test_it_asks_for_no_server_and_no_client(environment: Path, uv: str) -> None:
    listed = subprocess.run(
        [uv, "pip", "list", "--python", str(environment), "--format", "freeze"],
        capture_output=True,
        text=True,
        check=True,
        env=clean_environment(),
    )
    installed = {line.partition("==")[0].lower() for line in listed.stdout.splitlines()}
    assert {"django", "djangorestframework", "django-oauth-toolkit", "jsonschema-rs", "orjson"} <= installed
    assert installed.isdisjoint({"mcp", "granian", "whitenoise", "django-environ", "pytest", "httpx"})
