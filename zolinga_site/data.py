"""The data directory: the SQLite file, the secret key, the log and what ``up`` remembers.

Imported by the settings, so it imports nothing of Django but the exception it raises.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.utils.crypto import get_random_string

KEY_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!@#$%^&*(-_=+)"
KEY_LENGTH = 64


class DataDirectory:
    """One folder that holds all a running site must keep.

    Raises ``ImproperlyConfigured`` where the folder cannot be made or written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.database = folder / "db.sqlite3"
        try:
            # Password hashes and tokens are in it: nobody else needs to look.
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.log.mkdir(exist_ok=True)
        except OSError as problem:
            raise self._refusal(problem) from problem

    def secret_key(self) -> str:
        """The site's secret key; the first process that asks makes it, and all others read that one."""
        path = self.folder / "secret_key"
        try:
            if not path.exists():
                key = get_random_string(KEY_LENGTH, KEY_CHARACTERS)
                self._write_once(path, key)
            return path.read_text(encoding="ascii").strip()
        except OSError as problem:
            raise self._refusal(problem) from problem

    @property
    def served_url(self) -> str:
        """Where ``up`` last served, without a trailing slash; empty before the first time."""
        try:
            return (self.folder / "served_url").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""

    def remember_served_url(self, url: str) -> None:
        """Keep the address for commands that run beside the server."""
        temporary = self._temporary(url)
        os.replace(temporary, self.folder / "served_url")

    def _refusal(self, problem: OSError) -> ImproperlyConfigured:
        return ImproperlyConfigured(
            f"The data directory {self.folder} cannot be written ({problem.strerror}). "
            "Set ZOLINGA_DATA_DIR to a folder that this user may write."
        )

    def _write_once(self, path: Path, content: str) -> None:
        """Put a whole file in place unless another process was faster."""
        temporary = self._temporary(content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(temporary)

    def _temporary(self, content: str) -> str:
        # mkstemp makes the file with mode 0600.
        handle, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content + "\n")
        return name
