"""Adding entries to ``listen`` in the text of a manifest: everything else keeps its form, order and comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

DEFAULT_INDENT = "  "

_OPENING, _CLOSING = ("{", "["), ("}", "]")
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_SPACE = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Span:
    """Where a value stands in the text: from its first character to after its last."""

    start: int
    end: int


def add_entries(data: bytes, entries: list[dict[str, Any]]) -> bytes:
    """The manifest's bytes with entries at the end of ``listen``.

    ``data`` is a manifest that `mcp_gateway.manifest.document.parse_manifest` reads. The file's indentation, line
    ends and byte order mark are kept, but what stands in one line is spread over several; ``listen`` is made where
    there is none, or where it is empty in another form (null, or the ``{}`` of an empty PHP array).
    """
    mark, text = (b"\xef\xbb\xbf", data[3:]) if data.startswith(b"\xef\xbb\xbf") else (b"", data)
    written = text.decode()
    if "\n" not in written.strip() and "\r" not in written.strip():
        written = _spread(written)
    newline = "\r\n" if "\r\n" in written else "\n"
    indent = _indent(written)
    members = dict(_members(written))
    listen = members.get("listen")
    if listen is None:
        written = _with_member(written, members, _block(entries, indent, indent), indent)
    elif written[listen.start] != "[" or not (elements := list(_elements(written, listen.start))):
        base = _line_indent(written, listen.start)
        written = written[: listen.start] + _block(entries, indent, base) + written[listen.end :]
    else:
        last = elements[-1]
        base = _line_indent(written, last.start) if _begins_line(written, last.start) else indent * 2
        added = "".join(f",\n{_indented(entry, indent, base)}" for entry in entries)
        written = written[: last.end] + added + written[last.end :]
    if newline != "\n":
        written = written.replace("\r\n", "\n").replace("\n", newline)
    return mark + written.encode()


def _spread(text: str) -> str:
    """JSON of one line over several. Every name, text and number stays as it is written."""
    out: list[str] = []
    depth, before = 0, ""
    for part in _PART.findall(text):
        closes, opened = part in _CLOSING, before in _OPENING
        depth -= closes
        # An empty object or array stays in one piece.
        if closes != opened or before == ",":
            out.append("\n" + DEFAULT_INDENT * depth)
        depth += part in _OPENING
        out.append(": " if part == ":" else part)
        before = part
    return "".join(out) + "\n"


def _with_member(text: str, members: dict[str, _Span], block: str, indent: str) -> str:
    if members:
        end = max(span.end for span in members.values())
        return f'{text[:end]},\n{indent}"listen": {block}{text[end:]}'
    start = text.index("{")
    return f'{text[:start]}{{\n{indent}"listen": {block}\n}}{text[text.rindex("}") + 1 :]}'


def _block(entries: list[dict[str, Any]], indent: str, base: str) -> str:
    listed = ",\n".join(_indented(entry, indent, base + indent) for entry in entries)
    return f"[\n{listed}\n{base}]"


def _indented(entry: dict[str, Any], indent: str, base: str) -> str:
    """An entry over several lines, with its short lists in one."""
    text = json.dumps(entry, ensure_ascii=False, indent=indent)
    text = re.sub(r"\[\s+(\"[^\"\\]*\")\s+\]", r"[\1]", text)
    return "\n".join(base + line for line in text.split("\n"))


def _indent(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else DEFAULT_INDENT


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip() and "\n" in text[:at]


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _members(text: str) -> Iterator[tuple[str, _Span]]:
    """Each name of the root object with the place of its value."""
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        name, at = _decoder.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        _value, end = _decoder.raw_decode(text, at)
        yield name, _Span(at, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _elements(text: str, start: int) -> Iterator[_Span]:
    """The place of each element of an array that begins at ``start``."""
    at = _skip(text, start + 1)
    while text[at] != "]":
        _value, end = _decoder.raw_decode(text, at)
        yield _Span(at, end)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
