"""The peers' environments: one virtual environment each, made by uv, pinned, kept outside the tree.

A kept environment is used again only while its list of requirements is the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

SERVERS = Path(__file__).resolve().parent / "servers"

#: The versions compared with. Django and granian are those of our own environment.
PEERS = {
    "fastmcp": ["fastmcp==4.1.6", "uvicorn[standard]==0.54.0"],
    "official": ["mcp==2.3.0", "uvicorn[standard]==0.54.0"],
    "django-mcp-server": ["django-mcp-server==0.5.7", "mcp==1.30.0"],
    "django-mcpz": ["django-mcpz==1.2.0"],
}
_ON_DJANGO = ("django-mcp-server", "django-mcpz")


def cache() -> Path:
    """The folder that keeps the environments: ``$XDG_CACHE_HOME/django-zolinga-benchmarks``, else below ``/tmp``."""
    base = os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir()
    return Path(base) / "django-zolinga-benchmarks"


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment, which is made where it is missing or was made otherwise.

    Raises ``SystemExit`` with uv's own words where the registry does not give the packages.
    """
    wanted = list(PEERS[peer])
    if peer in _ON_DJANGO:
        wanted += [f"Django=={version('Django')}", f"granian=={version('granian')}"]
    folder = cache() / f"{peer}-{sys.version_info.major}.{sys.version_info.minor}"
    python, made_of = folder / "bin" / "python", folder / "made-of.txt"
    recipe = "\n".join([sys.version, *wanted])
    if not (made_of.exists() and made_of.read_text() == recipe):
        print(f"Making the environment of {peer}: {' '.join(wanted)}", file=sys.stderr)
        _uv("venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
        _uv("pip", "install", "--quiet", "--python", str(python), *wanted)
        made_of.write_text(recipe)
    return python


def installed(python: Path) -> list[str]:
    """What an environment holds, as ``name==version`` lines."""
    listed = subprocess.run(
        ["uv", "pip", "freeze", "--python", str(python)], capture_output=True, text=True, check=True
    )
    return listed.stdout.split("\n")[:-1]


def _uv(*arguments: str) -> None:
    done = subprocess.run(["uv", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"uv {arguments[0]} failed:\n{done.stderr}")
