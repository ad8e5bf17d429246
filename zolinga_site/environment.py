"""The process's environment as the settings read it: what cannot be meant is refused with what to write instead.

Imported by the settings, so it imports nothing of Django but the exception it raises.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

import environ
from django.core.exceptions import ImproperlyConfigured

from mcp_gateway.conf import checked_url

ON = ("on", "true", "yes", "1", "y", "ok")
OFF = ("off", "false", "no", "0", "n")

# Characters of a value that an error repeats.
SHOWN = 80


class Environment(environ.Env):  # type: ignore[misc]
    """The variables, where an empty one counts as one that is not set.

    Each method raises ``ImproperlyConfigured`` with the variable's name, what was found and what to write.
    """

    ENVIRON: ClassVar[Mapping[str, str]] = {name: value for name, value in os.environ.items() if value}

    def switch(self, name: str) -> bool:
        """Whether a variable is on; off where it is not set."""
        word = self.ENVIRON.get(name, OFF[0]).strip().lower()
        if word not in ON + OFF:
            self._refuse(name, "write “on” or “off”")
        return word in ON

    def seconds(self, name: str, default: int) -> int:
        """A whole number of seconds, 0 or more."""
        return self.whole(name, default, " of seconds")

    def whole(self, name: str, default: int, of: str = "") -> int:
        """A whole number, 0 or more; ``of`` is what it counts, in the error's words."""
        text = self.ENVIRON.get(name, str(default)).strip()
        if not (text.isascii() and text.isdecimal()):
            self._refuse(name, f"write a whole number{of}, for example {default}")
        return int(text)

    def site(self, name: str, default: str) -> str:
        """The address of a site, without a slash at its end; the default, which may be empty, is taken as it is."""
        return checked_url(self.ENVIRON[name], name) if name in self.ENVIRON else default

    def json_object(self, name: str) -> dict[str, Any]:
        """A JSON object, empty where the variable is not set."""
        try:
            found = json.loads(self.ENVIRON.get(name, "{}"))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            # It may hold secrets, so it is not repeated.
            raise ImproperlyConfigured(f"{name} is no JSON object: write {{…}}, with double quotes around every word.")
        return found

    def database(self, name: str, default: dict[str, Any]) -> dict[str, Any]:
        """An entry of ``DATABASES``."""
        if name not in self.ENVIRON:
            return default
        cure = "write postgres://user:password@host:5432/name, or sqlite:////absolute/path"
        if self.ENVIRON[name].partition(":")[0] not in self.DB_SCHEMES:
            self._refuse(name, cure)
        try:
            entry: dict[str, Any] = self.db_url(name)
        except (ValueError, ImproperlyConfigured):
            self._refuse(name, cure)
        if not entry["NAME"]:
            self._refuse(name, cure)
        return entry

    def cache(self, name: str, default: str) -> dict[str, Any]:
        """An entry of ``CACHES``."""
        try:
            entry: dict[str, Any] = self.cache_url(name, default=default)
        except (ValueError, ImproperlyConfigured):
            self._refuse(name, "write redis://host:6379/0, or locmemcache:// for the memory of each process")
        return entry

    def _refuse(self, name: str, cure: str) -> NoReturn:
        # What stands before an @ may be a password.
        before, at, after = self.ENVIRON[name].rpartition("@")
        shown = f"…@{after}" if at and before else self.ENVIRON[name]
        raise ImproperlyConfigured(f"{name} is {shown[:SHOWN]!r}: {cure}.") from None
