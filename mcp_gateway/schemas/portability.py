"""What is a valid schema and still trips known clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp_gateway.schemas.dialects import DRAFT_2020_12, pointer
from mcp_gateway.schemas.documents import Document, Note

# Beyond it JavaScript and many others round integers (RFC 8259 section 6).
LARGEST_EXACT = 2**53 - 1

BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const", "multipleOf", "default")
ALTERNATIVES = ("oneOf", "anyOf", "allOf")


def portability(document: Document) -> Iterator[Note]:
    """Remarks about an indexed document, each with its pointer and cure."""
    if document.dialect is not DRAFT_2020_12:
        yield document.note(
            "/$schema",
            f"The schema is written in {document.dialect.name}; clients that know only 2020-12 may refuse it.",
        )
    for place in document.places.values():
        if isinstance(place.schema, dict):
            yield from _schema(document, place.pointer, place.schema)


def _schema(document: Document, at: str, schema: dict[str, Any]) -> Iterator[Note]:
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not at:
        for keyword in ALTERNATIVES:
            if keyword in schema:
                yield document.note(
                    pointer(keyword),
                    f"The root has “{keyword}”, which some hosts refuse there. Put it below a property.",
                )
    if "nullable" in schema:
        yield document.note(
            f"{at}/nullable",
            "“nullable” belongs to OpenAPI and means nothing in JSON Schema. "
            'Write "type": ["…", "null"] to allow null.',
        )
    if "array" in kinds and not {"items", "prefixItems"} & schema.keys():
        yield document.note(at, "The array has no “items”; some hosts refuse that. Say what its items are.")
    if (
        "object" in kinds
        and at
        and not {"properties", "additionalProperties", "patternProperties", "$ref", *ALTERNATIVES} & schema.keys()
    ):
        yield document.note(at, "The object has no “properties”; some hosts want them. Say what it holds.")
    for keyword in BOUNDS:
        bound = schema.get(keyword)
        if isinstance(bound, (int, float)) and not isinstance(bound, bool) and abs(bound) > LARGEST_EXACT:
            yield document.note(
                at + pointer(keyword),
                f"“{keyword}” lies beyond 2^53, where many clients round numbers. Use a smaller one, or text.",
            )


def open_objects(document: Document) -> Iterator[str]:
    """The pointers of objects that say what they hold and not that they hold nothing else."""
    for place in document.places.values():
        schema = place.schema
        if not isinstance(schema, dict) or "properties" not in schema:
            continue
        if not {"additionalProperties", "unevaluatedProperties"} & schema.keys():
            yield place.pointer
