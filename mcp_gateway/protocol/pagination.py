"""Cursors: the signed sort key of the last entry, with the endpoint and list it belongs to."""

from __future__ import annotations

from typing import Any

from django.core.signing import BadSignature, Signer

from mcp_gateway.protocol.errors import invalid_params

_SALT = "mcp_gateway.cursor"


def cursor(method: str, slug: str, last: str) -> str:
    """The cursor of the page after an entry; the same for the same place, and good across imports."""
    return Signer(salt=_SALT).sign_object([method, slug, last])


def after(params: dict[str, Any], method: str, slug: str) -> str | None:
    """The sort key after which the page asked for begins, None for the first page.

    Raises `ProtocolError` -32602 for a cursor that this server did not give for this list of this endpoint.
    """
    given = params.get("cursor")
    if given is None:
        return None
    if isinstance(given, str):
        try:
            place = Signer(salt=_SALT).unsign_object(given)
        except (BadSignature, ValueError):
            place = None
        if isinstance(place, list) and len(place) == 3 and place[:2] == [method, slug] and isinstance(place[2], str):
            return place[2]
    raise invalid_params("The cursor is not one that this list gave; begin without a cursor.")
