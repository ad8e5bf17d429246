"""Which schemas judge the same member of a value."""

from __future__ import annotations

from urllib.parse import unquote

from mcp_gateway.schemas.dialects import IN_PLACE_LISTS, IN_PLACE_MAPS, IN_PLACE_SINGLE, REFERENCES, pointer
from mcp_gateway.schemas.documents import Document, Place, resolve_uri


def in_place(document: Document, place: Place) -> list[str]:
    """The pointers of the schemas that judge the same member of a value as this one, without itself."""
    schema = place.schema
    steps: list[str] = []
    for keyword in REFERENCES:
        reference = schema.get(keyword)
        if isinstance(reference, str):
            bare, _hash, fragment = reference.partition("#")
            resource = place.resource if not bare else document.resources.get(resolve_uri(place.base, bare))
            found = None if resource is None else document.find(resource, unquote(fragment))
            if found is not None:
                steps.append(found)
    if document.dialect.ref_alone and "$ref" in schema:
        return steps
    for keyword, value in schema.items():
        if keyword in IN_PLACE_SINGLE:
            steps.append(place.pointer + pointer(keyword))
        elif keyword in IN_PLACE_LISTS and isinstance(value, list):
            steps.extend(place.pointer + pointer(keyword, index) for index in range(len(value)))
        elif keyword in IN_PLACE_MAPS and isinstance(value, dict):
            steps.extend(place.pointer + pointer(keyword, name) for name in value)
    return steps
