"""What goes into JSON, and how: a closed list, in Django REST framework's formats. Nothing is converted quietly.

=============================================  ==================================================================
dict, list, tuple and their subclasses         object, array; any ``Mapping`` is an object
str, int, float, bool and their subclasses     as they are; integers keep every digit; None is null
names of an object's members                   text; a lazy string is its text
``Enum``                                       its value
``datetime``                                   ISO 8601; UTC as ``Z``; a naive one has no offset (and so does not
                                               satisfy ``"format": "date-time"``); one whose offset has seconds,
                                               which RFC 3339 cannot say, is given in UTC
``date``, ``time``                             ISO 8601; a time with a zone is refused
``timedelta``                                  total seconds, as text
``Decimal``                                    its digits, as text
``UUID``                                       canonical text
lazy string                                    its text
``QuerySet`` of ``values()``, ``values_list()``  array
=============================================  ==================================================================

Everything else is refused with its JSON pointer and what to do: NaN and infinities, bytes, sets, generators and
other iterators, coroutines, model instances, other objects, lone surrogates, cycles and values nested too deeply.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from itertools import accumulate
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Model, QuerySet
from django.http import HttpResponseBase
from django.utils.functional import Promise

# What orjson would encode on its own and not as the table above says goes through `_replacement`.
_OPTIONS = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS

# How the depth of a text is found.
_BRACES_AS_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NEITHER_BRACKETS_NOR_QUOTES = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_STRING = re.compile(rb'"[^"]*"')
_STEP = {ord("["): 1, ord("]"): -1}.__getitem__


class EncodingError(ValueError):
    """A value that JSON cannot carry: where it is (``pointer``, RFC 6901) and what to do (``reason``)."""

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(f"{pointer or 'the value itself'}: {reason}")
        self.pointer = pointer
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value as JSON: its UTF-8 ``text``, and the ``value`` in JSON's own types that the text says."""

    text: bytes
    value: Any


def encode(value: Any, *, max_depth: int) -> Encoded:
    """JSON of a value, without white space; non-ASCII characters stay as they are.

    Parameters: the value, and how many arrays and objects may stand inside one another (``MAX_JSON_DEPTH``).
    Raises `EncodingError` for the first thing, in the value's order, that the list above does not hold.
    """
    try:
        text = orjson.dumps(value, default=_replacement, option=_OPTIONS)
    except (TypeError, RecursionError):
        # An integer beyond 64 bits, a name that is not exactly str, or something to refuse.
        return _encode_plain(value, max_depth)
    # orjson writes NaN and infinities as null.
    if b"null" in text and not _finite(value):
        return _encode_plain(value, max_depth)
    if is_deeper(text, max_depth):
        return _encode_plain(value, max_depth)
    return Encoded(text, orjson.loads(text))


def text(string: str) -> bytes:
    """A string as JSON; halves of surrogate pairs become question marks."""
    try:
        return orjson.dumps(string)
    except TypeError:
        return orjson.dumps(string.encode("utf-8", "replace").decode())


