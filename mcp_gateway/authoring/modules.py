"""Modules to write in: a new folder, one that is there, or an installed app that becomes a module."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from django.apps import apps

from mcp_gateway.authoring.files import Changes, NotWritten
from mcp_gateway.authoring.naming import check_module_name
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.handlers import camel_case
from mcp_gateway.manifest.discovery import FOLDER_PACKAGE, MANIFEST_NAME, ModuleSource, find_modules, same_id
from mcp_gateway.manifest.document import Manifest, parse_manifest
from mcp_gateway.schemas.reading import Unreadable

FIRST_VERSION = "1.0.0"

# Where pip puts what is not the project's own.
_INSTALLED = {"site-packages", "dist-packages"}


@dataclass(frozen=True, slots=True)
class Place:
    """A module to write in: where it is, its manifest's bytes, and what they say. ``is_new``: no such file yet."""

    source: ModuleSource
    data: bytes
    manifest: Manifest
    is_new: bool = False


def find_place(name: str) -> Place:
    """The module of that id, or the installed app of that label or dotted name, with a manifest or without.

    Raises `NotWritten` where there is none, where it is not the project's own, or where its manifest cannot be read.
    """
    found, problems = find_modules()
    for problem in problems:
        if same_id(name) in map(same_id, problem.module_ids):
            raise NotWritten(problem.message)
    for source in found:
        if same_id(source.module_id) == same_id(name) or (source.app_label and source.package == name):
            _check_own(source)
            return _read(source)
    for config in apps.get_app_configs():
        if same_id(config.label) == same_id(name) or config.name == name:
            source = ModuleSource(config.label, Path(config.path), config.label, config.name)
            _check_own(source)
            return new_place(source, str(config.verbose_name))
    known = ", ".join(source.module_id for source in found) or "none yet"
    raise NotWritten(
        f"There is no module and no installed app {name!r}. Modules there are: {known}. “manage.py startmodule {name}” "
        "makes one; an app of your own needs its line in INSTALLED_APPS first."
    )


def new_place(source: ModuleSource, title: str) -> Place:
    """A module whose manifest is still to be written."""
    text = json.dumps({"name": title, "version": FIRST_VERSION}, ensure_ascii=False, indent=2) + "\n"
    return Place(source, text.encode(), parse_manifest(text.encode(), source.module_id), is_new=True)


def place_for_new_module(name: str, directory: str | None) -> Place:
    """Where a new module goes: the first folder of ``MODULE_DIRS``, or the one of them that ``directory`` names.

    Raises `NotWritten` for a name that cannot be a module's or is taken, and where there is no such folder.
    """
    check_module_name(name)
    parent = _parent(directory)
    for source in find_modules()[0]:
        if same_id(source.module_id) == same_id(name):
            raise NotWritten(
                f"There is a module {source.module_id!r} already, in {source.folder} (“-” and “_” are the same). "
                f"Choose another name, or add a tool to it: manage.py mcp_add_tool {source.module_id} NAME."
            )
    for config in apps.get_app_configs():
        if same_id(config.label) == same_id(name):
            raise NotWritten(
                f"{config.label!r} is an installed app, which can be a module itself: manage.py mcp_add_tool "
                f"{config.label} NAME makes it one. Choose another name for a new module."
            )
    folder = parent / name
    if folder.exists() or folder.is_symlink():
        raise NotWritten(f"{folder} exists already, and nothing is overwritten. Choose another name, or move it away.")
    return new_place(ModuleSource(name, folder, "", f"{FOLDER_PACKAGE}.{same_id(name)}"), _title(name))


def changelog() -> str:
    """The change log of a module that begins."""
    return f"# Changelog\n\n## {FIRST_VERSION}\n\n- The first version.\n"


def write_manifest(place: Place, changes: Changes, data: bytes) -> None:
    """Plan the manifest's new bytes."""
    if place.is_new:
        changes.add(MANIFEST_NAME, data.decode())
    else:
        changes.replace(MANIFEST_NAME, data)


def _parent(directory: str | None) -> Path:
    folders = gateway_settings.module_dirs
    if not folders:
        raise NotWritten(
            'ZOLINGA["MODULE_DIRS"] names no folder for modules. Add one to the settings, '
            'ZOLINGA = {"MODULE_DIRS": [BASE_DIR / "modules"]}, or give an app of your own a tool: '
            "manage.py mcp_add_tool APP NAME."
        )
    if directory is None:
        return folders[0]
    wanted = Path(directory).resolve()
    for folder in folders:
        if folder.resolve() == wanted:
            return folder
    raise NotWritten(
        f'{wanted} is no folder of ZOLINGA["MODULE_DIRS"], so that a module in it would not be found. Add it to that '
        f"setting, or give one of its folders: {', '.join(map(str, folders))}."
    )


def _read(source: ModuleSource) -> Place:
    try:
        data = source.manifest.read_bytes()
        return Place(source, data, parse_manifest(data, source.module_id))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
    except Unreadable as error:
        reason = str(error)
    raise NotWritten(f"{source.manifest} cannot be read: {reason}. Mend the manifest first.")


def _check_own(source: ModuleSource) -> None:
    if _INSTALLED & set(source.folder.parts):
        raise NotWritten(
            f"{source.package} is installed from a package, in {source.folder}: what is written there is lost with its "
            "next version. Put the tool into an app or module of your own; its class may name anything of that app's."
        )


def _title(name: str) -> str:
    return camel_case(name) if name.islower() and name.isalnum() else name.replace("-", " ").replace("_", " ").title()
