"""``{{argument}}`` in the messages of a prompt: filled in once, never recursively."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PLACEHOLDER = re.compile(r"\{\{([^{}]{1,500})\}\}")

# Members of a content block that hold no words.
_LITERAL = frozenset({"type", "role", "data", "blob", "mimeType", "annotations", "_meta", "icons"})


def is_placeholder(text: str) -> bool:
    """Whether a text holds something to fill in."""
    return PLACEHOLDER.search(text) is not None


def filled(value: Any, arguments: Mapping[str, str]) -> Any:
    """A copy of a message with the arguments in place; what they hold is not looked at again.

    ``arguments`` holds every argument that the prompt knows; other names stay as they are written.
    """
    if isinstance(value, str):

        def put(match: re.Match[str]) -> str:
            return arguments.get(match[1].strip(), match[0])

        return PLACEHOLDER.sub(put, value)
    if isinstance(value, list):
        return [filled(entry, arguments) for entry in value]
    if isinstance(value, dict):
        return {name: entry if name in _LITERAL else filled(entry, arguments) for name, entry in value.items()}
    return value
