"""``mcp/resources/*.meta.json`` and ``mcp/prompts/*.meta.json``: what a module publishes by files alone.

One bad file is refused on its own: the module, its listeners and its other files go on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp_gateway.manifest.document import MAX_MANIFEST_DEPTH, without_comments
from mcp_gateway.manifest.entries import VISIBILITIES
from mcp_gateway.manifest.icons import IconRefused, icons_problem, with_files
from mcp_gateway.manifest.misspellings import meant_guard
from mcp_gateway.manifest.uris import SCHEME, Files
from mcp_gateway.registry import is_matched
from mcp_gateway.resources.annotations import annotation_faults
from mcp_gateway.schemas import Refused
from mcp_gateway.schemas.dialects import pointer as to_pointer
from mcp_gateway.schemas.documents import MAX_FILE_BYTES
from mcp_gateway.schemas.faults import shown, type_name
from mcp_gateway.schemas.reading import Unreadable, read_json, to_text

RESOURCE = "resource"
PROMPT = "prompt"
FOLDERS: Mapping[str, str] = {RESOURCE: "mcp/resources", PROMPT: "mcp/prompts"}
SUFFIX = ".meta.json"

MAX_TEXT = 500
MAX_FILE = 500

# Keys that mean something here; the others are passed on as they are.
COMMON_KEYS = frozenset(
    {"$schema", "name", "title", "description", "right", "visibility", "zolinga", "tenants", "arguments"}
)


@dataclass(frozen=True, slots=True)
class ModuleContext:
    """What a meta file needs to know of its module.

    ``schemes`` are those it declares, ``providers`` the events that its sound listeners provide, each with its right,
    ``limit`` is the most bytes that content may have.
    """

    module_id: str
    files: Files
    schemes: frozenset[str]
    providers: tuple[tuple[str, str], ...]
    limit: int

    def answered(self, event: str) -> bool:
        """Whether one of the listeners provides an event."""
        return any(is_matched(pattern, event) for pattern, _right in self.providers)

    def rights(self, event: str) -> list[str]:
        """The rights that its listeners need for an event, all of them."""
        return [right for pattern, right in self.providers if right and is_matched(pattern, event)]


@dataclass(slots=True)
class PublishedState:
    """A resource, a template or a prompt as an import wants it; one with ``faults`` is refused.

    ``key`` is its URI, template or name. ``content`` is None where a listener answers for it. ``faults`` and
    ``warnings`` are pairs of a pointer into ``file`` and a message.
    """

    kind: str
    file: str
    key: str
    name: str = ""
    title: str = ""
    description: str = ""
    visibility: str = "listed"
    right: str = ""
    is_template: bool = False
    mime_type: str = ""
    content: bytes | None = None
    content_digest: str = ""
    size: int | None = None
    arguments: list[dict[str, Any]] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)
    faults: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, where: str, message: str) -> None:
        """Note a fault at a pointer."""
        self.faults.append((where, message))

    def warn(self, where: str, message: str) -> None:
        """Note a warning at a pointer."""
        self.warnings.append((where, message))

    def take(self, content: bytes) -> None:
        """Keep the content and what is known of it."""
        self.content = content
        self.content_digest = hashlib.sha256(content).hexdigest()
        self.size = len(content)

    @property
    def problem(self) -> str:
        """Why it is refused; empty: it is sound."""
        return " ".join(message for _where, message in self.faults)

    def columns(self) -> dict[str, Any]:
        """The columns of its row, without the content itself."""
        columns: dict[str, Any] = {
            "file": self.file,
            "title": self.title,
            "description": self.description,
            "visibility": self.visibility,
            "right": self.right,
            "arguments": to_text(self.arguments),
            "extras": to_text(self.extras),
            "content_digest": self.content_digest,
            "available": not self.faults,
            "problem": self.problem,
        }
        if self.kind == RESOURCE:
            columns |= {
                "uri": self.key,
                "is_template": self.is_template,
                "name": self.name,
                "mime_type": self.mime_type,
                "size": self.size,
            }
        else:
            columns["name"] = self.key
        columns["digest"] = hashlib.sha256(to_text(columns).encode()).hexdigest()
        return columns


def meta_files(folder: Path, kind: str) -> list[str]:
    """The names of a module's meta files of a kind, sorted; none where the folder is not there."""
    try:
        names = os.listdir(os.path.join(folder, FOLDERS[kind]))
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(SUFFIX) and not name.startswith(".") and name != SUFFIX)


