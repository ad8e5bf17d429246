"""``manage.py mcp_doctor`` at a real server, and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from mcp_gateway.doctor.report import Finding, Level, render
from tests.live import Migrated, free_port


def test_a_fresh_site_has_no_fault(migrated: Migrated, tmp_path: Path) -> None:
    with migrated.copy(tmp_path / "var") as site, site.up("--workers", "2"):
        done = site.manage("mcp_doctor", "--user", "admin", "--tool", "listPriceAlerts", "--json")
        report = json.loads(done.stdout)
        assert report["url"] == site.endpoint
        assert report["faults"] == 0
        levels = {finding["step"]: finding["level"] for finding in report["findings"]}
        steps = ("reach", "challenge", "server metadata", "registration", "login", "consent", "list", "revocation")
        assert {step: levels[step] for step in steps} == dict.fromkeys(steps, "ok")
        text = site.manage("mcp_doctor").stdout
        assert f"ok        reach: POST {site.endpoint} was answered 200" in text
        assert f"{site.endpoint}: 0 faults" in text


def test_it_ends_with_1_where_clients_are_kept_out(migrated: Migrated, tmp_path: Path) -> None:
    with migrated.copy(tmp_path / "var") as site:
        done = site.manage("mcp_doctor", f"http://127.0.0.1:{free_port()}/mcp", check=False)
        assert done.returncode == 1
        assert "fault     reach: No answer" in done.stdout
        assert "1 fault" in done.stdout
        assert done.stderr == ""


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mcp.example.com/mcp"], "write it in full"),
        (["--user", "nobody"], "no user “nobody”"),
        (["--arguments", "[]"], "must be a JSON object"),
        (["--arguments", "{"], "--arguments"),
    ],
)
def test_it_says_what_it_cannot_use(arguments: list[str], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        call_command("mcp_doctor", *arguments)


def test_a_finding_is_told_in_words_and_rules_stay_as_they_are() -> None:
    rules = "    location ~ ^/x$ {\n        rewrite ^(.*)$ /shop$1 last;\n    }"
    text = render(Finding("step", Level.FAULT, "It was seen.", "does this.", f"Add:\n{rules}", "mcp_gateway.W001"))
    assert text.splitlines() == [
        "fault     step (mcp_gateway.W001): It was seen.",
        "          A client: does this.",
        "          To mend it: Add:",
        *(f"          {line}" for line in rules.split("\n")),
    ]
