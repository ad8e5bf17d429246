"""Making a schema self-contained: every reference is resolved, other files move under its definitions.

What is stored holds only references of the form ``#…`` (and those to the bundled meta-schemas): clients must not
fetch, and many resolve nothing but pointers into the same schema.
"""

from __future__ import annotations

import copy
import re
from collections import deque
from typing import Any
from urllib.parse import unquote

from mcp_gateway.schemas.dialects import REFERENCES, pointer, resolve_pointer
from mcp_gateway.schemas.documents import Document, Note, Place, Read, Refused, open_document, resolve_uri
from mcp_gateway.schemas.faults import shown
from mcp_gateway.schemas.in_place import in_place
from mcp_gateway.schemas.metaschemas import meta_schemas

MAX_FILES = 50

# How many schemas may judge one and the same place of a value: `allOf` in `allOf` multiplies.
MAX_WORK = 10_000


class Bundle:
    """One schema and the files it refers to. `make` gives the self-contained schema or raises `SchemaRefused`."""

    def __init__(self, root: Document, read: Read) -> None:
        self._root = root
        self._read = read
        self._files: dict[str, Document] = {root.uri: root} if not root.prefix else {}
        self._keys: dict[int, str] = {}
        self._taken = set(root.value.get(root.dialect.definitions) or ())
        self._copies: dict[int, Any] = {id(root): copy.deepcopy(root.value)}
        self._embedded: list[Document] = []
        self._entered: set[int] = {id(root)}

    @property
    def notes(self) -> list[Note]:
        """Remarks about the files that were drawn in."""
        return [note for document in self._embedded for note in document.notes]

    def make(self) -> dict[str, Any]:
        """Resolve everything that can be reached."""
        waiting = deque((self._root, place) for place in self._root.places.values())
        while waiting:
            document, place = waiting.popleft()
            for keyword in REFERENCES:
                reference = place.schema.get(keyword) if isinstance(place.schema, dict) else None
                if isinstance(reference, str):
                    waiting.extend(self._resolve(document, place, keyword, reference))
        whole: dict[str, Any] = self._copies[id(self._root)]
        if self._embedded:
            definitions = whole.setdefault(self._root.dialect.definitions, {})
            for document in self._embedded:
                definitions[self._keys[id(document)]] = self._stripped(document)
        return whole

    def _resolve(self, document: Document, place: Place, keyword: str, reference: str) -> list[tuple[Document, Place]]:
        """Find a reference's target, rewrite it where it must be, and give back what is to be looked at next."""
        at = place.pointer + pointer(keyword)
        bare, _hash, fragment = reference.partition("#")
        fragment = unquote(fragment)
        if bare and resolve_uri(place.base, bare) in meta_schemas():
            return []
        if not bare:
            target, resource = document, place.resource
        else:
            target, resource = self._file(document, place, at, bare)
        found = target.find(resource, fragment)
        if found is None:
            raise document.refuse(
                at, f"The reference {shown(reference)} leads nowhere. Add what it names, or mend the reference."
            )
        if target is not document or document is not self._root:
            self._rewrite(document, place, keyword, target, found)
        new: list[Place] = []
        if id(target) not in self._entered:
            self._entered.add(id(target))
            new.extend(target.places.values())
        new.extend(target.reach(found))
        if found not in target.places:
            raise target.refuse(found, "A reference leads here, but this is no schema. Mend the reference.")
        return [(target, inner) for inner in new]

    def _file(self, document: Document, place: Place, at: str, bare: str) -> tuple[Document, str]:
        """The document and resource that a reference with a file part names."""
        uri = resolve_uri(place.base, bare)
        for known in (document, *self._embedded, self._root):
            if uri in known.resources:
                return known, known.resources[uri]
        if not uri.startswith("module://"):
            # A file counts from the file it is named in, also below an $id.
            uri = resolve_uri(document.uri, bare)
        if not uri.startswith("module://"):
            raise document.refuse(
                at,
                f"The reference {shown(bare)} is not local. Schemas are never fetched: put the schema into the module "
                "and refer to it by a relative path or a module:// URI.",
            )
        try:
            canonical, _data = self._read(uri)
            if canonical not in self._files:
                opened = open_document(canonical, self._read, self._root.dialect)
                self._files[canonical] = self._embed(document, at, opened)
        except Refused as error:
            raise document.refuse(at, f"The reference {shown(bare)} cannot be followed: {error}") from None
        return self._files[canonical], ""

    def _embed(self, document: Document, at: str, other: Document) -> Document:
        if other.dialect is not self._root.dialect:
            raise document.refuse(
                at,
                f"{other.uri} is written in {other.dialect.name}, this schema in {self._root.dialect.name}. "
                "Use one dialect for schemas that refer to each other.",
            )
        if any(
            isinstance(place.schema, dict) and {"$dynamicAnchor", "$dynamicRef", "$recursiveRef"} & place.schema.keys()
            for place in other.places.values()
        ):
            raise document.refuse(
                at, f"{other.uri} uses dynamic references, which only work within one file. Use $ref there."
            )
        if len(self._embedded) >= MAX_FILES:
            raise document.refuse(at, f"The schema draws on more than {MAX_FILES} files. Merge some.")
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", other.uri.rpartition("/")[2].removesuffix(".json")) or "schema"
        key, number = stem, 2
        while key in self._taken:
            key, number = f"{stem}_{number}", number + 1
        self._taken.add(key)
        self._keys[id(other)] = key
        self._copies[id(other)] = copy.deepcopy(other.value)
        self._embedded.append(other)
        return other

    def _rewrite(self, document: Document, place: Place, keyword: str, target: Document, found: str) -> None:
        if document is self._root and place.resource:
            raise document.refuse(
                place.pointer + pointer(keyword),
                "A schema with its own $id inside another cannot refer to another file here. "
                "Drop the inner $id, or move the schema into a file of its own.",
            )
        if target is self._root:
            full = found
        else:
            full = pointer(self._root.dialect.definitions, self._keys[id(target)]) + found
        holder = resolve_pointer(self._copies[id(document)], place.pointer)
        holder[keyword] = "#" + full

    def _stripped(self, document: Document) -> Any:
        """A file's copy without what names it: all references to it are pointers now."""
        made = self._copies[id(document)]
        for place in document.places.values():
            schema = resolve_pointer(made, place.pointer)
            if isinstance(schema, dict):
                for keyword in ("$schema", document.dialect.identifier, "$anchor"):
                    schema.pop(keyword, None)
        return made


def check_work(document: Document) -> None:
    """Refuse a self-contained schema that judges one place endlessly or too often.

    ``{"$ref": "#"}`` never ends; a chain of ``allOf`` in which each link is used twice doubles with each link.
    """
    costs: dict[str, int] = {}
    active: set[str] = set()

    def cost(at: str) -> int:
        if at in costs:
            return costs[at]
        if at in active:
            raise document.refuse(
                at, "The schema refers back to itself for the same value, which never ends. Break the circle."
            )
        document.reach(at)
        place = document.places.get(at)
        if place is None or not isinstance(place.schema, dict):
            return 1
        active.add(at)
        total = 1
        for step in in_place(document, place):
            total += cost(step)
            if total > MAX_WORK:
                raise document.refuse(
                    at,
                    f"More than {MAX_WORK} schemas judge one and the same value here. "
                    "Combine fewer alternatives, or share them less often.",
                )
        active.discard(at)
        costs[at] = total
        return total

    for at in list(document.places):
        cost(at)
