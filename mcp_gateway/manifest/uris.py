"""``module://<module>/<path>``: from a URI in a manifest or schema to the bytes of a file inside a module."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import Protocol
from urllib.parse import unquote

from mcp_gateway.manifest.discovery import ModuleSource, same_id
from mcp_gateway.schemas import Refused
from mcp_gateway.schemas.documents import MAX_FILE_BYTES

SCHEME = "module://"

# How often a file that changes while it is read is read again.
ATTEMPTS = 3


class Files(Protocol):
    """What reads files of modules: `ModuleFiles`, or something that keeps a note of what was read."""

    def read(self, uri: str) -> tuple[str, bytes]:
        """The canonical spelling of a URI, and the file's bytes. Raises `Refused`."""

    def has(self, uri: str) -> bool:
        """Whether there is a file, or anything else, at a URI."""

    def content(self, uri: str, *, module_id: str, limit: int) -> bytes:
        """The bytes of a file of one module. Raises `Refused`."""


class ModuleFiles:
    """Reads files of modules, each once, and never one outside its module."""

    def __init__(self, modules: Iterable[ModuleSource]) -> None:
        self._modules = {same_id(source.module_id): source for source in modules}
        self._read: dict[str, tuple[str, bytes]] = {}
        self._roots: dict[str, str] = {}

    def read(self, uri: str) -> tuple[str, bytes]:
        """The canonical spelling of a URI, and the file's bytes.

        The path is decoded once, then its real place (after symbolic links) must lie inside the module. Raises
        `Refused`, naming the URI and never a path of the machine.
        """
        if uri not in self._read:
            canonical, path = self._find(uri)
            self._read[uri] = self._read.get(canonical) or (canonical, self._bytes(uri, path))
            self._read[canonical] = self._read[uri]
        return self._read[uri]

    def has(self, uri: str) -> bool:
        """Whether there is a file, or anything else, at a URI."""
        try:
            return os.path.exists(self._find(uri)[1])
        except (Refused, OSError, ValueError):
            return False

    def content(self, uri: str, *, module_id: str, limit: int) -> bytes:
        """The bytes of a file of one module, all of one state of the file.

        Parameters: the URI, the module that the file must lie in, and the most bytes it may have. Raises `Refused`.
        """
        canonical, path = self._find(uri)
        if not canonical.startswith(f"{SCHEME}{self._modules[same_id(module_id)].module_id}/"):
            raise Refused(f"{uri} lies in another module. Put the file into this one.")
        try:
            if not _is_file(path):
                raise Refused(f"{uri} does not exist. Add the file, or mend the URI.")
            readings = (_undisturbed(path, limit) for _attempt in range(ATTEMPTS))
            data = next((reading for reading in readings if reading is not None), None)
        except (OSError, ValueError):
            raise Refused(f"{uri} cannot be read. Check the file's permissions.") from None
        if data is None:
            raise Refused(f"{uri} is being written. Import again when that is done.")
        if len(data) > limit:
            raise Refused(f"{uri} has more than {limit} bytes, the most that is sent (MAX_RESULT_BYTES).")
        return data

    def _find(self, uri: str) -> tuple[str, str]:
        if not uri.startswith(SCHEME):
            raise Refused(f"{uri} is no module:// URI.")
        rest = uri.removeprefix(SCHEME)
        if "?" in rest or "#" in rest:
            raise Refused(f"{uri} has a query or a fragment. Name the file alone.")
        module_id, _slash, encoded = rest.partition("/")
        try:
            path = unquote(encoded, errors="strict")
        except UnicodeDecodeError:
            raise Refused(f"{uri} is not encoded in UTF-8.") from None
        source = self._modules.get(same_id(module_id))
        if source is None:
            raise Refused(f"{uri} names the module {module_id!r}, which is not here. Mend the name or add the module.")
        if not path.strip("/") or "\0" in path:
            raise Refused(f"{uri} names no file. Write module://{source.module_id}/<path>.")
        try:
            root = self._root(source)
            real = _real(root, path.lstrip("/"))
        except (OSError, RuntimeError, ValueError):
            raise Refused(f"{uri} cannot be read.") from None
        if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
            raise Refused(f"{uri} leads out of its module. Put the file into the module.")
        below = real[len(root) :].lstrip(os.sep).replace(os.sep, "/") or "."
        return f"{SCHEME}{source.module_id}/{below}", real

    def _root(self, source: ModuleSource) -> str:
        """The real place of a module's folder, looked for once."""
        root = self._roots.get(source.module_id)
        if root is None:
            root = self._roots[source.module_id] = str(source.folder.resolve(strict=True))
        return root

    def _bytes(self, uri: str, path: str) -> bytes:
        try:
            if not _is_file(path):
                raise Refused(f"{uri} does not exist. Add the file, or mend the URI.")
            with open(path, "rb") as file:
                # One byte above the limit: whoever parses the bytes says that they are too many.
                return file.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError):
            raise Refused(f"{uri} cannot be read. Check the file's permissions.") from None


def _real(root: str, path: str) -> str:
    """The real place of a path below a folder that is a real place itself."""
    found = root
    for part in path.split("/"):
        found = os.path.join(found, part)
        try:
            plain = part not in ("", ".", "..") and not S_ISLNK(os.lstat(found).st_mode)
        except OSError:
            plain = False
        if not plain:
            return str((Path(root) / path).resolve())
    return found


def _is_file(path: str) -> bool:
    """Whether there is a regular file. Raises ``OSError`` where that cannot be seen."""
    try:
        return S_ISREG(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _undisturbed(path: str, limit: int) -> bytes | None:
    """A file's bytes up to one above the limit, or None where somebody wrote it meanwhile."""
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        data = file.read(limit + 1)
        after = os.fstat(file.fileno())
    same = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    return data if same and (len(data) == after.st_size or len(data) > limit) else None
