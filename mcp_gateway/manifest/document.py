"""Reading one ``zolinga.json``: strictly as JSON, generously as a manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_gateway.events.status import Origin
from mcp_gateway.manifest.discovery import ModuleSource
from mcp_gateway.manifest.entries import Entry, read_entry
from mcp_gateway.manifest.misspellings import unknown_key
from mcp_gateway.manifest.remarks import Remark
from mcp_gateway.resources.uris import declaration_problem
from mcp_gateway.schemas.dialects import pointer
from mcp_gateway.schemas.faults import Fault, shown, type_name
from mcp_gateway.schemas.reading import Unreadable, read_json, to_text

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
MAX_MANIFEST_DEPTH = 128

# Each top-level key with the type its value has.
KEYS: Mapping[str, type] = {
    "$schema": str,
    "name": str,
    "version": str,
    "description": str,
    "authors": list,
    "attributes": dict,
    "listen": list,
    "emit": list,
    "autoload": dict,
    "config": dict,
    "webComponents": list,
    "dependencies": list,
    "schemes": list,
}
LENGTHS = {"name": 200, "version": 100}


@dataclass(slots=True)
class Manifest:
    """A manifest that was read.

    ``text`` is its JSON in the file's order, ``digest`` the SHA-256 of its bytes; ``dependencies`` are the ids of
    modules, without their branch, each with its pointer; ``schemes`` are URI schemes that clients may see.
    """

    text: str
    digest: str
    name: str
    version: str
    description: str
    autoload: dict[str, str]
    dependencies: list[tuple[str, str]]
    entries: list[Entry]
    schemes: list[str] = field(default_factory=list)
    refused: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)


def read_manifest(source: ModuleSource) -> Manifest:
    """Read the manifest of a module.

    Raises `Unreadable` where it cannot be understood as a whole. A fault inside one entry of ``listen`` refuses
    that entry, one inside another key makes that key count as missing. Keys that begin with ``#`` are comments
    and are left out at every level.
    """
    return parse_manifest(manifest_bytes(source), source.module_id)


def manifest_bytes(source: ModuleSource) -> bytes:
    """The bytes of a module's manifest, at most one more than are read. Raises `Unreadable`."""
    try:
        path = source.manifest
        if not path.is_file():
            raise Unreadable("it is no regular file")
        with path.open("rb") as file:
            return file.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"it cannot be opened ({(error.strerror or type(error).__name__).lower()})") from None


def parse_manifest(data: bytes, module_id: str) -> Manifest:
    """Read a manifest's bytes; see `read_manifest`."""
    if len(data) > MAX_MANIFEST_BYTES:
        raise Unreadable(f"it has more than {MAX_MANIFEST_BYTES} bytes. Move schemas into files of their own")
    value, faults = read_json(data, max_bytes=MAX_MANIFEST_BYTES, max_depth=MAX_MANIFEST_DEPTH)
    if not isinstance(value, dict):
        raise Unreadable(f"its root must be an object, not {type_name(value)}")
    for fault in faults:
        if fault.pointer in ("", "/listen"):
            raise Unreadable(f"{fault.message} (at {fault.pointer or 'the root'})")
    text = to_text(value)
    value = without_comments(value)
    listen = value.get("listen")
    if isinstance(listen, Mapping) and listen:
        raise Unreadable("“listen” must be a list of objects, not an object. Put its entries into [ ]")
    if listen is not None and not isinstance(listen, (list, Mapping)):
        raise Unreadable(f"“listen” must be a list of objects, not {type_name(listen)}")

    manifest = Manifest(text, hashlib.sha256(data).hexdigest(), "", "", "", {}, [], [])
    _take_keys(manifest, value, faults, module_id)
    for position, raw in enumerate(listen or ()):
        own = [fault for fault in faults if _is_below(fault.pointer, pointer("listen", position))]
        entry = read_entry(raw, position)
        if own:
            entry.faults = [
                (fault.pointer.removeprefix(entry.pointer), f"{fault.message[:1].upper()}{fault.message[1:]}.")
                for fault in own
            ]
        manifest.entries.append(entry)
    return manifest


def point_out_twins(entries: Iterable[Entry]) -> None:
    """Warn of entries that have one handler run twice for one event."""
    known: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        if entry.faults:
            continue
        alike = known.setdefault((entry.event, entry.class_name, entry.method), [])
        for earlier in alike:
            both = {*entry.origins, *earlier.origins}
            if Origin.ANY in both or not set(entry.origins).isdisjoint(earlier.origins):
                entry.warn("", f"{earlier.pointer} has the same handler for the same event, so it runs twice.")
                break
        alike.append(entry)


def _take_keys(manifest: Manifest, value: dict[str, Any], faults: list[Fault], module_id: str) -> None:
    def remark(key: str, message: str, where: str = "") -> Remark:
        return Remark(module_id, "module", module_id, where or pointer(key), message)

    for key, kind in KEYS.items():
        broken = [fault for fault in faults if _is_below(fault.pointer, pointer(key)) and key != "listen"]
        manifest.refused.extend(
            remark(key, f"{fault.message[:1].upper()}{fault.message[1:]}; “{key}” counts as missing.", fault.pointer)
            for fault in broken
        )
        if broken:
            value.pop(key, None)
        found = value.get(key)
        if key == "listen":
            continue
        if found is None:
            value.pop(key, None)
            continue
        if kind is dict and found == []:  # an empty PHP array
            value[key] = {}
        elif kind is str and isinstance(found, (int, float)) and not isinstance(found, bool):
            value[key] = shown(found)
        elif not isinstance(found, kind):
            manifest.warnings.append(
                remark(key, f"“{key}” must be {_KINDS[kind]}, not {type_name(found)}; it counts as missing.")
            )
            value.pop(key)
    manifest.warnings.extend(remark(key, unknown_key(key, KEYS)) for key in value if key not in KEYS)
    for key in ("name", "version", "description"):
        written = value.get(key, "").replace("\0", "")
        limit = LENGTHS.get(key)
        if limit is not None and len(written) > limit:
            manifest.warnings.append(remark(key, f"“{key}” is cut to {limit} characters."))
            written = written[:limit]
        setattr(manifest, key, written)
    for prefix, path in value.get("autoload", {}).items():
        if isinstance(path, str):
            manifest.autoload[prefix] = path
        else:
            manifest.warnings.append(
                remark("autoload", f"The folder of {shown(prefix)} must be text.", pointer("autoload", prefix))
            )
    for index, name in enumerate(value.get("dependencies", ())):
        if isinstance(name, str) and name.partition("@")[0]:
            manifest.dependencies.append((name.partition("@")[0], pointer("dependencies", index)))
        else:
            message = f"A dependency is the id of a module, “name” or “name@branch”, not {shown(name)}."
            manifest.warnings.append(remark("dependencies", message, pointer("dependencies", index)))
    for index, scheme in enumerate(value.get("schemes", ())):
        problem = declaration_problem(scheme)
        if problem:
            manifest.refused.append(remark("schemes", problem, pointer("schemes", index)))
        else:
            manifest.schemes.append(scheme.lower())


_KINDS: Mapping[type, str] = {str: "text", list: "a list", dict: "an object"}


def _is_below(at: str, ancestor: str) -> bool:
    return at == ancestor or at.startswith(ancestor + "/")


def without_comments(value: Any) -> Any:
    """A copy without the keys that begin with ``#``, at any level."""
    if isinstance(value, dict):
        return {name: without_comments(entry) for name, entry in value.items() if not name.startswith("#")}
    if isinstance(value, list):
        return [without_comments(entry) for entry in value]
    return value