def read_object(state: PublishedState, context: ModuleContext) -> dict[str, Any] | None:
    """The object in a meta file without its comments, or None where it cannot be read; the state says why."""
    try:
        state.file.encode()
    except UnicodeEncodeError:
        state.file = state.file.encode("utf-8", "replace").decode()
        state.refuse("", "Its name is not UTF-8. Rename it.")
        return None
    if len(state.file) > MAX_FILE:
        state.refuse("", f"Its name has more than {MAX_FILE} characters. Shorten it.")
        state.file = state.file[:MAX_FILE]
        return None
    try:
        _canonical, data = context.files.read(f"{SCHEME}{context.module_id}/{quote(state.file)}")
        value, faults = read_json(data, max_bytes=MAX_FILE_BYTES, max_depth=MAX_MANIFEST_DEPTH)
    except Refused as refused:
        state.refuse("", str(refused))
        return None
    except Unreadable as error:
        state.refuse("", f"It cannot be read: {error}.")
        return None
    if not isinstance(value, dict):
        state.refuse("", f"It must hold an object, not {type_name(value)}.")
        return None
    for fault in faults:
        state.refuse(fault.pointer, f"{fault.message[:1].upper()}{fault.message[1:]}.")
    cleaned: dict[str, Any] = without_comments(value)
    return cleaned


def read_common(state: PublishedState, raw: Mapping[str, Any]) -> None:
    """Title, description, right, visibility: what resources and prompts share."""
    state.title = text(state, raw, "title", MAX_TEXT)
    state.description = text(state, raw, "description", None)
    _right(state, raw)
    visibility = raw.get("visibility")
    if visibility is not None:
        if visibility in VISIBILITIES:
            state.visibility = visibility
        else:
            state.refuse(
                "/visibility", f"“visibility” must be one of {', '.join(VISIBILITIES)}, not {shown(visibility)}."
            )
    tenants = raw.get("tenants")
    if tenants is not None and not (isinstance(tenants, list) and "" in tenants):
        # Published all the same, it would be seen where it was not meant to be.
        state.refuse("/tenants", 'Only the tenant "" is served. Add it to “tenants”, or guard the file by a “right”.')


def text(state: PublishedState, raw: Mapping[str, Any], key: str, limit: int | None) -> str:
    """A text of the file; empty where there is none or where it is refused."""
    value = raw.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        state.refuse(to_pointer(key), f"“{key}” must be text, not {type_name(value)}.")
    elif "\0" in value:
        state.refuse(to_pointer(key), f"“{key}” holds a NUL character, which no database stores. Remove it.")
    elif limit is not None and len(value) > limit:
        state.refuse(to_pointer(key), f"“{key}” has {len(value)} characters; at most {limit} are kept. Shorten it.")
    else:
        return value
    return ""


