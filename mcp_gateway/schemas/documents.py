"""The schema files of one import: read once each, repaired, judged by their meta-schema, indexed by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mcp_gateway.schemas.compile import Checker, compile_schema
from mcp_gateway.schemas.dialects import (
    DRAFT_2020_12,
    LISTS,
    MAPS,
    SINGLE,
    Dialect,
    children,
    dialect_of,
    pointer,
    resolve_pointer,
)
from mcp_gateway.schemas.faults import Violation, describe, shown, type_name
from mcp_gateway.schemas.metaschemas import meta_schemas
from mcp_gateway.schemas.reading import Unreadable, read_json

MAX_FILE_BYTES = 1024 * 1024
MAX_DEPTH = 100
MAX_REPORTED = 20

# Reads a ``module://`` URI: its canonical spelling and the bytes. Raises `Refused`.
Read = Callable[[str], tuple[str, bytes]]


class Refused(Exception):
    """A reason, with its cure, why something cannot be read."""


@dataclass(frozen=True, slots=True)
class Note:
    """A remark about a place: ``file`` is a ``module://`` URI, ``pointer`` a JSON pointer in it."""

    file: str
    pointer: str
    message: str


class SchemaRefused(Exception):
    """A schema that cannot be used; ``problems`` says where and why."""

    def __init__(self, problems: list[Note]) -> None:
        super().__init__("; ".join(f"{note.file}#{note.pointer}: {note.message}" for note in problems))
        self.problems = problems


@dataclass(slots=True)
class Place:
    """A schema inside a document: its pointer, and the pointer and URI of the resource it belongs to."""

    schema: Any
    pointer: str
    resource: str
    base: str


