"""From a Python type to the JSON Schema of its values, as `mcp_gateway.encoding` writes them.

What a type does not say is left open.
"""

from __future__ import annotations

import dataclasses
import datetime
import types
import typing
from collections.abc import Iterable, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

Schema = dict[str, Any]

_PLAIN: dict[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    type(None): {"type": "null"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string"},
    datetime.timedelta: {"type": "string"},
    Decimal: {"type": "string"},
    UUID: {"type": "string", "format": "uuid"},
}


def schema_of(hint: Any, *, response: bool, within: tuple[Any, ...] = ()) -> Schema:
    """The schema of a type's values; ``{}`` where the type says nothing that JSON Schema could.

    Parameters: ``response`` says whether the values go out, so that members with a default are always there;
    ``within`` are the classes that the type stands in: where one comes again its schema is left open.
    """
    if isinstance(hint, typing.NewType):
        hint = hint.__supertype__
    if hasattr(hint, "__value__"):  # ``type X = …``
        hint = hint.__value__
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return schema_of(arguments[0], response=response, within=within)
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if origin is typing.Literal:
        return {"enum": [value.value if isinstance(value, Enum) else value for value in arguments]}
    if origin in (typing.Union, types.UnionType):
        return _union([schema_of(argument, response=response, within=within) for argument in arguments])
    if hint in within:
        return {}
    if typing.is_typeddict(hint):
        members = _hints(hint)
        required = {name for name in members if _is_required(hint, name, members[name])}
        return _object(hint, members, required, response=response, within=within)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        fields = dataclasses.fields(hint)
        required = {field.name for field in fields if response or not _has_default(field)}
        known = _hints(hint)
        members = {field.name: known.get(field.name, Any) for field in fields}
        return _object(hint, members, required, response=response, within=within)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    return _collection(origin or hint, arguments, response=response, within=within)


def says_something(schema: Schema) -> bool:
    """Whether a schema tells more than “an object” or “anything”."""
    return bool(set(schema) - {"type", "$schema"}) or schema.get("type", "object") != "object"


def _hints(owner: Any) -> dict[str, Any]:
    try:
        return get_type_hints(owner, include_extras=True)
    except Exception:  # a name that only type checkers see: its members are known, their types are not
        return dict.fromkeys(getattr(owner, "__annotations__", {}), Any)


def _is_required(owner: Any, name: str, hint: Any) -> bool:
    """Whether a TypedDict needs a member: where annotations are text, the class itself does not know."""
    mark = get_origin(hint)
    return mark is typing.Required or (mark is not typing.NotRequired and name in owner.__required_keys__)


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _object(
    owner: Any, members: Mapping[str, Any], required: Iterable[str], *, response: bool, within: tuple[Any, ...]
) -> Schema:
    schema: Schema = {
        "type": "object",
        "properties": {
            name: schema_of(hint, response=response, within=(*within, owner)) for name, hint in members.items()
        },
    }
    needed = set(required)
    if needed:
        schema["required"] = [name for name in members if name in needed]
    schema["additionalProperties"] = False
    return schema


def _union(schemas: list[Schema]) -> Schema:
    if {} in schemas:
        return {}
    distinct = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
    if len(distinct) == 1:
        return distinct[0]
    if all(set(schema) == {"type"} for schema in distinct):
        return {"type": [schema["type"] for schema in distinct]}
    return {"anyOf": distinct}


def _collection(kind: Any, arguments: tuple[Any, ...], *, response: bool, within: tuple[Any, ...]) -> Schema:
    if not isinstance(kind, type):
        return {}
    if issubclass(kind, Mapping):
        values = schema_of(arguments[1], response=response, within=within) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if issubclass(kind, tuple) and arguments and arguments[-1] is not Ellipsis:
        parts = [schema_of(argument, response=response, within=within) for argument in arguments]
        return {"type": "array", "prefixItems": parts, "items": False, "minItems": len(parts)}
    if issubclass(kind, (list, tuple)) or (kind.__module__ == "collections.abc" and kind.__name__ in _SEQUENCES):
        items = schema_of(arguments[0], response=response, within=within) if arguments else {}
        return {"type": "array", "items": items} if items else {"type": "array"}
    return {}


_SEQUENCES = ("Sequence", "MutableSequence", "Collection")
