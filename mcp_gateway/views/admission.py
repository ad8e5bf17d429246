"""What an HTTP request must be before anyone looks at its body (Streamable HTTP; design: “Admission”).

Each check raises `ProtocolError` with the HTTP status that says what was wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from django.utils.http import parse_header_parameters

from mcp_gateway import cors, request_body
from mcp_gateway.conf import gateway_settings
from mcp_gateway.protocol.errors import invalid_request

if TYPE_CHECKING:
    from django.http import HttpRequest

METHODS = "POST, OPTIONS"

_JSON_RANGES = ("application/json", "application/*", "*/*")
_STREAM_RANGES = ("text/event-stream", "text/*")


def check_origin(meta: Mapping[str, Any]) -> None:
    """403 for a web page of an origin that is not let in (`mcp_gateway.cors`): the guard against DNS rebinding."""
    if "HTTP_ORIGIN" in meta and not cors.is_allowed(meta):
        raise invalid_request(f"Requests from the origin {meta['HTTP_ORIGIN']!r:.200} are not allowed.", status=403)


def check_method(method: str | None) -> None:
    """405 for everything but POST and OPTIONS: there are no streams to GET and no sessions to DELETE."""
    if method not in ("POST", "OPTIONS"):
        raise invalid_request(
            f"The method {method!r:.40} is not served here; POST one JSON-RPC message.",
            status=405,
            headers={"Allow": METHODS},
        )


def check_content(meta: Mapping[str, Any]) -> None:
    """415 for a body that does not say it is JSON in UTF-8, uncompressed: web pages can send the other types.

    A request without a body needs no type (RFC 9110 section 8.3); it is refused as no message.
    """
    given = meta.get("CONTENT_TYPE") or ""
    if given != "application/json" and (given or _has_body(meta)):
        kind, parameters = parse_header_parameters(given)
        if kind != "application/json":
            raise invalid_request(
                f"The Content-Type must be application/json, not {given!r:.100}.",
                status=415,
                headers={"Accept": "application/json"},
            )
        charset = parameters.get("charset", "utf-8")
        if charset.lower() not in ("utf-8", "utf8"):
            raise invalid_request(f"The charset must be utf-8, not {charset!r:.100}.", status=415)
    coding = meta.get("HTTP_CONTENT_ENCODING") or "identity"
    if coding.strip().lower() != "identity":
        raise invalid_request(
            f"A body with Content-Encoding {coding!r:.100} is not read; send it uncompressed.",
            status=415,
            headers={"Accept-Encoding": "identity"},
        )


def _has_body(meta: Mapping[str, Any]) -> bool:
    # RFC 9112 section 6.3.
    return meta.get("CONTENT_LENGTH") not in (None, "", "0") or bool(meta.get("HTTP_TRANSFER_ENCODING"))


class Accepted(NamedTuple):
    """What a client takes for an answer: at least one of the two. Who takes anything gets JSON."""

    json: bool
    stream: bool


ONLY_JSON = Accepted(json=True, stream=False)


@lru_cache(maxsize=256)
def accepted(accept: str | None) -> Accepted:
    """What the Accept header allows; 406 where it is neither JSON nor an event stream."""
    if not accept or accept == "*/*":
        return ONLY_JSON
    json = stream = False
    for entry in accept.split(","):
        try:
            kind, parameters = parse_header_parameters(entry.strip())
        except (LookupError, ValueError):
            # RFC 8187 lets a parameter name its charset; one that Python does not know raises.
            continue
        if _is_refused(parameters.get("q", "1")):
            continue
        json = json or kind in _JSON_RANGES
        stream = stream or kind in _STREAM_RANGES
    if json or stream:
        return Accepted(json, stream)
    raise invalid_request("Only application/json and text/event-stream are sent; accept one of them.", status=406)


def _is_refused(quality: str) -> bool:
    # RFC 9110 section 12.4.2: a weight of 0 means “not acceptable”.
    try:
        return float(quality) == 0
    except ValueError:
        return False


def check_length(meta: Mapping[str, Any]) -> None:
    """413 for a body that says it is longer than ``MAX_BODY_BYTES``, before anything of it is read."""
    try:
        request_body.check_length(meta, gateway_settings.max_body_bytes)
    except request_body.TooLong:
        raise _too_long() from None


def read_body(request: HttpRequest) -> bytes:
    """The body, at most ``MAX_BODY_BYTES`` long, else 413; also where no length was announced."""
    try:
        return request_body.read(request, gateway_settings.max_body_bytes)
    except request_body.TooLong:
        raise _too_long() from None
    except request_body.Broken:
        raise invalid_request("The body could not be read to its end.") from None


def _too_long() -> Exception:
    return invalid_request(f"The body is longer than {gateway_settings.max_body_bytes} bytes.", status=413)
