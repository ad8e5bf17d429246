from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conformance.toolchain import CannotRun, _run, install_once, node_major


def test_install_happens_once(tmp_path: Path) -> None:
    target = tmp_path / "cache" / "node"
    install_once(target, lambda folder: (folder / "first").touch())
    install_once(target, lambda folder: (folder / "second").touch())
    assert [path.name for path in target.iterdir()] == ["first"]


def test_install_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise CannotRun("no network")

    with pytest.raises(CannotRun, match="no network"):
        install_once(tmp_path / "node", fail)
    assert list(tmp_path.iterdir()) == []


def test_of_two_installs_at_once_the_first_stays(tmp_path: Path) -> None:
    target = tmp_path / "node"

    def slow(folder: Path) -> None:
        (folder / "mine").touch()
        install_once(target, lambda other: (other / "theirs").touch())

    install_once(target, slow)
    assert [path.name for path in target.iterdir()] == ["theirs"]
    assert [path.name for path in tmp_path.iterdir()] == ["node"]


@pytest.mark.parametrize(("said", "major"), [("v22.23.3", 22), ("v8.0.0", 8), ("node 22", 0), ("", 0)])
def test_major_version_of_node_is_read(tmp_path: Path, said: str, major: int) -> None:
    binary = tmp_path / "node"
    binary.write_text(f"#!/bin/sh\necho '{said}'\n", encoding="utf-8")
    binary.chmod(0o755)
    assert node_major(str(binary)) == major


def test_node_that_cannot_be_started_is_too_old(tmp_path: Path) -> None:
    assert node_major(str(tmp_path / "missing")) == 0


def test_failed_command_is_named_with_what_it_said() -> None:
    with pytest.raises(CannotRun, match=r"npm could not install it: the command .* failed\.\nregistry is down"):
        _run([sys.executable, "-c", "raise SystemExit('registry is down')"], "npm could not install it")
