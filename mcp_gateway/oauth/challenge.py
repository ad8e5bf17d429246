"""The ``WWW-Authenticate`` value of a refusal: one Bearer challenge that a client can act on.

RFC 6750 section 3 gives its form, RFC 9728 section 5.1 adds where the metadata are, the MCP specification
(authorization, scope challenge handling) that ``scope`` names what the call needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp_gateway.oauth.metadata import protected_resource_metadata_url

INVALID_TOKEN = "invalid_token"  # noqa: S105
INSUFFICIENT_SCOPE = "insufficient_scope"

# RFC 6750 section 3: error and error_description hold %x20-21 / %x23-5B / %x5D-7E, scope those without the space.
_NOT_IN_DESCRIPTION = re.compile(r"[^\x20-\x21\x23-\x5B\x5D-\x7E]+")
_SCOPE = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")


def challenge(slug: str, *, trailing_slash: bool, scopes: Iterable[str], error: str = "", description: str = "") -> str:
    """The header's value; every parameter stands once and is a quoted string.

    Parameters: the endpoint's ``slug``; whether the request came to its spelling with a ``trailing_slash``, so that
    the document whose ``resource`` is the URL the user typed is named; the ``scopes`` a client should ask for, left
    out where there are none; ``error``, an RFC 6750 section 3.1 code, only where a token was sent; and its
    ``description`` for developers, in which characters that the RFC forbids are replaced.
    """
    parameters = {}
    if error:
        parameters["error"] = _text(error)
        if description:
            parameters["error_description"] = _text(description)
    parameters["resource_metadata"] = protected_resource_metadata_url(slug, trailing_slash=trailing_slash)
    wanted = " ".join(dict.fromkeys(scope for scope in scopes if _SCOPE.fullmatch(scope)))
    if wanted:
        parameters["scope"] = wanted
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items())


def _text(value: str) -> str:
    return _NOT_IN_DESCRIPTION.sub(" ", value.replace('"', "'").replace("\\", "/")).strip()
