"""What of several runs is left out, and what is told in the end, tried on a small test file of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stages import main

pytest_plugins = ["pytester"]

SAMPLE = """
import os
import pytest

@pytest.mark.once
@pytest.mark.parametrize("text", ["a@b", "ä"])
def test_once(text):
    pass

@pytest.mark.once
@pytest.mark.skipif("SERVICE" not in os.environ, reason="needs a service")
def test_once_with_a_service():
    pass

def test_always():
    pass

@pytest.mark.skip(reason="not today")
def test_never():
    pass

@pytest.mark.xfail
def test_known_to_fail():
    assert False
"""


def run(pytester: pytest.Pytester, file: Path, *arguments: str) -> dict[str, int]:
    """Run the sample with the plugin alone."""
    pytester.makeini("[pytest]\nmarkers =\n    once: needs one run only\n")
    pytester.makepyfile(test_sample=SAMPLE)
    plain = ("-p", "no:django", "-p", "no:mcp_gateway", "-p", "tests.stages")
    return pytester.runpytest_inprocess(*plain, f"--ran={file}", *arguments).parseoutcomes()


def test_what_is_marked_once_is_left_out_of_the_runs_after_the_one_that_ran_it(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ran"
    assert run(pytester, file) == {"passed": 3, "skipped": 2, "xfailed": 1}
    monkeypatch.setenv("SERVICE", "yes")
    assert run(pytester, file) == {"passed": 2, "skipped": 1, "xfailed": 1, "deselected": 2}
    assert run(pytester, file) == {"passed": 1, "skipped": 1, "xfailed": 1, "deselected": 3}


def test_what_every_run_skipped_is_told(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ran"
    run(pytester, file)
    capsys.readouterr()
    assert main(file) == 1
    assert "test_once_with_a_service was skipped by every run.\n" in capsys.readouterr().out
    monkeypatch.setenv("SERVICE", "yes")
    run(pytester, file)
    capsys.readouterr()
    assert main(file) == 0
    assert capsys.readouterr().out == "test_sample.py::test_never was skipped by every run.\n"


def test_workers_of_a_run_leave_out_the_same(pytester: pytest.Pytester, tmp_path: Path) -> None:
    file = tmp_path / "ran"
    shared = ("-p", "xdist", "-n", "1")
    assert run(pytester, file, *shared)["passed"] == 3
    assert run(pytester, file, *shared) == {"passed": 1, "skipped": 2, "xfailed": 1}