def is_deeper(text: bytes, limit: int) -> bool:
    """Whether more arrays and objects of a JSON text stand inside one another than a limit.

    Parameters: ``text``, which has been read as JSON in UTF-8 without a fault, and the depth that is still allowed.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    if b"\\" in text:
        # A quotation mark after an even number of backslashes ends its string, after an odd number it does not.
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # What is left is brackets and the strings that hold some: two quotation marks in a row are a string without, or
    # the end of one and the beginning of the next.
    marks = text.translate(_BRACES_AS_BRACKETS, _NEITHER_BRACKETS_NOR_QUOTES).replace(b'""', b"")
    if b'"' in marks:
        marks = _STRING.sub(b"", marks)
    # Each time the innermost ones go. A few times leave nothing of most texts; what is left then is counted.
    levels = min(limit, 8)
    for _ in range(levels):
        marks = marks.replace(b"[]", b"")
    return levels + max(accumulate(map(_STEP, marks)), default=0) > limit


def _encode_plain(value: Any, max_depth: int) -> Encoded:
    plain = _plain(value, max_depth)
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Encoded(text.encode(), plain)


def _finite(value: Any) -> bool:
    try:
        _STRICT.encode(value)
    except ValueError:
        return False
    return True


def _replacement(value: Any) -> Any:
    """One step towards JSON for what is on the list and is no plain JSON type; ``TypeError`` for the rest."""
    for kinds, convert in _CONVERSIONS:
        if isinstance(value, kinds):
            return convert(value)
    raise TypeError(_refusal(value))


def _datetime(value: datetime.datetime) -> str:
    offset = value.utcoffset()
    if offset is not None and offset.total_seconds() % 60:
        value = value.astimezone(datetime.UTC)
    rendered = value.isoformat()
    return rendered.removesuffix("+00:00") + "Z" if rendered.endswith("+00:00") else rendered


def _time(value: datetime.time) -> str:
    if value.utcoffset() is not None:
        raise TypeError("a time with a time zone has no meaning without its day; give a datetime")
    return value.isoformat()


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise TypeError(f"{value} is no number that JSON has; give null or text")
    return str(value)


def _queryset(value: QuerySet[Any]) -> list[Any]:
    rows = list(value)
    if rows and isinstance(rows[0], Model):
        raise TypeError("a queryset of model instances cannot be sent; add .values() with the fields that may leave")
    return rows


def _exact(value: str) -> str:
    # str() of a SafeString is a SafeString.
    return str.__str__(value)


# The order matters: an Enum that is a str, a datetime that is a date.
_CONVERSIONS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (Enum, lambda value: value.value),
    (Promise, str),
    (str, _exact),
    (int, int),
    (float, float),
    (Mapping, lambda value: dict(value.items())),
    ((list, tuple), list),
    (datetime.datetime, _datetime),
    (datetime.date, datetime.date.isoformat),
    (datetime.time, _time),
    (datetime.timedelta, lambda value: str(value.total_seconds())),
    (Decimal, _decimal),
    (UUID, str),
    (QuerySet, _queryset),
)

# Only asked whether a value holds NaN or an infinity somewhere.
_STRICT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, default=_replacement)


def _refusal(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"{kind} are no text; decode them, or give base64 text"
    if isinstance(value, (set, frozenset)):
        return f"a {kind} has no order; give a list"
    if isinstance(value, Model):
        return f"a model instance ({kind}) cannot be sent; give a dictionary of the fields that may leave"
    if isinstance(value, HttpResponseBase):
        return f"a tool gives data, not a response ({kind})"
    if hasattr(value, "__await__"):
        return f"a {kind} was not awaited"
    if isinstance(value, Iterator):
        return f"a {kind} can be read only once; give a list"
    return f"JSON has no place for {kind}; give text, a number, a list or a dictionary"


def _plain(value: Any, max_depth: int, pointer: str = "", level: int = 0, inside: frozenset[int] = frozenset()) -> Any:
    """The value in JSON's own types; raises `EncodingError` for the first thing that cannot be.

    ``level`` counts the arrays and objects around the value, ``inside`` holds their identities.
    """
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if kind is str:
        return _checked_text(value, pointer)
    if kind is int:
        return _checked_integer(value, pointer)
    if kind is float:
        if not math.isfinite(value):
            raise EncodingError(pointer, f"{value} is no number that JSON has; give null or text")
        return value
    if id(value) in inside:
        raise EncodingError(pointer, "the value holds itself")
    inside |= {id(value)}
    if kind is dict or kind is list:
        if level >= max_depth:
            raise EncodingError(pointer, f"the value is nested deeper than {max_depth} levels")
        if kind is dict:
            return _plain_object(value, max_depth, pointer, level + 1, inside)
        return [_plain(entry, max_depth, f"{pointer}/{index}", level + 1, inside) for index, entry in enumerate(value)]
    try:
        replaced = _replacement(value)
    except TypeError as refused:
        raise EncodingError(pointer, str(refused)) from None
    return _plain(replaced, max_depth, pointer, level, inside)


def _plain_object(
    value: dict[Any, Any], max_depth: int, pointer: str, level: int, inside: frozenset[int]
) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, entry in value.items():
        name = key.value if isinstance(key, Enum) and isinstance(key, str) else key
        if not isinstance(name, (str, Promise)):
            raise EncodingError(pointer, f"the name {key!r:.100} is no text; JSON's names are")
        name = _checked_text(_exact(str(name)), pointer)
        if name in members:
            raise EncodingError(pointer, f"two members have the name {name!r:.100}")
        place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
        members[name] = _plain(entry, max_depth, place, level, inside)
    return members


def _checked_text(value: str, pointer: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise EncodingError(pointer, "the text holds half of a surrogate pair, which is no character") from None
    return value


def _checked_integer(value: int, pointer: str) -> int:
    try:
        str(value)
    except ValueError:
        raise EncodingError(pointer, "the integer has more digits than Python writes; give it as text") from None
    return value
