"""The dialects of JSON Schema that are understood, and where in each a schema can hold another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")

DEFAULT_URI = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One dialect.

    ``uri`` is its meta-schema's, without a fragment; ``definitions`` the keyword that holds definitions;
    ``ref_alone`` says that a ``$ref`` makes its neighbours mean nothing (draft-07 and older).
    """

    name: str
    uri: str
    definitions: str
    identifier: str
    ref_alone: bool


DRAFT_2020_12 = Dialect("2020-12", DEFAULT_URI, "$defs", "$id", False)
DRAFT_2019_09 = Dialect("2019-09", "https://json-schema.org/draft/2019-09/schema", "$defs", "$id", False)
DRAFT_7 = Dialect("draft-07", "http://json-schema.org/draft-07/schema", "definitions", "$id", True)
DRAFT_6 = Dialect("draft-06", "http://json-schema.org/draft-06/schema", "definitions", "$id", True)
DRAFT_4 = Dialect("draft-04", "http://json-schema.org/draft-04/schema", "definitions", "id", True)

DIALECTS = (DRAFT_2020_12, DRAFT_2019_09, DRAFT_7, DRAFT_6, DRAFT_4)

_BY_URI = {dialect.uri.split("://", 1)[1]: dialect for dialect in DIALECTS}

SINGLE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
LISTS = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
MAPS = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})

# Keywords whose schemas judge the same place of the instance as the schema that holds them.
IN_PLACE_SINGLE = frozenset({"else", "if", "not", "then"})
IN_PLACE_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
IN_PLACE_MAPS = frozenset({"dependencies", "dependentSchemas"})

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def dialect_of(uri: str) -> Dialect | None:
    """The dialect that ``$schema`` names, or None. Both schemes and an empty fragment are accepted."""
    bare = uri.removesuffix("#")
    scheme, separator, rest = bare.partition("://")
    if not separator or scheme not in ("http", "https"):
        return None
    return _BY_URI.get(rest)


def children(schema: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The schemas that a schema holds, each with the tokens that lead to it."""
    for keyword, value in schema.items():
        if keyword in MAPS and isinstance(value, dict):
            for name, entry in value.items():
                if isinstance(entry, (dict, bool)):
                    yield (keyword, name), entry
        elif keyword in LISTS and isinstance(value, list):
            for index, entry in enumerate(value):
                yield (keyword, str(index)), entry
        elif keyword in SINGLE:
            yield (keyword,), value


def pointer(*tokens: str | int) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def resolve_pointer(document: Any, text: str) -> Any:
    """What a JSON pointer points to. Raises ``LookupError`` where there is nothing."""
    if not text:
        return document
    if not text.startswith("/"):
        raise LookupError(text)
    for raw in text[1:].split("/"):
        name = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document[name]
        elif isinstance(document, list) and _INDEX.fullmatch(name):
            document = document[int(name)]
        else:
            raise LookupError(text)
    return document
