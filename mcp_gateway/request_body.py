"""Reading a request's body within a limit, whatever Django's own limits are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import UnreadablePostError

if TYPE_CHECKING:
    from django.http import HttpRequest


class TooLong(Exception):
    """The body has more bytes than are read."""


class Broken(Exception):
    """The body could not be read to its end."""


def check_length(meta: Any, limit: int) -> None:
    """Raise `TooLong` for a body that says so itself, before anything of it is read."""
    length = str(meta.get("CONTENT_LENGTH") or "")
    # Digits beyond this many are too long anyway, and int() of thousands is slow or refused.
    if length.isdecimal() and (len(length) > 18 or int(length) > limit):
        raise TooLong


def read(request: HttpRequest, limit: int) -> bytes:
    """The body, at most ``limit`` bytes long, also where no length was announced.

    Never ``request.body``, which answers HTML above a limit of Django's own. Raises `TooLong` and `Broken`.
    """
    stream: Any = request
    meta = request.META
    if not meta.get("CONTENT_LENGTH") and meta.get("wsgi.input_terminated"):
        # Django takes a chunked body, which has no length, for an empty one.
        stream = meta["wsgi.input"]
    try:
        body: bytes = stream.read(limit + 1)
    except (UnreadablePostError, OSError):
        raise Broken from None
    if len(body) > limit:
        raise TooLong
    length = str(meta.get("CONTENT_LENGTH") or "")
    if length.isdecimal() and len(body) < int(length):
        # RFC 9112 section 8: an upload that broke off is no message, even if what has come is one.
        raise Broken
    return body
