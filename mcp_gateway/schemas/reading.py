"""Strict JSON: what a file may hold, and where it holds something else.

``json.loads`` takes NaN, 1e400, duplicate names and half surrogates without a word. Here each is a fault with its
pointer, so that one bad entry of a manifest does not spoil the others; only what cannot be understood as a whole
is `Unreadable`.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, NoReturn

from mcp_gateway.schemas.dialects import pointer
from mcp_gateway.schemas.faults import Fault, shown

MAX_DIGITS = 4300


class Unreadable(Exception):
    """The bytes are no JSON document. The text says why and where."""


class Reading(NamedTuple):
    """A document and its faults, each with a pointer; a faulty value reads as None."""

    value: Any
    faults: list[Fault]


class _Bad:
    """Stands for a number that JSON does not have."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class _Ambiguous(dict[str, Any]):
    """An object that held a name twice."""

    repeated: list[str]


def read_json(data: bytes, *, max_bytes: int, max_depth: int) -> Reading:
    """Read one JSON document: UTF-8, one leading byte order mark allowed (RFC 8259 section 8.1).

    Faults: duplicate names, NaN and infinities, numbers out of range, half surrogates, nesting below
    ``max_depth``. Raises `Unreadable` for more than ``max_bytes``, other encodings and broken syntax.
    """
    if len(data) > max_bytes:
        raise Unreadable(f"it has {len(data)} bytes, and at most {max_bytes} are read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 (byte {error.start}). Save it as UTF-8") from None
    if not text.strip():
        raise Unreadable("it is empty")
    try:
        value = json.loads(
            text,
            parse_constant=lambda name: _Bad(f"{name} is no JSON number"),
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"it is no JSON: {error.msg.removesuffix(' at')}, line {error.lineno} column {error.colno}"
        ) from None
    except RecursionError:
        raise Unreadable(f"it nests too deep; at most {max_depth} levels are read") from None
    faults: list[Fault] = []
    return Reading(_clean(value, (), faults, max_depth), faults)


def _float(text: str) -> Any:
    number = float(text)
    return number if math.isfinite(number) else _Bad(f"the number {text[:40]} is out of range")


def _int(text: str) -> Any:
    if len(text) > MAX_DIGITS:
        return _Bad(f"the number has more than {MAX_DIGITS} digits")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    seen: set[str] = set()
    ambiguous = _Ambiguous(made)
    ambiguous.repeated = [name for name, _value in pairs if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    return ambiguous


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _clean(value: Any, path: tuple[str | int, ...], faults: list[Fault], levels: int) -> Any:
    if isinstance(value, _Bad):
        faults.append(Fault(pointer(*path), value.reason))
        return None
    if isinstance(value, str):
        if not _is_text(value):
            faults.append(Fault(pointer(*path), "the text holds half of a surrogate pair"))
            return None
        return value
    if not isinstance(value, (dict, list)):
        return value
    if levels == 0:
        faults.append(Fault(pointer(*path), "it nests too deep from here on"))
        return None
    if isinstance(value, list):
        return [_clean(entry, (*path, index), faults, levels - 1) for index, entry in enumerate(value)]
    if isinstance(value, _Ambiguous):
        faults.extend(
            Fault(pointer(*path), f"the name {shown(name)} stands in the object more than once")
            for name in dict.fromkeys(value.repeated)
        )
    made = {}
    for name, entry in value.items():
        if not _is_text(name):
            faults.append(Fault(pointer(*path), "a name holds half of a surrogate pair"))
            continue
        made[name] = _clean(entry, (*path, name), faults, levels - 1)
    return made


def to_text(value: Any) -> str:
    """Compact JSON text of a document, in its own order.

    Raises ``ValueError`` for what `read_json` would not have given.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_refuse)


def _refuse(value: Any) -> NoReturn:
    raise ValueError(f"{type(value).__name__} is not JSON")
