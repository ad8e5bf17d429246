"""What is wrong with a value, in words that its sender can act on.

A message names what is needed, never what was sent: the pointer says where, values may be large or secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MAX_SHOWN = 200
MAX_NAMES = 20

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong. ``pointer`` is the JSON pointer (RFC 6901) of the place in the value."""

    pointer: str
    message: str


def listing(head: str, faults: Iterable[Fault], *, whole: str = "the root") -> str:
    """All faults as text, one on a line with its pointer, under a sentence that says what they are faults of.

    ``whole`` names the value itself, for faults of its root, whose pointer is empty.
    """
    return "\n".join([head, *(f"- {fault.pointer or whole}: {fault.message}" for fault in faults)])


@dataclass(frozen=True, slots=True)
class Violation:
    """A keyword that a value does not satisfy, as either library reports it.

    ``path`` leads to the value, ``detail`` is what the keyword asks for, ``instance`` the value itself,
    ``alternatives`` what each branch of ``anyOf`` and ``oneOf`` found wrong.
    """

    path: tuple[str | int, ...]
    keyword: str
    detail: Any
    instance: Any
    alternatives: Sequence[Sequence[Violation]] = ()
    known: Sequence[str] = ()


def order(path: Iterable[str | int]) -> tuple[tuple[int, int, str], ...]:
    """Sorts paths as a reader goes through the value: indexes by number, names by letter."""
    return tuple((0, token, "") if isinstance(token, int) else (1, 0, token) for token in path)


def shown(value: Any) -> str:
    """JSON of a value that a schema holds, cut to a readable length."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def names(values: Iterable[str]) -> str:
    """Names in quotes, sorted, at most twenty of them."""
    ordered = sorted(values)
    text = ", ".join(shown(name) for name in ordered[:MAX_NAMES])
    return text if len(ordered) <= MAX_NAMES else f"{text} and {len(ordered) - MAX_NAMES} more"


def type_name(value: Any) -> str:
    """JSON's name of a value's type."""
    if value is None:
        return "null"
    return next((name for kind, name in _TYPES.items() if isinstance(value, kind)), "something else")


def _plural(count: Any, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def describe(violation: Violation) -> str:
    """The message of a violation."""
    detail = violation.detail
    match violation.keyword:
        case "type":
            wanted = [detail] if isinstance(detail, str) else sorted(detail)
            return f"must be {' or '.join(wanted)}, not {type_name(violation.instance)}"
        case "required":
            return f"lacks the required property {shown(detail)}"
        case "dependentRequired":
            return f"lacks the property {shown(detail)}, which another of its properties requires"
        case "additionalProperties" | "unevaluatedProperties":
            text = f"has properties that are not allowed: {names(detail)}"
            return f"{text}; known are {names(violation.known)}" if violation.known else text
        case "enum":
            return f"must be one of {', '.join(shown(option) for option in detail[:MAX_NAMES])}" + (
                f" and {len(detail) - MAX_NAMES} more" if len(detail) > MAX_NAMES else ""
            )
        case "const":
            return f"must be exactly {shown(detail)}"
        case "format":
            return f"must be a valid “{detail}”"
        case "pattern":
            return f"must match the pattern {shown(detail)}"
        case "minLength":
            return f"must have at least {_plural(detail, 'character')}"
        case "maxLength":
            return f"must have at most {_plural(detail, 'character')}"
        case "minItems":
            return f"must have at least {_plural(detail, 'item')}"
        case "maxItems" | "additionalItems" | "unevaluatedItems" if isinstance(detail, int):
            return f"must have at most {_plural(detail, 'item')}"
        case "additionalItems" | "unevaluatedItems":
            return "has items that are not allowed"
        case "minProperties":
            return f"must have at least {_plural(detail, 'property').replace('propertys', 'properties')}"
        case "maxProperties":
            return f"must have at most {_plural(detail, 'property').replace('propertys', 'properties')}"
        case "minimum":
            return f"must be {shown(detail)} or more"
        case "maximum":
            return f"must be {shown(detail)} or less"
        case "exclusiveMinimum":
            return f"must be more than {shown(detail)}"
        case "exclusiveMaximum":
            return f"must be less than {shown(detail)}"
        case "multipleOf":
            return f"must be a multiple of {shown(detail)}"
        case "uniqueItems":
            return "must not hold the same item twice"
        case "contains":
            return "must contain an item that fits the schema's “contains”"
        case "minContains":
            return "contains too few items that fit the schema's “contains”"
        case "maxContains":
            return "contains too many items that fit the schema's “contains”"
        case "propertyNames":
            inner = f": a name {describe(detail)}" if isinstance(detail, Violation) else ""
            return f"has a property whose name is not allowed{inner}"
        case "not":
            return f"must not fit {shown(detail)}"
        case "falseSchema":
            return "is not allowed here"
        case "anyOf" | "oneOf":
            return _alternatives(violation)
        case "oneOfMultiple":
            return "fits more than one of the schema's alternatives; exactly one is allowed"
        case "backtrackLimitExceeded" | "regexEngineFailure":
            return "is too hard to check against the schema's pattern; a shorter text may pass"
        case _:
            return f"does not satisfy the schema's “{violation.keyword}”"


def _alternatives(violation: Violation) -> str:
    texts = []
    for number, branch in enumerate(violation.alternatives[:5], start=1):
        reasons = []
        for inner in branch[:3]:
            below = inner.path[len(violation.path) :]
            at = "".join(f"/{token}" for token in below)
            reasons.append(f"{at} {describe(inner)}".strip())
        if reasons:
            texts.append(f"({number}) {', '.join(reasons)}")
    text = "fits none of the schema's alternatives"
    if texts:
        text += ": " + "; ".join(texts)
    return text if len(text) <= 5 * MAX_SHOWN else text[: 5 * MAX_SHOWN - 1] + "…"