def _right(state: PublishedState, raw: Mapping[str, Any]) -> None:
    """``right``, or ``zolinga.right`` as the original has it. What cannot be understood must not open anything."""
    block = raw.get("zolinga")
    found = [("/right", raw.get("right"))]
    if isinstance(block, Mapping):
        found.append(("/zolinga/right", block.get("right")))
        for key in block:
            if key != "right":
                state.refuse(to_pointer("zolinga", key), f"{shown(key)} is unknown here; “right” is known.")
    elif block not in (None, []):
        state.refuse("/zolinga", f"“zolinga” must be an object, not {type_name(block)}.")
    for key in raw:
        guard = meant_guard(key, COMMON_KEYS | _CHECKED.keys())
        if guard:
            state.refuse(to_pointer(key), f"The key {shown(key)} is unknown and guards nothing. Write “{guard}”.")
    for where, value in found:
        if value is None or value is False or value == "":
            continue
        if not isinstance(value, str) or "\0" in value:
            state.refuse(where, f'“right” must be text (or "", false or null for none), not {shown(value)}.')
        elif state.right and state.right != value.strip():
            state.refuse(where, "The file names two rights. Keep one.")
        else:
            state.right = value.strip()


def read_extras(state: PublishedState, raw: Mapping[str, Any], known: frozenset[str], context: ModuleContext) -> None:
    """Everything that is passed on: annotations, icons, ``_meta`` and keys that nobody knows here."""
    for key, value in raw.items():
        if key in known or value is None:
            continue
        if key in _CHECKED:
            if value in ([], {}):
                continue
            for where, message in _CHECKED[key](value):
                state.refuse(to_pointer(key) + where, message)
        state.extras[key] = value
    if "icons" in state.extras and not state.faults:
        try:
            state.extras["icons"] = with_files(state.extras["icons"], context.files)
        except IconRefused as refused:
            state.refuse(f"/icons{refused.where}", str(refused))


def _meta_faults(value: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(value, Mapping):
        yield "", f"An object is needed here, not {shown(value)}."


def _icon_faults(value: Any) -> Iterator[tuple[str, str]]:
    found = icons_problem(value)
    if found:
        yield found


_CHECKED: Mapping[str, Callable[[Any], Iterator[tuple[str, str]]]] = {
    "annotations": annotation_faults,
    "icons": _icon_faults,
    "_meta": _meta_faults,
}


def read_arguments(state: PublishedState, raw: Mapping[str, Any], names: list[str] | None = None) -> None:
    """``arguments``: of a prompt, or what is known of a template's variables (``names``).

    ``enum`` lists the only values there are, ``values`` some that are proposed.
    """
    value = raw.get("arguments")
    if value in (None, []):
        return
    if not isinstance(value, list):
        state.refuse("/arguments", f"“arguments” must be a list of objects, not {type_name(value)}.")
        return
    seen: set[str] = set()
    for index, argument in enumerate(value):
        where = to_pointer("arguments", index)
        name = argument.get("name") if isinstance(argument, Mapping) else None
        if not isinstance(name, str) or not name.strip() or len(name) > MAX_TEXT:
            state.refuse(where, "An argument is an object with a “name”.")
            continue
        if name in seen:
            state.refuse(where, f"The argument {shown(name)} stands here twice.")
        seen.add(name)
        if names is not None and name not in names:
            state.refuse(where, f"The template has no variable {shown(name)}. It has {', '.join(names)}.")
        for key in ("title", "description"):
            if not isinstance(argument.get(key, ""), str):
                state.refuse(where + to_pointer(key), f"“{key}” must be text.")
        if not isinstance(argument.get("required", False), bool):
            state.refuse(f"{where}/required", "“required” must be true or false.")
        for key in ("enum", "values"):
            listed = argument.get(key, [])
            if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
                state.refuse(where + to_pointer(key), f"“{key}” must be a list of texts.")
        state.arguments.append(dict(argument))


def file_uri(context: ModuleContext, state: PublishedState, reference: str) -> str:
    """The ``module://`` URI of a file that a meta file names: as it is, or relative to the meta file."""
    if reference.startswith(SCHEME):
        return reference
    folder = state.file.rpartition("/")[0]
    return f"{SCHEME}{context.module_id}/{folder}/{reference}"


def file_content(context: ModuleContext, uri: str) -> bytes:
    """The bytes of a file of the module. Raises `Refused` for any other, for one that is too large or changing."""
    return context.files.content(uri, module_id=context.module_id, limit=context.limit)
