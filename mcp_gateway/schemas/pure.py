"""jsonschema as the engine, for platforms without a wheel of jsonschema-rs.

Slower, and patterns run on Python's backtracking engine. Formats that jsonschema knows only with further
packages are checked here, so that a deployment's verdict does not depend on what else is installed.
"""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from jsonschema import FormatChecker, exceptions, validators
from jsonschema.protocols import Validator as ProtocolValidator
from jsonschema_specifications import REGISTRY

from mcp_gateway.schemas.dialects import DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019_09, DRAFT_2020_12, Dialect
from mcp_gateway.schemas.faults import Violation

_CLASSES = {
    DRAFT_2020_12: validators.Draft202012Validator,
    DRAFT_2019_09: validators.Draft201909Validator,
    DRAFT_7: validators.Draft7Validator,
    DRAFT_6: validators.Draft6Validator,
    DRAFT_4: validators.Draft4Validator,
}

_TIME = re.compile(
    r"(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[zZ]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_URI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)(?:[!#$&-;=?-\[\]_a-z~]|%[0-9A-Fa-f]{2})*")
_URI_REFERENCE = re.compile(r"(?:[!#$&-;=?-\[\]_a-z~]|%[0-9A-Fa-f]{2})*")
_DURATION = re.compile(
    r"P(?:\d+W|(?=.)(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)", re.ASCII
)

formats = FormatChecker()


def _texts(check: Any) -> Any:
    return lambda value: not isinstance(value, str) or check(value)


def _is_date(text: str) -> bool:
    return bool(_DATE.fullmatch(text)) and bool(datetime.date.fromisoformat(text))


def _is_date_time(text: str) -> bool:
    return len(text) > 10 and text[10] in "tT " and _is_date(text[:10]) and bool(_TIME.fullmatch(text[11:]))


def _is_uuid(text: str) -> bool:
    return str(uuid.UUID(text)) == text.lower()


def _is_uri(text: str) -> bool:
    return bool(_URI.fullmatch(text)) and bool(urlsplit(text).scheme)


for _name, _check in (
    ("date", _is_date),
    ("date-time", _is_date_time),
    ("time", _TIME.fullmatch),
    ("duration", _DURATION.fullmatch),
    ("uuid", _is_uuid),
    ("uri", _is_uri),
    ("uri-reference", _URI_REFERENCE.fullmatch),
):
    formats.checks(_name, raises=ValueError)(_texts(_check))


class PureChecker:
    """One compiled schema."""

    def __init__(self, compiled: ProtocolValidator) -> None:
        self._compiled = compiled
        self.is_valid = compiled.is_valid

    def first(self, value: Any) -> Violation:
        """What is found wrong first."""
        return _violation(next(iter(self._compiled.iter_errors(value))))

    def violations(self, value: Any) -> Sequence[Violation]:
        """Everything that is wrong."""
        found: list[Violation] = []
        for error in self._compiled.iter_errors(value):
            found.extend(_split(error))
        return found


def _split(error: exceptions.ValidationError) -> list[Violation]:
    if error.validator == "required" and isinstance(error.instance, dict):
        missing = [name for name in error.validator_value if name not in error.instance]
        named = [name for name in missing if error.message.startswith(repr(name))]
        return [_violation(error, detail=name) for name in named]
    return [_violation(error)]


def _violation(error: exceptions.ValidationError, detail: Any = None) -> Violation:
    keyword = str(error.validator)
    value = error.validator_value if detail is None else detail
    alternatives: list[list[Violation]] = []
    known: list[str] = []
    if error.validator is None:
        keyword = "falseSchema"
    elif keyword in ("anyOf", "oneOf"):
        if not error.context:
            keyword = "oneOfMultiple"
        branches: dict[Any, list[Violation]] = {}
        for inner in error.context or ():
            branches.setdefault(next(iter(inner.schema_path), len(branches)), []).append(_violation(inner))
        alternatives = list(branches.values())
    elif keyword in ("additionalProperties", "unevaluatedProperties"):
        schema = error.schema if isinstance(error.schema, dict) else {}
        known = list(schema.get("properties", {}))
        patterns = list(schema.get("patternProperties", {}))
        value = [name for name in error.instance if name not in known and not any(re.search(p, name) for p in patterns)]
    elif keyword == "required" and isinstance(value, list):
        value = next((name for name in value if name not in error.instance), "")
    elif keyword == "contains" and "Too many" in error.message:
        keyword = "maxContains"
    return Violation(tuple(error.absolute_path), keyword, value, error.instance, alternatives, known)


def compile_checker(schema: Any, dialect: Dialect, *, backtracking: bool = False) -> PureChecker:
    """Compile a schema; raises ``ValueError`` with the reason."""
    cls = _CLASSES[dialect]
    try:
        cls.check_schema(schema, format_checker=formats)
    except exceptions.SchemaError as error:
        raise ValueError(error.message) from None
    return PureChecker(cls(schema, registry=REGISTRY, format_checker=formats))
