"""Waiting for a change in a module's files."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from mcp_gateway.conf import gateway_settings
from mcp_gateway.manifest.discovery import find_modules

try:
    import watchfiles
except ImportError:  # it comes with granian[reload]; looking at the files every now and then does as well
    watchfiles = None  # type: ignore[assignment]

# What an import reads: manifests, schemas, code to see that a class is there, and what lies beside meta files.
SUFFIXES = (".json", ".py")
PUBLISHED = {("mcp", "resources"), ("mcp", "prompts")}

# Seconds between two looks, and how long a burst of changes (an editor's save, a checkout) may last.
INTERVAL = 0.25
BURST = 0.15

# Seconds after which a change is found that was made before the operating system began to tell of changes.
UNTOLD = 0.5

# Folders that hold no module's own files, and often very many.
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", "vendor"})


def folders() -> list[Path]:
    """Where modules are now: every ``MODULE_DIRS`` entry and the folders of apps with a manifest; missing ones not."""
    apps = (source.folder for source in find_modules()[0])
    found = {folder.resolve() for folder in (*gateway_settings.module_dirs, *apps) if folder.is_dir()}
    return sorted(folder for folder in found if not any(parent in found for parent in folder.parents))


def counts(path: Path) -> bool:
    """Whether an import may read a file."""
    return path.suffix in SUFFIXES or any(pair in PUBLISHED for pair in pairwise(path.parts))


def changes(*, polling: bool = False) -> Iterator[None]:
    """Yield after every change to a manifest, schema or Python file of a module, without end.

    What changes after this call counts, bursts count once. The operating system tells of changes where the package
    ``watchfiles`` is there (``polling`` False); otherwise the files are looked at every `INTERVAL` seconds.
    """
    return _by_looking(_look()) if watchfiles is None or polling else _by_being_told(_look())


def _by_being_told(before: dict[str, tuple[int, int]]) -> Iterator[None]:
    while True:
        watched = folders()
        told = watchfiles.watch(
            *watched,
            watch_filter=lambda _change, path: counts(Path(path)),
            debounce=int(BURST * 1000),
            step=50,
            rust_timeout=int(UNTOLD * 1000),
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        for _found in told:
            # Also on a timeout: what changed before the watching began is not told.
            now = _look()
            if now != before:
                before = now
                yield
            if folders() != watched:
                break


def _by_looking(before: dict[str, tuple[int, int]]) -> Iterator[None]:
    while True:
        time.sleep(INTERVAL)
        now = _look()
        if now != before:
            before = now
            yield


def _look() -> dict[str, tuple[int, int]]:
    """Every file that counts, with its time and size."""
    seen: dict[str, tuple[int, int]] = {}
    waiting = folders()
    while waiting:
        folder = waiting.pop()
        try:
            children = list(folder.iterdir())
        except OSError:
            continue
        for child in children:
            try:
                if counts(child) and not child.is_dir():
                    status = child.stat()
                    seen[str(child)] = (status.st_mtime_ns, status.st_size)
                elif child.name not in SKIPPED and child.is_dir() and not child.is_symlink():
                    waiting.append(child)
            except OSError:
                continue
    return seen
