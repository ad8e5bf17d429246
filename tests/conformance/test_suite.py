from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conformance.suite import ALWAYS_THERE, judge, listed, read_records


def check(status: str, id: str = "some-check", **more: Any) -> dict[str, Any]:
    return {"id": id, "name": "Some", "description": "What is looked at", "status": status, **more}


def test_scenario_passes_when_no_check_failed() -> None:
    result = judge("ping", [check("SUCCESS"), check("WARNING"), check("SKIPPED"), check("INFO")])
    assert result.passed
    assert result.proved


def test_scenario_with_one_failed_check_fails_with_its_message_on_one_line() -> None:
    result = judge(
        "ping",
        [check("SUCCESS"), check("FAILURE", errorMessage="expected {},\n  got []"), check("FAILURE", id="later")],
    )
    assert not result.passed
    assert result.failure == "some-check: expected {}, got []"


def test_failed_check_without_a_message_is_described() -> None:
    assert judge("ping", [check("FAILURE")]).failure == "some-check: What is looked at"


def test_failed_check_without_any_text_fails_all_the_same() -> None:
    assert not judge("ping", [{"id": "bare", "status": "FAILURE"}]).passed


def test_scenario_that_the_suite_wrote_nothing_about_fails() -> None:
    assert not judge("ping", None).passed


def test_scenario_that_tried_nothing_passes_and_proves_nothing() -> None:
    result = judge("tasks", [check("SKIPPED"), check("SUCCESS", id=ALWAYS_THERE)])
    assert result.passed
    assert not result.proved


def test_scenarios_are_read_from_the_servers_section_of_a_list() -> None:
    text = (
        "Required for 2026-07-28 (3 scenarios, frozen):\n\n"
        "Server scenarios (test against a server):\n  - server-stateless [2026-07-28]\n  - tools-list\n\n"
        "Client scenarios (test against a client):\n  - tools_call\n\n"
        "  pending (1):\n    - json-schema-2020-12 [server]\n"
    )
    assert listed(text) == ["server-stateless", "tools-list"]


def test_records_are_found_by_scenario_whatever_its_name_holds(tmp_path: Path) -> None:
    for name in (
        "server-server-stateless-2026-11-30T11-25-32-221Z",
        "server-json-schema-2020-12-2026-11-30T11-25-32-5Z",
        "authorization-server-authorization-code-grant-2026-11-30T11-25-32-5Z",
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "checks.json").write_text(json.dumps([check("SUCCESS", id=name)]), encoding="utf-8")
    records = read_records(tmp_path)
    assert set(records) == {"server-stateless", "json-schema-2020-12", "authorization-code-grant"}
    assert records["server-stateless"][0]["status"] == "SUCCESS"
