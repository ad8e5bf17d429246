"""New files in a module, written all together or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


class NotWritten(Exception):
    """Nothing was written. The text says what stands in the way, where, and the cure."""


class Changes:
    """Files to be made in a folder, and at most one that is replaced, last of all: the manifest that names them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._new: dict[str, str] = {}
        self._replaced: tuple[str, bytes] | None = None
        self._made: list[Path] = []
        self._before: tuple[Path, bytes] | None = None

    def add(self, path: str, text: str) -> None:
        """Plan a new file. ``path`` counts from the folder, with ``/`` between its parts."""
        self._new[path] = text

    def add_packages(self, path: str, docstring: str) -> None:
        """Plan an ``__init__.py`` for each folder on the way to a Python file that is not there yet."""
        parts = path.split("/")[:-1]
        for length in range(1, len(parts) + 1):
            package = "/".join(parts[:length])
            if not (self.folder / package).exists():
                self.add(f"{package}/__init__.py", f'"""{docstring}"""\n')

    def replace(self, path: str, data: bytes) -> None:
        """Plan new bytes for a file that is there."""
        self._replaced = (path, data)

    @property
    def paths(self) -> list[str]:
        """What is new, in the order of writing, and then what is changed."""
        return [*self._new, *([self._replaced[0]] if self._replaced else [])]

    def write(self) -> None:
        """Write it all. Raises `NotWritten` where a file is there already or cannot be written."""
        taken = [path for path in self._new if os.path.lexists(self.folder / path)]
        if taken:
            raise NotWritten(
                f"{self.folder / taken[0]} exists already, and nothing is overwritten. "
                "Choose another name, or move the file away."
            )
        try:
            for path, text in self._new.items():
                self._make(self.folder / path, text)
            if self._replaced:
                self._swap(self.folder / self._replaced[0], self._replaced[1])
        except OSError as error:
            self.undo()
            reason = (error.strerror or type(error).__name__).lower()
            raise NotWritten(
                f"{error.filename or self.folder} cannot be written ({reason}). Mend that first."
            ) from error

    def undo(self) -> None:
        """Take back what `write` did, folders it made included."""
        if self._before is not None:
            path, data = self._before
            self._swap(path, data)
            self._before = None
        for path in reversed(self._made):
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        self._made.clear()

    def _make(self, path: Path, text: str) -> None:
        for folder in reversed([parent for parent in path.parents if not parent.exists()]):
            folder.mkdir()
            self._made.append(folder)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            self._made.append(path)
            file.write(text)

    def _swap(self, path: Path, data: bytes) -> None:
        """Replace a file in one step, so that a server which imports right now reads the old one or the new one."""
        real = path.resolve()
        before, mode = real.read_bytes(), real.stat().st_mode
        handle, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).chmod(mode & 0o7777)
            os.replace(name, real)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        if self._before is None:
            self._before = (real, before)
