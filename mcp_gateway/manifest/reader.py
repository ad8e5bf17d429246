"""What reads modules: another version of it may make something else of the same files."""

from __future__ import annotations

import json
import mimetypes
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mcp_gateway.conf import gateway_settings
from mcp_gateway.manifest.digests import digest

_PACKAGES = ("jsonschema", "jsonschema-rs", "jsonschema-specifications", "referencing")


def reader_digest() -> str:
    """What stands for the code, the settings and the system's MIME types that make a module of its files."""
    if not mimetypes.inited:
        mimetypes.init()
    types = [mimetypes.types_map, mimetypes.encodings_map, mimetypes.suffix_map]
    return digest(_code().encode(), json.dumps(types).encode(), str(gateway_settings.max_result_bytes).encode())


@cache
def _code() -> str:
    """This app's own code as it lies on disk, Python, and the packages that judge schemas."""
    own = Path(__file__).resolve().parents[1]
    files = sorted(path for path in own.rglob("*.py") if "migrations" not in path.parts)
    return digest(
        platform.python_version().encode(),
        json.dumps([_version(package) for package in _PACKAGES]).encode(),
        *(file.read_bytes() for file in files),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # jsonschema-rs has no wheel for every platform
        return ""