@dataclass(slots=True)
class Document:
    """One schema document.

    ``uri`` and ``prefix`` say where it stands: an inline schema stands at ``prefix`` in its manifest.
    ``places`` are its schemas by pointer, ``resources`` the pointers of its ``$id``s, ``anchors`` the pointers of
    anchors by (resource pointer, name).
    """

    uri: str
    prefix: str
    value: Any
    dialect: Dialect
    places: dict[str, Place] = field(default_factory=dict)
    resources: dict[str, str] = field(default_factory=dict)
    anchors: dict[tuple[str, str], str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def note(self, at: str, message: str) -> Note:
        """A remark about a pointer of the document."""
        return Note(self.uri, self.prefix + at, message)

    def refuse(self, at: str, message: str) -> SchemaRefused:
        """The exception for a pointer of the document."""
        return SchemaRefused([self.note(at, message)])

    def index(self, at: str = "", resource: str = "", base: str = "") -> list[Place]:
        """Take in the schemas at and below a pointer, with their names, and give back those that are new."""
        made: list[Place] = []
        _index(self, resolve_pointer(self.value, at), Place(None, at, resource, base or self.uri), made)
        return made

    def reach(self, at: str) -> list[Place]:
        """Take in a schema that stands where no keyword puts one, such as ``#/components/Money``."""
        if at in self.places:
            return []
        owners = [where for where in self.resources.values() if f"{at}/".startswith(f"{where}/")]
        owner = max(owners, key=len, default="")
        base = next((uri for uri, where in self.resources.items() if where == owner), self.uri)
        return self.index(at, owner, base)

    def find(self, resource: str, fragment: str) -> str | None:
        """The pointer that a fragment of one of the document's resources leads to, or None."""
        if fragment and not fragment.startswith("/"):
            return self.anchors.get((resource, fragment))
        try:
            resolve_pointer(self.value, resource + fragment)
        except (LookupError, ValueError):
            return None
        return resource + fragment


def open_document(uri: str, read: Read, inherited: Dialect = DRAFT_2020_12) -> Document:
    """Read a schema file; without a ``$schema`` it is of the ``inherited`` dialect. Raises `Refused`
    for a URI that leads nowhere and `SchemaRefused` for its content.
    """
    canonical, data = read(uri)
    try:
        value, faults = read_json(data, max_bytes=MAX_FILE_BYTES, max_depth=MAX_DEPTH)
    except Unreadable as error:
        raise SchemaRefused([Note(canonical, "", f"The schema file cannot be read: {error}.")]) from None
    if faults:
        raise SchemaRefused([Note(canonical, fault.pointer, f"{_sentence(fault.message)}.") for fault in faults])
    return make_document(value, canonical, "", inherited)


def make_document(value: Any, uri: str, prefix: str, inherited: Dialect = DRAFT_2020_12) -> Document:
    """Repair, judge and index a schema that has been read. Raises `SchemaRefused`."""
    document = Document(uri, prefix, value, inherited)
    if isinstance(value, bool):
        document.value = {} if value else {"not": {}}
        document.notes.append(document.note("", f"A schema that is {shown(value)} is kept as {shown(document.value)}."))
    elif value == [] and isinstance(value, list):
        document.value = {}
        document.notes.append(document.note("", "An empty list (an empty PHP array) is kept as {}."))
    elif not isinstance(value, dict):
        raise document.refuse("", f"A schema is an object, not {shown(value)}. Write a JSON Schema object.")
    named = document.value.get("$schema")
    if named is not None:
        dialect = dialect_of(named) if isinstance(named, str) else None
        if dialect is None:
            raise document.refuse(
                "/$schema",
                f"The dialect {shown(named)} is unknown. Known are 2020-12 (also without $schema), 2019-09, "
                "draft-07, draft-06 and draft-04.",
            )
        document.dialect = dialect
    document.value = _repair(document.value, "", document)
    faults = _meta_checker(document.dialect).violations(document.value)
    if faults:
        found = dict.fromkeys(
            document.note(
                pointer(*fault.path),
                f"By the meta-schema of {document.dialect.name} this {describe(fault)}.{_cure(fault)}",
            )
            for fault in faults
        )
        raise SchemaRefused(list(found)[:MAX_REPORTED])
    document.index()
    return document


# Forms of older dialects that authors go on writing, by keyword and the type it had there.
_CURES = {
    ("items", "array"): "Write “prefixItems” for a list of schemas, or name the older dialect in “$schema”.",
    ("required", "boolean"): "Name the property in the list “required” of the object that has it.",
    ("exclusiveMinimum", "boolean"): "Give the limit itself in place of “minimum”.",
    ("exclusiveMaximum", "boolean"): "Give the limit itself in place of “maximum”.",
}


def _cure(fault: Violation) -> str:
    """What to write instead of an older dialect's form, after a space; empty for any other fault."""
    keyword = str(fault.path[-1]) if fault.path and fault.path[-2:-1] != ("properties",) else ""
    cure = _CURES.get((keyword, type_name(fault.instance)))
    return f" {cure}" if cure else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def _meta_checker(dialect: Dialect) -> Checker:
    # Patterns of schemas may use look-around, which only the backtracking engine takes.
    return compile_schema(meta_schemas()[dialect.uri], dialect, backtracking=True)


def _repair(schema: Any, at: str, document: Document) -> Any:
    """Put ``{}`` where an empty PHP array stands for an object."""
    if schema == [] and isinstance(schema, list):
        document.notes.append(document.note(at, "An empty list (an empty PHP array) is kept as {}."))
        return {}
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for keyword, value in schema.items():
        here = at + pointer(keyword)
        if keyword in MAPS or keyword in ("dependentRequired", "$vocabulary"):
            if value == [] and isinstance(value, list):
                document.notes.append(document.note(here, "An empty list (an empty PHP array) is kept as {}."))
                value = {}
            elif keyword in MAPS and isinstance(value, dict):
                value = {
                    name: entry
                    if keyword == "dependencies" and isinstance(entry, list)
                    else _repair(entry, here + pointer(name), document)
                    for name, entry in value.items()
                }
        elif keyword in LISTS and isinstance(value, list) and (value or keyword != "items"):
            value = [_repair(entry, here + pointer(index), document) for index, entry in enumerate(value)]
        elif keyword in SINGLE:
            value = _repair(value, here, document)
        made[keyword] = value
    return made


def _index(document: Document, schema: Any, at: Place, made: list[Place]) -> None:
    """Take in a schema; ``at`` has the pointer it stands at, and the resource and base it stands in."""
    resource, base = at.resource, at.base
    if isinstance(schema, dict):
        reference_only = document.dialect.ref_alone and "$ref" in schema
        identifier = schema.get(document.dialect.identifier)
        if isinstance(identifier, str) and not reference_only:
            bare, _hash, anchor = identifier.partition("#")
            if anchor and not bare:
                document.anchors.setdefault((resource, anchor), at.pointer)
            elif bare:
                resource, base = at.pointer, resolve_uri(base, bare)
                document.resources.setdefault(base, at.pointer)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                document.anchors.setdefault((resource, schema[keyword]), at.pointer)
    elif not isinstance(schema, bool):
        return
    if at.pointer not in document.places:
        document.places[at.pointer] = Place(schema, at.pointer, resource, base)
        made.append(document.places[at.pointer])
    if isinstance(schema, dict):
        for tokens, child in children(schema):
            _index(document, child, Place(None, at.pointer + pointer(*tokens), resource, base), made)


def resolve_uri(base: str, reference: str) -> str:
    """A reference seen from a base URI (RFC 3986 section 5.2), for every scheme with a path.

    A path that would climb above its root keeps its ``..``, so that whoever opens it can refuse it.
    """
    scheme, colon, _rest = reference.partition(":")
    if colon and scheme and all(letter.isalnum() or letter in "+.-" for letter in scheme):
        return reference
    head, separator, tail = base.partition("://")
    if not separator:
        return reference
    authority, _slash, path = tail.partition("/")
    if reference.startswith("//"):
        return f"{head}:{reference}"
    if reference.startswith("/"):
        path = reference[1:]
    elif reference:
        path = path.rpartition("/")[0] + "/" + reference if "/" in path else reference
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    return f"{head}://{authority}/{'/'.join(kept)}"
