"""The manual for module authors is right: its commands run in order, its files are written, its examples import."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from jsonschema import Draft7Validator

from mcp_gateway.authoring.manifest_text import add_entries
from mcp_gateway.events import Status
from mcp_gateway.manifest.document import parse_manifest
from mcp_gateway.manifest.entries import KNOWN_KEYS
from mcp_gateway.views.manifest_schema import manifest_schema
from tests.authoring.documents import ROOT, blocks, commands, run, run_tests

pytest_plugins = ["pytester"]

TEXT = (ROOT / "modules" / "README.md").read_text(encoding="utf-8")
TUTORIAL, REFERENCE = TEXT.split("\n## Reference\n")


def follow(modules: Path, until_pytest: Callable[[], None]) -> list[str]:
    """Do what the tutorial says, step by step; what ``mcp_call`` answered."""
    answered = []
    for block in blocks(TUTORIAL):
        if block.mark == "sh":
            for line in commands(block.text):
                if line == "uv run pytest modules/weather":
                    until_pytest()
                    continue
                said = run(line)
                if " mcp_call " in line:
                    answered.append(said)
        elif block.path.startswith("modules/"):
            (modules / block.path.removeprefix("modules/")).write_text(block.text, encoding="utf-8")
        else:
            manifest = modules / "weather" / "zolinga.json"
            manifest.write_bytes(add_entries(manifest.read_bytes(), [json.loads(block.text)]))
    return answered


@pytest.mark.once
def test_the_tutorial_leads_from_nothing_to_four_answers(db: None, module_dir: Path, pytester: pytest.Pytester) -> None:
    get_user_model().objects.create_superuser("admin", password="only-for-tests")
    tested = []

    def tests_pass() -> None:
        run_tests(pytester, module_dir).assert_outcomes(passed=2)
        tested.append(True)

    results = [json.loads(answer)["structuredContent"] for answer in follow(module_dir, tests_pass)]
    assert tested
    hello, forecast, alert, places = results
    assert hello == {"greeting": "Hello, Ada!"}
    assert [day["celsius"] for day in forecast["days"]] == [14.5, 14.5]
    assert alert == {"greeting": "Hello, world!"}
    assert places == {"places": ["Graz"]}
    drafted = json.loads((module_dir / "weather/schemas/listPlacesResponse.json").read_text())
    assert drafted["properties"] == {"places": {"type": "array", "items": {"type": "string"}}}


def test_the_test_of_a_resource_and_a_prompt_passes(module_dir: Path, pytester: pytest.Pytester) -> None:
    files = {
        "mcp/resources/stations.md.meta.json": '"Weather stations"',
        "mcp/prompts/plan-a-day.meta.json": '"Plan a day"',
        "tests/test_published.py": "prompts/get",
    }
    marked = [block for block in blocks(REFERENCE) if block.mark in ("json", "python")]
    shown = {name: next(block.text for block in marked if word in block.text) for name, word in files.items()}
    for name, text in {**shown, "zolinga.json": "{}", "mcp/resources/stations.md": "# Stations"}.items():
        (module_dir / "weather" / name).parent.mkdir(parents=True, exist_ok=True)
        (module_dir / "weather" / name).write_text(text, encoding="utf-8")
    run_tests(pytester, module_dir).assert_outcomes(passed=1)


def test_the_whole_manifest_in_the_reference_is_sound() -> None:
    (shown,) = [block for block in blocks(REFERENCE) if block.mark == "json" and '"listen"' in block.text]
    manifest = json.loads(shown.text)
    read = parse_manifest(shown.text.encode(), "weather")
    assert not read.refused
    assert not read.warnings
    assert all(not entry.faults and not entry.warnings for entry in read.entries)
    assert list(Draft7Validator(json.loads(manifest_schema())).iter_errors(manifest)) == []


def test_python_in_the_text_compiles_and_json_is_json() -> None:
    for block in blocks(TEXT):
        if block.mark == "python":
            compile(block.text, "README.md", "exec")
        elif block.mark == "json":
            json.loads(block.text)
        else:
            assert block.mark == "sh"


def test_every_key_status_and_command_option_is_in_the_reference() -> None:
    rows = set(re.findall(r"`([^`]+)`", "\n".join(line for line in REFERENCE.splitlines() if line.startswith("| "))))
    schema: dict[str, Any] = json.loads(manifest_schema())
    assert set(schema["properties"]) - rows == set()
    assert KNOWN_KEYS - rows == set()
    named = dict(re.findall(r"\b([A-Z][A-Z_]+) (\d+)\b", REFERENCE))
    assert {status.name: str(status.value) for status in Status}.items() <= named.items()


def test_links_and_paths_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!#)([^)]+)\)", TEXT):
        assert (ROOT / "modules" / target).exists(), target
    for anchor in re.findall(r"\]\(#([^)]+)\)", TEXT):
        heading = anchor.replace("-", "[ -]")
        assert re.search(rf"^#+ {heading}$", TEXT, re.MULTILINE | re.IGNORECASE), anchor
    for path in re.findall(r"`(mcp_gateway/[^`]+)`", TEXT):
        assert (ROOT / path).exists(), path
