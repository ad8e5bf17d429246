"""``x-mcp-header``: parameters that clients of 2026-07-28 repeat in HTTP headers (server/tools, “x-mcp-header”)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeGuard

from mcp_gateway.schemas.dialects import pointer
from mcp_gateway.schemas.documents import Document, Note
from mcp_gateway.schemas.faults import shown

KEYWORD = "x-mcp-header"

PRIMITIVES = ("string", "integer", "boolean")

# RFC 9110 section 5.1.
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

# Whatever stands between client and server reads headers, and keeps logs of them.
_SENSITIVE = re.compile(r"passw|secret|token|api.?key|credential|authorization", re.IGNORECASE)


def mirrored_parameters(schema: Any) -> dict[str, tuple[str, ...]]:
    """The parameters that an input schema mirrors: header name portion → path of ``properties`` keys.

    Annotations that the specification calls invalid (no token, twice, not on a primitive type) mirror nothing.
    """
    found: dict[str, tuple[str, ...]] = {}
    waiting: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while waiting:
        path, entry = waiting.pop()
        properties = entry.get("properties") if isinstance(entry, dict) else None
        if not isinstance(properties, dict):
            continue
        for key, inner in properties.items():
            waiting.append(((*path, key), inner))
            name = inner.get(KEYWORD) if isinstance(inner, dict) else None
            if is_token(name) and inner.get("type") in PRIMITIVES:
                found.setdefault(name, (*path, key))
    return found


def is_token(name: Any) -> TypeGuard[str]:
    """Whether something can be a part of a header's name."""
    return isinstance(name, str) and _TOKEN.fullmatch(name) is not None


def mirroring_faults(document: Document) -> list[Note]:
    """Every annotation of an indexed request schema for which clients must leave the whole tool out, and the cure."""
    faults: list[Note] = []
    taken: dict[str, str] = {}
    for at, name, schema in _annotations(document):
        here = at + pointer(KEYWORD)
        if not is_token(name):
            message = (
                f"“{KEYWORD}” is {shown(name)}, which cannot be part of a header's name (RFC 9110 section 5.1). "
                "Write a word of letters, digits and hyphens, such as Region."
            )
            faults.append(document.note(here, message))
            continue
        if not _is_reached_by_properties(at):
            message = (
                f"“{KEYWORD}” belongs to a property that “properties” alone lead to from the root, and not “items”, "
                "alternatives, conditions or a “$ref”. Move the property, or take the keyword out."
            )
            faults.append(document.note(here, message))
            continue
        kind = schema.get("type")
        if not isinstance(kind, str) or kind not in PRIMITIVES:
            given = f"the type is {shown(kind)}" if kind is not None else "it names no type"
            message = f"“{KEYWORD}” belongs to a string, an integer or a boolean, and {given}. Change one of the two."
            faults.append(document.note(here, message))
            continue
        # Servers get header names in one case, and with hyphens and underscores for the same.
        earlier = taken.setdefault(name.lower().replace("_", "-"), here)
        if earlier != here:
            message = f"The header {shown(name)} is taken by the annotation at {earlier}. Rename one of them."
            faults.append(document.note(here, message))
    return faults


def mirroring_notes(document: Document) -> Iterator[Note]:
    """What is allowed in annotations and still unwise."""
    for at, name, _schema in _annotations(document):
        if not is_token(name):
            continue
        here = at + pointer(KEYWORD)
        if "_" in name:
            message = f"Many proxies drop headers with an underscore, such as Mcp-Param-{name}. Write a hyphen."
            yield document.note(here, message)
        if _SENSITIVE.search(name) or _SENSITIVE.search(at.rpartition("/")[2]):
            message = "What stands in a header is seen by every proxy, and by their logs. Do not mirror secrets."
            yield document.note(here, message)


def _annotations(document: Document) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for place in document.places.values():
        if isinstance(place.schema, dict) and KEYWORD in place.schema:
            yield place.pointer, place.schema[KEYWORD], place.schema


def _is_reached_by_properties(at: str) -> bool:
    steps = at.split("/")[1:]
    return bool(steps) and len(steps) % 2 == 0 and all(step == "properties" for step in steps[::2])
