"""From a Django REST framework serializer to JSON Schema, by way of the framework's own OpenAPI mapping."""

from __future__ import annotations

from typing import Any, get_type_hints

from rest_framework import relations, serializers
from rest_framework.schemas.openapi import AutoSchema

from mcp_gateway import encoding
from mcp_gateway.authoring.hints import Schema, schema_of

# Fields whose JSON is text. The mapping calls everything it does not know text as well.
_TEXT = (
    serializers.CharField,
    serializers.DateTimeField,
    serializers.DateField,
    serializers.TimeField,
    serializers.DurationField,
    serializers.FileField,
    serializers.FilePathField,
    serializers.UUIDField,
    relations.StringRelatedField,
    relations.HyperlinkedRelatedField,
)

# OpenAPI's, or of no use on text.
_FORMATS = {"decimal", "binary", "byte", "int32", "int64", "float", "double"}
_OF_NUMBERS = ("minimum", "maximum", "multipleOf")
_FLAGS = ("nullable", "readOnly", "writeOnly")

_DEPTH = 64


def schema_of_serializer(serializer: serializers.BaseSerializer[Any], *, response: bool) -> Schema:
    """What a serializer takes, or what its ``data`` is where ``response`` is true.

    Raises whatever a project's fields raise when they are looked at.
    """
    mapped = _Mapping().map_field(serializer)
    # Lazy translations, decimals and the like become what they are in JSON.
    schema: Schema = encoding.encode(_turned(mapped, response), max_depth=_DEPTH).value
    return schema


class _Mapping(AutoSchema):
    """The framework's mapping, without its guesses."""

    def map_field(self, field: Any) -> Any:
        if isinstance(field, serializers.SerializerMethodField):
            method = getattr(field.parent, field.method_name or "", None)
            try:
                hint = get_type_hints(method)["return"]
            except Exception:  # no such method, no hint, or one that only type checkers understand
                return {}
            return schema_of(hint, response=True)
        if isinstance(field, serializers.JSONField):
            return {}
        if isinstance(field, serializers.BaseSerializer) and not isinstance(
            field, (serializers.Serializer, serializers.ListSerializer)
        ):
            return {}
        mapped = super().map_field(field)
        return {} if mapped == {"type": "string"} and not isinstance(field, _TEXT) else mapped


def _turned(schema: Any, response: bool) -> Any:
    """OpenAPI 3.0 turned into JSON Schema, with the members of one direction only."""
    if isinstance(schema, list):
        return [_turned(entry, response) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: value if key in ("enum", "default") else _turned(value, response) for key, value in schema.items()}
    for flag in _FLAGS:
        made.pop(flag, None)
    if made.get("format") in _FORMATS:
        del made["format"]
    if made.get("type") == "string":
        for key in _OF_NUMBERS:
            made.pop(key, None)
    properties = schema.get("properties")
    if made.get("type") == "object" and isinstance(properties, dict):
        other = "writeOnly" if response else "readOnly"
        kept = [name for name, member in properties.items() if not member.get(other)]
        always = set(schema.get("required", ()))
        if response:
            always |= {name for name in kept if properties[name].get("readOnly")}
        made["properties"] = {name: _turned(properties[name], response) for name in kept}
        made.pop("required", None)
        if required := [name for name in kept if name in always]:
            made["required"] = required
        made["additionalProperties"] = False
    if schema.get("nullable"):
        made = _or_null(made)
    return made


def _or_null(schema: Schema) -> Schema:
    if "enum" in schema:
        return {**{key: value for key, value in schema.items() if key != "type"}, "enum": [*schema["enum"], None]}
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return schema
