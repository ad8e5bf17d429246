"""Importing one module into a test's database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp_gateway.conf import gateway_settings
from mcp_gateway.manifest import discovery
from mcp_gateway.manifest.apply import run_import
from mcp_gateway.manifest.discovery import MANIFEST_NAME, find_modules


def import_one(
    module: str | Path | None, *, beside: Path, settings: Any, refused: bool = False
) -> dict[str, list[dict[str, str]]]:
    """Import one module and give back the report; see the fixture ``import_module``.

    Parameters: ``module``, an id or a folder; without it the module around the file ``beside``. ``settings`` is
    pytest-django's, which takes back what is set on it. Raises ``AssertionError`` where there is no such module, or
    where something is refused and ``refused`` is false.
    """
    if isinstance(module, str):
        module_id = module
    else:
        folder = _around(beside) if module is None else module.resolve()
        module_id = _known(folder) or _made_known(folder, settings)
    try:
        report = run_import(only=module_id, allow_removal=True).as_dict()
    except LookupError as error:
        raise AssertionError(f"{error.args[0]} Give the module's folder as a Path, or add it to MODULE_DIRS.") from None
    if report["refused"] and not refused:
        reasons = "\n".join(f"- {entry['kind']} {entry['name']}: {entry['message']}" for entry in report["refused"])
        raise AssertionError(f"The import of {module_id} refused:\n{reasons}")
    return report


def _around(file: Path) -> Path:
    for folder in file.resolve().parents:
        if (folder / MANIFEST_NAME).is_file():
            return folder
    raise AssertionError(
        f"{file.name} lies in no module: no folder above it has a {MANIFEST_NAME}. Give import_module the module's id."
    )


def _known(folder: Path) -> str:
    return next((source.module_id for source in find_modules()[0] if source.folder.resolve() == folder), "")


def _made_known(folder: Path, settings: Any) -> str:
    """Let the module be found: its parent folder joins ``MODULE_DIRS``."""
    settings.ZOLINGA = {
        **getattr(settings, "ZOLINGA", {}),
        "MODULE_DIRS": [*gateway_settings.module_dirs, folder.parent],
    }
    discovery.forget()
    known = _known(folder)
    if not known:
        problems = " ".join(problem.message for problem in find_modules()[1])
        raise AssertionError(f"{folder.name} is no module: it needs a {MANIFEST_NAME}. {problems}".strip())
    return known
