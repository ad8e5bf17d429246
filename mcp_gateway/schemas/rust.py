"""jsonschema-rs as the engine: offline, formats asserted, patterns in linear time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import jsonschema_rs

from mcp_gateway.schemas.dialects import (
    DRAFT_4,
    DRAFT_6,
    DRAFT_7,
    DRAFT_2019_09,
    DRAFT_2020_12,
    Dialect,
    resolve_pointer,
)
from mcp_gateway.schemas.dialects import pointer as to_pointer
from mcp_gateway.schemas.faults import Violation
from mcp_gateway.schemas.metaschemas import meta_schemas

_CLASSES: dict[Dialect, type[jsonschema_rs.Validator]] = {
    DRAFT_2020_12: jsonschema_rs.Draft202012Validator,
    DRAFT_2019_09: jsonschema_rs.Draft201909Validator,
    DRAFT_7: jsonschema_rs.Draft7Validator,
    DRAFT_6: jsonschema_rs.Draft6Validator,
    DRAFT_4: jsonschema_rs.Draft4Validator,
}

# Steps that a pattern with look-around or backreferences, which linear time does not allow, may take on one text.
BACKTRACK_LIMIT = 100_000

_LINEAR = jsonschema_rs.RegexOptions()
_BACKTRACKING = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT)

# The attribute of an error's kind that holds what the keyword asks for.
_DETAILS = ("types", "options", "expected_value", "limit", "pattern", "format", "multiple_of", "property", "schema")


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry(list(meta_schemas().items()))


class RustChecker:
    """One compiled schema."""

    def __init__(self, schema: Any, compiled: jsonschema_rs.Validator) -> None:
        self._schema = schema
        self._compiled = compiled
        self.is_valid = compiled.is_valid

    def first(self, value: Any) -> Violation:
        """What is found wrong first."""
        try:
            self._compiled.validate(value)
        except jsonschema_rs.ValidationError as error:
            return self._violations([error], value)[0]
        raise ValueError("the value fits the schema")

    def violations(self, value: Any) -> Sequence[Violation]:
        """Everything that is wrong."""
        return self._violations(self._compiled.iter_errors(value), value)

    def _violations(self, errors: Iterable[jsonschema_rs.ValidationError], value: Any) -> list[Violation]:
        return [self._violation(error, value) for error in errors]

    def _violation(self, error: jsonschema_rs.ValidationError, value: Any) -> Violation:
        kind = error.kind
        keyword: str = kind.name
        location = error.schema_path
        last = location[-1] if location else ""
        detail: Any = next((getattr(kind, name) for name in _DETAILS if hasattr(kind, name)), None)
        alternatives: Sequence[Sequence[Violation]] = ()
        known: Sequence[str] = ()
        if keyword in ("anyOf", "oneOf"):
            if isinstance(kind, jsonschema_rs.ValidationErrorKind.OneOfMultipleValid):
                keyword = "oneOfMultiple"
            else:
                alternatives = [self._violations(branch, value) for branch in kind.context]  # type: ignore[attr-defined]
        elif keyword == "pattern" and detail is None:
            # It gave up; the library calls that by the keyword's name, too.
            keyword = "backtrackLimitExceeded"
        elif keyword == "required" and last in ("dependentRequired", "dependencies"):
            keyword = "dependentRequired"
        elif keyword == "contains" and last in ("minContains", "maxContains"):
            keyword = last
        elif keyword == "propertyNames":
            detail = self._violation(kind.error, value)  # type: ignore[attr-defined]
        elif hasattr(kind, "unexpected"):
            detail = kind.unexpected
            known = self._properties(location[:-1])
        elif keyword == "falseSchema" and last in ("additionalProperties", "unevaluatedProperties"):
            # Without “properties” beside it the library names the object, not the keys.
            owner = resolve_pointer(value, to_pointer(*error.instance_path))
            if isinstance(owner, dict):
                keyword, detail = str(last), list(owner)
        return Violation(tuple(error.instance_path), keyword, detail, error.instance, alternatives, known)

    def _properties(self, location: Sequence[str | int]) -> list[str]:
        try:
            parent = resolve_pointer(self._schema, to_pointer(*location))
            return list(parent["properties"])
        except (LookupError, TypeError):
            return []


def compile_checker(schema: Any, dialect: Dialect, *, backtracking: bool = False) -> RustChecker:
    """Compile a schema; raises ``ValueError`` with the reason."""
    # The mask keeps whole values out of the library's own messages, which nobody reads.
    options: dict[str, Any] = {"validate_formats": True, "offline": True, "mask": ""}
    if _names_meta_schema(schema):
        options["registry"] = _registry()
    cls = _CLASSES[dialect]
    try:
        try:
            compiled = cls(schema, pattern_options=_BACKTRACKING if backtracking else _LINEAR, **options)
        except ValueError as error:
            if "regex" not in str(error):
                raise
            compiled = cls(schema, pattern_options=_BACKTRACKING, **options)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise ValueError(str(getattr(error, "message", error))) from None
    return RustChecker(schema, compiled)


def _names_meta_schema(schema: Any) -> bool:
    waiting = [schema]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, dict):
            reference = entry.get("$ref")
            document = reference.partition("#")[0] if isinstance(reference, str) else ""
            if document and document in meta_schemas():
                return True
            waiting.extend(entry.values())
        elif isinstance(entry, list):
            waiting.extend(entry)
    return False
