from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def fixture_modules(settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MODULE_DIRS": [Path(__file__).parent / "modules"]}


@pytest.mark.django_db
def test_fixture_module_is_imported_with_one_remark_on_the_schema_that_the_suite_prescribes(
    fixture_modules: None, import_manifests: Callable[..., dict[str, Any]]
) -> None:
    report = import_manifests("--module", "conformance")
    assert report["refused"] == []
    assert [(found["name"], found["pointer"].rpartition("/")[2]) for found in report["warnings"]] == [
        ("json_schema_2020_12_tool", "allOf")
    ], report["warnings"]
    added = {entry["name"] for entry in report["added"] if entry["kind"] == "tool"}
    assert added >= {"test_simple_text", "test_error_handling", "json_schema_2020_12_tool", "test_x_mcp_header"}
