"""Members that resources, templates, prompts and content blocks share: what of them no client could read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_gateway.resources.annotations import annotation_faults
from mcp_gateway.resources.mime import is_base64

_TEXTS = ("name", "title", "description", "mimeType")
_ICON_SOURCES = ("https://", "http://", "data:", "/")


def member_faults(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with the members that are there: pairs of a pointer below the entry and a message."""
    for name in _TEXTS:
        if not isinstance(entry.get(name, ""), str):
            yield f"/{name}", f"“{name}” is no text."
    size = entry.get("size", 0)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        yield "/size", "“size” is no number of bytes."
    icons = entry.get("icons", [])
    if not isinstance(icons, list) or not all(map(_is_icon, icons)):
        yield "/icons", "“icons” is no list of objects with a “src”: https:, data: or a path on this site."
    if not isinstance(entry.get("_meta", {}), Mapping):
        yield "/_meta", "“_meta” is no object."
    for where, fault in annotation_faults(entry.get("annotations", {})):
        yield f"/annotations{where}", fault


def contents_faults(resource: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The same for what a resource holds (``TextResourceContents``, ``BlobResourceContents``): one of the two."""
    yield from member_faults(resource)
    given = [name for name in ("text", "blob") if name in resource]
    if len(given) != 1 or not isinstance(resource[given[0]], str):
        yield "", "A resource has a “text”, or a “blob” in base64, and not both."
    elif given == ["blob"] and not is_base64(resource["blob"]):
        yield "/blob", "“blob” is no base64."


def _is_icon(icon: Any) -> bool:
    source = icon.get("src") if isinstance(icon, Mapping) else None
    return isinstance(source, str) and source.startswith(_ICON_SOURCES)
