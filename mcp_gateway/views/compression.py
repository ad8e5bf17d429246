"""gzip for what is worth it: the plain JSON answers above ``GZIP_BYTES`` of clients that accept it.

Event streams stay as they are: a compressor, here or in a proxy, would hold events back. No answer repeats the token,
but one may hold what a caller chose beside what a listener of the network must not learn from its length (BREACH), so
each has a random number of bytes more, as those of Django's ``GZipMiddleware`` have.
"""

from __future__ import annotations

import secrets
import struct
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.utils.cache import patch_vary_headers

from mcp_gateway.conf import gateway_settings
from mcp_gateway.views.answers import JSON

if TYPE_CHECKING:
    from django.http import HttpResponse

# The higher levels take up to four times the CPU for a tenth fewer bytes.
_LEVEL = 1

# RFC 1952: deflate, with a file name, no time, by the fastest algorithm, under Unix.
_HEADER = b"\x1f\x8b\x08\x08\x00\x00\x00\x00\x04\x03"
_PADDING = 100


def pack(response: HttpResponse, meta: Mapping[str, Any], *, shared: bytes = b"") -> None:
    """Compress a JSON answer in place, if it is long enough and the request's ``Accept-Encoding`` allows it.

    ``shared`` is the result where other answers have it too, as the last member of the body: it is kept compressed.
    """
    least = gateway_settings.gzip_bytes
    body = response.content
    if not least or len(body) < least or response.headers["Content-Type"] != JSON:
        return
    patch_vary_headers(response, ("Accept-Encoding",))
    if not accepts_gzip(meta.get("HTTP_ACCEPT_ENCODING", "")):
        return
    packed = _gzip(body, shared)
    if len(packed) < len(body):
        response.content = packed
        response.headers["Content-Encoding"] = "gzip"


@lru_cache(maxsize=64)
def accepts_gzip(header: str) -> bool:
    """Whether ``Accept-Encoding`` (RFC 9110 section 12.5.3) allows gzip, and likes it no less than no coding at all."""
    weights: dict[str, float] = {}
    for entry in header.lower().split(","):
        coding, *parameters = (part.strip() for part in entry.split(";"))
        weights[coding] = _weight(parameters)
    gzip = weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0)))
    return gzip > 0 and gzip >= weights.get("identity", 0.0)


def _weight(parameters: list[str]) -> float:
    """The ``q`` of a coding, from 0 to 1; 0 where it cannot be read."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0


def _gzip(body: bytes, shared: bytes) -> bytes:
    """One gzip member: what stands around the shared part is stored, the part itself is compressed once."""
    start = len(body) - len(shared) - 1
    if shared and body.startswith(shared, start):
        head, middle, tail = body[:start], _kept(shared), body[-1:]
    else:
        head, middle, tail = b"", _deflated(body), b""
    name = b"a" * secrets.randbelow(_PADDING) + b"\0"
    trailer = struct.pack("<LL", zlib.crc32(body), len(body) & 0xFFFFFFFF)
    return b"".join((_HEADER, name, _stored(head), middle, _stored(tail, last=True), trailer))


def _deflated(data: bytes) -> bytes:
    """Blocks that refer to nothing before them and end at a whole byte, so others may stand around them."""
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_FULL_FLUSH)


# A list's page is the same object for as long as a worker's snapshot lives, so it is hashed once.
_kept = lru_cache(maxsize=8)(_deflated)


def _stored(data: bytes, *, last: bool = False) -> bytes:
    """A block that is not compressed (RFC 1951 section 3.2.4), of less than 64 KiB."""
    return struct.pack("<BHH", last, len(data), len(data) ^ 0xFFFF) + data
