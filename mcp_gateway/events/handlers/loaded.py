"""What this process has loaded of modules that are no apps: packages made of folders, and what became of their code.

The folder of such a module is the package ``mcp_gateway_modules.<id with _>``, made from its own module spec: nothing
is ever put on ``sys.path``, where a module's ``mcp.py`` would shadow the SDK's. Where its files change, its code is
dropped with every instance of it.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.util import cache_from_source, module_from_spec, spec_from_file_location
from itertools import takewhile
from pathlib import Path
from typing import Any

from mcp_gateway.events.event import Event
from mcp_gateway.manifest.discovery import FOLDER_PACKAGE, ModuleSource

# How far a file system's clock may be behind the time of day, in nanoseconds.
CLOCK_STEP = 20_000_000

Handler = Callable[[Event], Any]

# Bound methods by folder, class and method of the manifest; one instance of each class. Written under `loading`.
bound: dict[tuple[Path, str, str], Handler] = {}
instances: dict[type, Any] = {}
_stamps: dict[str, tuple[str, tuple[int, int] | None]] = {}
loading = threading.RLock()


def refresh() -> None:
    """Drop the code of folder modules whose files have changed since they were loaded, and its instances.

    Installed apps are Python packages like any other: their new code comes with a restart.
    """
    with loading:
        importlib.invalidate_caches()
        stale = {name.split(".")[1] for name, (file, stamp) in _stamps.items() if _stamp(file) != stamp}
        for package in stale:
            drop(f"{FOLDER_PACKAGE}.{package}")


def drop(package: str) -> None:
    """Forget a package, all that lies in it and every instance of its classes."""
    for name in [name for name in (*sys.modules, *_stamps) if f"{name}.".startswith(f"{package}.")]:
        sys.modules.pop(name, None)
        file, _old = _stamps.pop(name, ("", None))
        if file:
            # A compiled file counts as fresh for a second: an edit within it would not be seen.
            with suppress(OSError, NotImplementedError):
                Path(cache_from_source(file)).unlink()
    for cls in [cls for cls in instances if f"{cls.__module__}.".startswith(f"{package}.")]:
        del instances[cls]
    bound.clear()
    importlib.invalidate_caches()


def prepare_folder(source: ModuleSource) -> None:
    """Make the package of a folder that is no app, unless it is there already and still that folder's."""
    root = sys.modules.get(FOLDER_PACKAGE)
    if root is None:
        spec = ModuleSpec(FOLDER_PACKAGE, None, is_package=True)
        root = sys.modules[FOLDER_PACKAGE] = module_from_spec(spec)
    folder = str(source.folder)
    held = sys.modules.get(source.package)
    if held is not None:
        if list(held.__path__) == [folder]:
            return
        drop(source.package)
    initial = source.folder / "__init__.py"
    if initial.is_file():
        package_spec = spec_from_file_location(source.package, initial, submodule_search_locations=[folder])
    else:
        package_spec = ModuleSpec(source.package, None, is_package=True)
        package_spec.submodule_search_locations = [folder]
    if package_spec is None:
        raise ImportError(f"{source.package} cannot be made")
    package = module_from_spec(package_spec)
    sys.modules[source.package] = package
    try:
        if package_spec.loader is not None:
            package_spec.loader.exec_module(package)
    except BaseException:
        sys.modules.pop(source.package, None)
        raise
    setattr(root, source.package.rpartition(".")[2], package)


def loaded_after(last: str, added: int) -> list[str]:
    """The modules that were loaded after one of that name: at least so many, or all, where it is no longer in place."""
    found = list(takewhile(lambda name: name != last, reversed(sys.modules)))
    return found if len(found) >= added else list(sys.modules)


def remember(package: str, names: Iterable[str], began: int) -> None:
    """Note the state of the files that were loaded. One that was written meanwhile may have been read half."""
    for name in names:
        if name in _stamps or not f"{name}.".startswith(f"{package}."):
            continue
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and isinstance(file, str):
            stamp = _stamp(file)
            settled = stamp is not None and stamp[0] < began - CLOCK_STEP
            _stamps[name] = (file, stamp if settled else None)


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
