"""A request body as JSON: UTF-8, no duplicate names, not too deep, every digit of every integer kept."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import orjson

from mcp_gateway.encoding import is_deeper
from mcp_gateway.protocol.errors import ProtocolError, invalid_request, parse_error

_BOM = b"\xef\xbb\xbf"

# Digits become 0, so that one search finds any of them.
_DIGITS = bytes.maketrans(b"0123456789", b"0000000000")

# orjson reads integers beyond 64 bits as floats. Fractions may have as many digits.
_LONG_NUMBER = b"0" * 19
_FRACTION = b".00000"

# Squares of the digits of long integers, together: to take each of them in and to write it grows with the square of its
# length. So much is two hundred of the longest, and more of up to three hundred digits than any body has.
_MOST_DIGITS_SQUARED = 3_200_000_000

# A colon written as an escape: where there is one, counting colons proves nothing.
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")


def parse(body: bytes, *, max_depth: int, halves: bool = False) -> Any:
    """The JSON value of a body.

    A byte order mark is ignored (RFC 8259 section 8.1). Raises `ProtocolError`: -32700 for what is no JSON in
    UTF-8 (halves of surrogate pairs, NaN and numbers that no float holds among it), -32600 for JSON with two
    members of one name or nested deeper than ``max_depth``, which readers understand differently. With ``halves``
    halves of surrogate pairs are kept, for whoever judges them piece by piece.
    """
    body = body.removeprefix(_BOM)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if "depth limit" in str(error):
            raise _too_deep(max_depth) from None
        if "infinity" in str(error):
            # A float beyond all floats, or an integer with more than 308 digits.
            return _parse_slowly(body, max_depth)
        if not body.strip():
            raise parse_error("The body is empty; send one JSON-RPC message.") from None
        try:
            body.decode()
        except UnicodeDecodeError as encoded:
            # orjson says no more than that some surrogate is not allowed, at character 0.
            raise parse_error(f"The body is not UTF-8, from byte {encoded.start} on; send JSON in UTF-8.") from None
        if halves and "surrogate" in error.msg:
            return _parse_slowly(body, max_depth)
        raise parse_error(f"The body is no JSON: {error.msg}, at character {error.pos}.") from None
    try:
        written = orjson.dumps(value)
    except TypeError:
        # orjson writes 254 levels; a site may allow more.
        return _parse_slowly(body, max_depth)
    if is_deeper(body, max_depth):
        raise _too_deep(max_depth)
    return value if _is_certain(body, written) else _parse_slowly(body, max_depth)


def _is_certain(body: bytes, written: bytes) -> bool:
    """Whether a value read by orjson, which keeps the last of equal names and 64 bits, is all that the body says.

    Parameters: the body, and the value as orjson writes it. Both have the colons in texts and one for every member, so
    the body has more of them only where a name stands twice. That holds unless a colon in the body is an escape.
    """
    seen = body.translate(_DIGITS)
    if _LONG_NUMBER in seen and _LONG_NUMBER in seen.replace(_FRACTION, b"."):
        return False
    if b"\\" in body and _ESCAPED_COLON.search(body):
        return False
    return body.count(b":") == written.count(b":")


def _parse_slowly(body: bytes, max_depth: int) -> Any:
    # The standard library's parser knows duplicates and big integers; it is several times slower.
    try:
        value = json.loads(
            body.decode(),
            object_pairs_hook=_members,
            parse_int=_Integers(),
            parse_float=_finite_float,
            parse_constant=_finite_float,
        )
    except ProtocolError:
        raise
    except RecursionError:
        raise _too_deep(max_depth) from None
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError):
            raise parse_error(f"The body is no JSON: {error.msg}, at character {error.pos}.") from None
        raise parse_error("The body holds an integer with more digits than this server reads.") from None
    if is_deeper(body, max_depth):
        raise _too_deep(max_depth)
    return value


class _Integers:
    """Reads the integers of one body. Raises `ProtocolError` where they are too many for their length."""

    def __init__(self) -> None:
        self._left = _MOST_DIGITS_SQUARED

    def __call__(self, text: str) -> int:
        if len(text) > len(_LONG_NUMBER):
            self._left -= len(text) ** 2
            if self._left < 0:
                raise parse_error("The body holds more integers of such a length than this server reads.")
        return int(text)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name in times if times[name] > 1)
        raise invalid_request(f"An object in the body has two members named {twice!r:.100}.")
    return members


def _finite_float(text: str) -> float:
    value = float(text)
    if value - value != 0:
        raise parse_error(f"The body holds {text:.40}, which is no number this server can keep.")
    return value


def _too_deep(max_depth: int) -> ProtocolError:
    return invalid_request(f"The body is nested deeper than {max_depth} levels.")
