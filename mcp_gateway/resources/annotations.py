"""Annotations of resources, templates and content blocks (2026-07-28, “Annotations”)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ROLES = ("user", "assistant")


def annotation_faults(value: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with annotations: pairs of a pointer below them and a message."""
    if not isinstance(value, Mapping):
        yield "", "“annotations” must be an object."
        return
    audience = value.get("audience", [])
    if not isinstance(audience, list) or any(role not in ROLES for role in audience):
        yield "/audience", f"“audience” is a list of {' and '.join(ROLES)}."
    priority = value.get("priority", 0)
    if not isinstance(priority, (int, float)) or isinstance(priority, bool) or not 0 <= priority <= 1:
        yield "/priority", "“priority” is a number from 0 to 1."
    if not isinstance(value.get("lastModified", ""), str):
        yield "/lastModified", "“lastModified” is a time in ISO 8601, as text."
