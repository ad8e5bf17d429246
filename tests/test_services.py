"""The switches of tests/services.py, tried on small test files of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.services import SWITCHES

pytest_plugins = ["pytester"]

ASKS = """
import pytest

@pytest.mark.service("CHROMIUM")
def test_marked():
    pass

def test_fixture(chromium):
    assert chromium.endswith("browser")

def test_free():
    pass
"""


def run(pytester: pytest.Pytester, source: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run pytest in a folder of its own, with the switches as its only plugin; exit code and output."""
    pytester.makeini("[pytest]\nmarkers =\n    service: asks for a service\n")
    pytester.makepyfile(test_sample=source)
    with pytest.MonkeyPatch.context() as patch:
        for name in SWITCHES:
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        plugins = ("-p", "no:django", "-p", "no:mcp_gateway", "-p", "tests.services")
        done = pytester.runpytest_inprocess(*plugins, "-rs", *arguments)
    return done.ret, "\n".join([*done.outlines, *done.errlines])


def test_without_its_service_a_test_is_skipped_and_says_how_to_switch_it_on(pytester: pytest.Pytester) -> None:
    code, output = run(pytester, ASKS)
    assert code == 0
    assert "1 passed, 2 skipped" in output
    assert "CHROMIUM=/usr/bin/chromium" in output


def test_with_its_service_a_test_runs(pytester: pytest.Pytester, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.touch()
    code, output = run(pytester, ASKS, "--all-services", CHROMIUM=str(browser))
    assert code == 0
    assert "3 passed" in output


def test_with_all_services_a_skipped_service_test_fails(pytester: pytest.Pytester) -> None:
    code, output = run(pytester, ASKS, "--all-services")
    assert code == 1
    assert "1 passed" in output
    assert "was skipped in a run with all services" in output


def test_with_all_services_a_service_test_that_skips_itself_fails(pytester: pytest.Pytester) -> None:
    source = "import pytest\n\n@pytest.mark.service('REDIS_URL')\ndef test_it():\n    pytest.skip('not today')\n"
    code, output = run(pytester, source, "--all-services", REDIS_URL="redis://127.0.0.1:6379/0")
    assert code == 1
    assert "not today" in output


def test_an_sqlite_url_does_not_bring_postgresql(pytester: pytest.Pytester) -> None:
    source = "import pytest\n\n@pytest.mark.service('DATABASE_URL')\ndef test_it():\n    pass\n"
    assert "1 skipped" in run(pytester, source, DATABASE_URL="sqlite:///db.sqlite3")[1]
    assert "1 passed" in run(pytester, source, DATABASE_URL="postgres://postgres@127.0.0.1/x")[1]


def test_an_unknown_service_is_refused(pytester: pytest.Pytester) -> None:
    source = "import pytest\n\n@pytest.mark.service('CHROMUM')\ndef test_it():\n    pass\n"
    code, output = run(pytester, source)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "CHROMUM" in output
