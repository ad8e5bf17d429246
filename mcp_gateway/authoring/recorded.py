"""Recorded requests and responses of an event, and the schema that all of them fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_gateway.authoring.files import NotWritten
from mcp_gateway.authoring.hints import Schema
from mcp_gateway.schemas.reading import Unreadable, read_json

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64


@dataclass(slots=True)
class Recorded:
    """What was recorded of one event, in the file's order."""

    requests: list[Any] = field(default_factory=list)
    responses: list[Any] = field(default_factory=list)

    def of(self, role: str) -> list[Any]:
        """The values of ``request`` or ``response``."""
        return self.requests if role == "request" else self.responses


def read_recorded(file: str, event: str) -> Recorded:
    """Read a file of records: one JSON document, or JSON lines.

    A record is an object with ``request``, ``response`` or both; lists of records are read through, so what a browser
    shows of the gate's traffic can be saved as it is. A record whose ``type`` is another event is passed over, and
    so is the response of one that failed (``ok`` false, or ``status`` 400 and above). Raises `NotWritten` for a file
    that cannot be read, is no such thing, or holds nothing of the event.
    """
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise NotWritten(f"{file} cannot be read ({(error.strerror or type(error).__name__).lower()}).") from None
    found = Recorded()
    for document, line in _documents(file, data):
        for record in _records(document, f"{file}{line}"):
            if record.get("type", event) != event:
                continue
            if isinstance(record.get("request"), dict):
                found.requests.append(record["request"])
            if "response" in record and not _failed(record):
                found.responses.append(record["response"])
    if not found.requests and not found.responses:
        raise NotWritten(f"{file} holds no record of {event}: objects with “request”, “response” or both are needed.")
    return found


def schema_of_values(values: list[Any]) -> Schema:
    """The schema that values have in common: their types, their members, and which of these all have.

    It stays open: what was not seen may still come.
    """
    kinds = list(dict.fromkeys(map(_kind, values)))
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    schema: Schema = {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}
    objects = [value for value in values if isinstance(value, dict)]
    names = dict.fromkeys(name for value in objects for name in value)
    if names:
        schema["properties"] = {
            name: schema_of_values([value[name] for value in objects if name in value]) for name in names
        }
        if required := [name for name in names if all(name in value for value in objects)]:
            schema["required"] = required
    entries = [entry for value in values if isinstance(value, list) for entry in value]
    if entries:
        schema["items"] = schema_of_values(entries)
    return schema


def _documents(file: str, data: bytes) -> Iterator[tuple[Any, str]]:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        lines = [(line, f", line {number}") for number, line in enumerate(data.splitlines(), 1) if line.strip()]
    else:
        lines = [(data, "")]
    for line, where in lines:
        try:
            value, faults = read_json(line, max_bytes=MAX_BYTES, max_depth=MAX_DEPTH)
        except Unreadable as error:
            raise NotWritten(f"{file}{where} is no record: {error}.") from None
        if faults:
            raise NotWritten(f"{file}{where} is no record: {faults[0].message} (at {faults[0].pointer or 'the root'}).")
        yield value, where


def _records(document: Any, where: str) -> Iterator[dict[str, Any]]:
    if isinstance(document, list):
        for entry in document:
            yield from _records(entry, where)
    elif isinstance(document, dict):
        yield document
    else:
        raise NotWritten(f"{where} is no record: an object with “request”, “response” or both is needed.")


def _failed(record: dict[str, Any]) -> bool:
    status = record.get("status")
    return record.get("ok") is False or (isinstance(status, int) and status >= 400)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    kinds: tuple[tuple[type, str], ...] = ((int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")
