"""Tests that share something expensive are run by one worker."""

from __future__ import annotations

import pytest

from tests.sharing import group

pytest_plugins = ["pytester"]

SAMPLE = """
import pytest

@pytest.mark.parametrize("number", range(6))
def test_it(number, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / __name__
    folder.mkdir(exist_ok=True)
"""


def test_a_test_that_shares_nothing_goes_to_whoever_is_free() -> None:
    assert group("tests/test_conf.py::test_it[a::b]") == "tests/test_conf.py::test_it[a::b]"


def test_a_folder_and_a_file_that_share_something_stay_with_one_worker(pytester: pytest.Pytester) -> None:
    for name in ("foreign/test_a", "foreign/test_b", "clients/test_c"):
        file = pytester.path / "tests" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SAMPLE, encoding="utf-8")
    base = pytester.path / "base"
    plugins = ("-p", "no:django", "-p", "no:mcp_gateway", "-p", "xdist", "-p", "tests.sharing")
    done = pytester.runpytest_inprocess(*plugins, "-n", "2", "--dist", "loadgroup", f"--basetemp={base}")
    assert done.parseoutcomes()["passed"] == 18
    workers: dict[str, set[str]] = {}
    for folder in base.glob("*gw*/*test_*"):
        workers.setdefault(folder.name, set()).add(folder.parent.name)
    assert workers["test_a"] == workers["test_b"]
    assert [len(workers[name]) for name in ("test_a", "test_b", "test_c")] == [1, 1, 1]


@pytest.mark.parametrize("fatal", [0, 3, 28, 29])
def test_a_test_that_ends_its_worker_fails_once_and_all_others_run(pytester: pytest.Pytester, fatal: int) -> None:
    pytester.makepyfile(
        f"""
        import os
        import pytest

        @pytest.mark.parametrize("number", range(30))
        def test_it(number):
            if number == {fatal}:
                os._exit(1)
        """
    )
    plugins = ("-p", "no:django", "-p", "no:mcp_gateway", "-p", "xdist", "-p", "tests.sharing")
    done = pytester.runpytest_inprocess(*plugins, "-n", "2", "--dist", "loadgroup")
    assert done.parseoutcomes() == {"passed": 29, "failed": 1}
    done.stdout.fnmatch_lines([f"*crashed while running '*test_it[[]{fatal}[]]'"])
