"""Versions and change logs: pointed out where a module changes and does not say so."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from mcp_gateway.manifest.discovery import ModuleSource
from mcp_gateway.manifest.document import without_comments

_CHANGELOG = re.compile(r"(changelog|changes|history)(\.[a-z]{2,8})?", re.IGNORECASE)

MAX_CHANGELOG_BYTES = 4 * 1024 * 1024


def read_changelog(source: ModuleSource) -> str | None:
    """The text of a module's change log, None where it has none that can be read."""
    with suppress(OSError):
        for path in sorted(source.folder.iterdir()):
            if _CHANGELOG.fullmatch(path.name) and path.is_file():
                with path.open("rb") as file:
                    return file.read(MAX_CHANGELOG_BYTES).decode("utf-8", "replace")
    return None


def content(manifest: str) -> object:
    """What a stored manifest says, without its version and comments."""
    whole = without_comments(json.loads(manifest or "{}"))
    whole.pop("version", None)
    return whole


def release_problem(before: str, now: str, changelog: str | None, *, changed: bool) -> str:
    """What is to be said of a module that was imported as version ``before`` and is ``now``; empty for nothing.

    ``changed`` says whether its content differs. A module that gives no version is left in peace.
    """
    if not now and not before:
        return ""
    if before == now:
        return (
            f"Its content changed, and its version is still {now}. Raise “version”, so that others see the change."
            if changed
            else ""
        )
    if not now:
        return f"It had the version {before} and has none any more."
    if _parts(now) < _parts(before):
        return f"Its version went back from {before} to {now}."
    rose = f"Its version rose from {before} to {now}" if before else f"It has a version now, {now}"
    if changelog is None:
        return f"{rose}, and it has no change log. Write a CHANGELOG.md."
    if not re.search(rf"(?<![\w.]){re.escape(now)}(?![\w]|\.\d)", changelog):
        return f"{rose}, and its change log has no entry for {now}. Write one."
    return ""


def _parts(version: str) -> list[tuple[int, int, str]]:
    """Sorts versions as people read them: 1.10 after 1.9."""
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in re.findall(r"\d+|[A-Za-z]+", version)]
