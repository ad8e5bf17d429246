"""MIME types: which of them are text, and what a file without one is."""

from __future__ import annotations

import base64
import mimetypes
import re
from typing import Any

BINARY = "application/octet-stream"
TEXT = "text/plain"

# RFC 6838 section 4.2, with parameters.
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*(\s*;.*)?", re.DOTALL)

_TEXT_TYPES = frozenset(
    f"application/{name}"
    for name in (
        "ecmascript", "graphql", "javascript", "json", "json5", "jsonl", "ld+json", "sql", "toml", "typescript",
        "x-httpd-php", "x-javascript", "x-ndjson", "x-sh", "x-yaml", "xhtml+xml", "xml", "xml-dtd", "yaml",
    )
)  # fmt: skip

# What the standard library's table lacks, or does not have on every system.
_BY_SUFFIX = {
    ".jsonl": "application/jsonl", ".md": "text/markdown", ".toml": "application/toml", ".webp": "image/webp",
    ".yaml": "application/yaml", ".yml": "application/yaml",
}  # fmt: skip

_TABLE = mimetypes.MimeTypes()


def is_mime_type(text: str) -> bool:
    """Whether a text is a MIME type."""
    return text.isprintable() and _TYPE.fullmatch(text) is not None


def is_text(mime_type: str) -> bool:
    """Whether content of a type is sent as text: JSON and XML are text, whatever stands before their ``+``."""
    essence = mime_type.partition(";")[0].strip().lower()
    return essence.startswith("text/") or essence in _TEXT_TYPES or essence.endswith(("+json", "+xml", "+yaml"))


def guess(name: str, content: bytes) -> str:
    """The type of a file that says none: by its name, else by whether it is UTF-8 text."""
    suffix = "." + name.rpartition(".")[2].lower()
    found = _BY_SUFFIX.get(suffix) or _TABLE.guess_type(f"x{suffix}", strict=False)[0]
    if found:
        return found
    if b"\0" in content:
        return BINARY
    try:
        content.decode()
    except UnicodeDecodeError:
        return BINARY
    return TEXT


def is_base64(value: object) -> bool:
    """Whether a value is bytes as base64 says them (RFC 4648 section 4)."""
    if not isinstance(value, str):
        return False
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return False
    return True


def contents(uri: str, mime_type: str, content: bytes) -> dict[str, Any]:
    """One item of ``contents``: text or base64, by its MIME type.

    Raises ``UnicodeDecodeError`` for text that is not UTF-8. A byte order mark is no part of the text.
    """
    item: dict[str, Any] = {"uri": uri}
    if mime_type:
        item["mimeType"] = mime_type
    if is_text(mime_type):
        item["text"] = content.decode("utf-8-sig")
    else:
        item["blob"] = base64.b64encode(content).decode()
    return item
