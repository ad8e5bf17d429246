"""From what a manifest says to the schema text that is stored: judged, repaired, self-contained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mcp_gateway.schemas.bundle import Bundle, check_work
from mcp_gateway.schemas.compile import compile_schema
from mcp_gateway.schemas.documents import (
    MAX_REPORTED,
    Document,
    Note,
    Read,
    Refused,
    SchemaRefused,
    make_document,
    open_document,
)
from mcp_gateway.schemas.faults import shown
from mcp_gateway.schemas.mirrored import mirroring_faults, mirroring_notes
from mcp_gateway.schemas.portability import portability
from mcp_gateway.schemas.reading import to_text

MAX_TEXT = 1024 * 1024


class Role(Enum):
    """What a schema is for."""

    REQUEST = "request"
    RESPONSE = "response"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sound schema: its JSON text, self-contained and in the file's order, and remarks about it."""

    text: str
    notes: tuple[Note, ...]


def prepare(value: Any, role: Role, *, manifest: str, pointer: str, read: Read) -> Prepared:
    """Judge a schema that stands at ``pointer`` of a manifest: a ``module://`` URI or the schema itself.

    Parameters: ``manifest`` is the ``module://`` URI of the manifest, ``read`` opens such URIs.
    Raises `SchemaRefused` with every problem that was found, each with file, pointer and cure.
    """
    if isinstance(value, str):
        if not value.startswith("module://"):
            raise SchemaRefused(
                [
                    Note(
                        manifest,
                        pointer,
                        f"{shown(value)} is no schema. Write a module:// URI such as "
                        f"{manifest.rpartition('/')[0]}/schema/{role.value}.json, or the schema itself.",
                    )
                ]
            )
        try:
            root = open_document(value, read)
        except Refused as error:
            raise SchemaRefused([Note(manifest, pointer, str(error))]) from None
    else:
        root = make_document(value, manifest, pointer)
    bundle = Bundle(root, read)
    schema = bundle.make()
    notes = [*root.notes, *bundle.notes]
    if role is Role.REQUEST:
        kind = schema.get("type")
        if kind is None:
            schema = _with_type(schema)
            notes.append(root.note("", 'The root has no type; “"type": "object"” was added.'))
        elif kind != "object":
            raise root.refuse(
                "/type",
                f'Arguments are always an object, but the root\'s type is {shown(kind)}. Write "type": "object".',
            )
    whole = Document(root.uri, root.prefix, schema, root.dialect)
    whole.index()
    try:
        check_work(whole)
    except RecursionError:
        raise root.refuse("", "The schema's references form too long a chain. Shorten it.") from None
    try:
        checker = compile_schema(schema, root.dialect)
    except ValueError as error:
        raise root.refuse("", f"The schema does not compile: {error}.") from None
    if role is Role.REQUEST:
        faults = mirroring_faults(whole)
        if faults:
            raise SchemaRefused(faults[:MAX_REPORTED])
        notes.extend(mirroring_notes(whole))
    text = to_text(schema)
    if len(text) > MAX_TEXT:
        raise root.refuse("", f"With the files it draws on the schema has more than {MAX_TEXT} characters. Shorten it.")
    notes.extend(_unmeetable(root))
    if role is Role.RESPONSE and checker.is_valid(None):
        notes.append(
            root.note("", "The root admits null, which the official Python client refuses. Give the root a type.")
        )
    notes.extend(portability(root))
    return Prepared(text, tuple(dict.fromkeys(notes)))


def _unmeetable(root: Document) -> Iterator[Note]:
    """Objects that must hold what they may not hold."""
    for place in root.places.values():
        schema = place.schema
        closed = isinstance(schema, dict) and schema.get("additionalProperties") is False
        # Up to draft-07 nothing beside “$ref” counts.
        if closed and not {"patternProperties", "$ref"} & schema.keys():
            names = [name for name in schema.get("required", ()) if name not in schema.get("properties", {})]
            if names:
                yield root.note(
                    f"{place.pointer}/required",
                    f"No object fits: {shown(names[0])} is required, and it is none of the “properties”, besides which "
                    "nothing is allowed. Mend the name, or add it there.",
                )


def _with_type(schema: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if "$schema" in schema:
        made["$schema"] = schema["$schema"]
    made["type"] = "object"
    return {**made, **schema}
