"""Where the modules are: every folder of ``MODULE_DIRS`` and every installed app with a ``zolinga.json``.

A leaf: it imports only the settings and Django, because handlers are looked up through it at run time.
"""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.signals import setting_changed

from mcp_gateway.conf import gateway_settings

MANIFEST_NAME = "zolinga.json"

# Python packages made of folders that are no installed apps live under this name.
FOLDER_PACKAGE = "mcp_gateway_modules"

SKIPPED_SUFFIXES = (".example", ".bak", ".old", ".disabled")

MODULE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,199}")


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A module on disk.

    ``package`` is the dotted name its code is imported by: the app's own, or one under ``mcp_gateway_modules``
    for a folder that is no app (whose ``app_label`` is empty).
    """

    module_id: str
    folder: Path
    app_label: str
    package: str

    @property
    def manifest(self) -> Path:
        """The manifest's file."""
        return self.folder / MANIFEST_NAME


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps a folder or a module from being read.

    ``module_ids`` are the modules it is about, in any spelling; ``folder`` is the ``MODULE_DIRS`` entry that is
    missing, if that is the problem.
    """

    module_ids: tuple[str, ...]
    message: str
    folder: Path | None = None


def same_id(module_id: str) -> str:
    """The form in which module ids are compared: ``-`` and ``_`` are the same."""
    return module_id.replace("-", "_")


def find_modules() -> tuple[list[ModuleSource], list[Problem]]:
    """Every module there is now, by id, and what could not be taken.

    A folder that is found both ways, as an installed app inside a ``MODULE_DIRS`` folder, is one module: the app.
    Two modules with one id (``-`` and ``_`` are the same) are both left out and reported with both paths.
    """
    found: dict[Path, ModuleSource] = {}
    problems: list[Problem] = []
    for config in apps.get_app_configs():
        folder = Path(config.path)
        if _has_manifest(folder):
            found.setdefault(folder.resolve(), ModuleSource(config.label, folder, config.label, config.name))
    for directory in dict.fromkeys(gateway_settings.module_dirs):
        try:
            names = sorted(os.listdir(directory))
        except OSError as error:
            problems.append(
                Problem(
                    (),
                    f'{directory}, an entry of ZOLINGA["MODULE_DIRS"], cannot be listed ({_reason(error)}). '
                    "Restore the folder, or take it out of the setting and import with --allow-removal.",
                    directory,
                )
            )
            continue
        for name in names:
            child = directory / name
            if name.endswith(SKIPPED_SUFFIXES) or name.startswith(".") or not _has_manifest(child):
                continue
            if not MODULE_ID.fullmatch(name):
                shown = name.encode("utf-8", "replace").decode()
                problems.append(
                    Problem(
                        (),
                        f"The folder name {shown!r} cannot be a module id. "
                        "Rename the folder: letters, digits, “-” and “_” only, at most 200.",
                    )
                )
                continue
            package = f"{FOLDER_PACKAGE}.{same_id(name)}"
            found.setdefault(child.resolve(), ModuleSource(name, child, "", package))

    by_id: dict[str, list[ModuleSource]] = {}
    for source in found.values():
        by_id.setdefault(same_id(source.module_id), []).append(source)
    for rivals in by_id.values():
        if len(rivals) > 1:
            paths = " and ".join(str(source.folder) for source in rivals)
            problems.append(
                Problem(
                    tuple(source.module_id for source in rivals),
                    f"{len(rivals)} modules share the id {rivals[0].module_id!r} (“-” and “_” are the same): {paths}. "
                    "None of them is imported. Rename or remove all but one.",
                )
            )
    modules = [rivals[0] for rivals in by_id.values() if len(rivals) == 1]
    return sorted(modules, key=lambda source: source.module_id), problems


def lacks_manifest(module_id: str) -> bool:
    """Whether a module's folder is there and its manifest is not, as in the middle of an editor's save."""
    folders = [directory / module_id for directory in gateway_settings.module_dirs]
    folders += [Path(config.path) for config in apps.get_app_configs() if config.label == module_id]
    return any(folder.is_dir() and not _has_manifest(folder) for folder in folders)


def _has_manifest(folder: Path) -> bool:
    try:
        os.stat(os.path.join(folder, MANIFEST_NAME))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # It is there and cannot be looked at: reading it will say why, and the module serves as it did.
        return True
    return True


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


_known: dict[str, ModuleSource] | None = None
_finding = threading.Lock()


def locate(module_id: str) -> ModuleSource | None:
    """The module of that id, or None. Found once per process; a module that is not known yet is looked for again."""
    global _known
    key = same_id(module_id)
    known = _known
    if known is not None and key in known:
        return known[key]
    with _finding:
        if _known is None or key not in _known:
            _known = {same_id(source.module_id): source for source in find_modules()[0]}
        return _known.get(key)


def forget() -> None:
    """Look at the disk again when a module is asked for next."""
    global _known
    _known = None


def _on_setting_changed(*, setting: str, **kwargs: Any) -> None:
    if setting in ("ZOLINGA", "INSTALLED_APPS"):
        forget()


setting_changed.connect(_on_setting_changed, dispatch_uid="mcp_gateway.manifest.discovery")
