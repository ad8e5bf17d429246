"""JSON-RPC 2.0 messages as MCP narrows them: what a body is, and the bytes of an answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import orjson

from mcp_gateway import encoding
from mcp_gateway.protocol.errors import ProtocolError, invalid_request

RequestId: TypeAlias = str | int

# An id is echoed in every answer; nobody needs longer ones, and giant ones make a small request a large reply.
MAX_ID_CHARACTERS = 1024
MAX_ID_BITS = 128


class Kind(Enum):
    """What a body is."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESPONSE = "response"


@dataclass(frozen=True, slots=True)
class Message:
    """One message. ``params`` is as it was sent, None where it is absent or null; ``id`` only requests have.

    The ``params`` of a response are the whole of it.
    """

    kind: Kind
    method: str = ""
    id: RequestId | None = None
    params: Any = None

    @property
    def meta(self) -> dict[str, Any] | None:
        """``params._meta``, where it is an object."""
        meta = self.params.get("_meta") if isinstance(self.params, dict) else None
        return meta if isinstance(meta, dict) else None


def readable_id(value: Any) -> RequestId | None:
    """The id of a body that an answer may echo, or None."""
    return readable(value.get("id")) if isinstance(value, dict) else None


def readable(found: Any) -> RequestId | None:
    """An id, or a token that is built like one, if it is a string or an integer of a length that we repeat."""
    if isinstance(found, str):
        return found if len(found) <= MAX_ID_CHARACTERS else None
    if isinstance(found, int) and not isinstance(found, bool):
        return found if found.bit_length() <= MAX_ID_BITS else None
    return None


def read(value: Any) -> Message:
    """The message that a parsed body is.

    Raises `ProtocolError` (-32600) for anything that is no single request, notification or response: arrays too,
    as the batches of 2025-03-26 are not served.
    """
    if isinstance(value, list):
        raise invalid_request("The body is an array; batches are not served. Send one message per request.")
    if not isinstance(value, dict):
        raise invalid_request("The body is no JSON object, so it is no JSON-RPC message.")
    if value.get("jsonrpc") != "2.0":
        raise invalid_request('The member "jsonrpc" must be "2.0".')
    if "method" not in value:
        if "id" in value and ("result" in value or "error" in value):
            return Message(Kind.RESPONSE, params=value)
        raise invalid_request('The message has no "method".')
    method = value["method"]
    if not isinstance(method, str):
        raise invalid_request('The member "method" must be a string.')
    params = value.get("params")
    if "id" not in value:
        return Message(Kind.NOTIFICATION, method, None, params)
    request_id = readable_id(value)
    if request_id is None:
        raise invalid_request(
            f'The member "id" must be a string of at most {MAX_ID_CHARACTERS} characters '
            f"or an integer of at most {MAX_ID_BITS} bits."
        )
    return Message(Kind.REQUEST, method, request_id, params)


def result(request_id: RequestId, encoded: bytes) -> bytes:
    """The response with a result that is JSON already: only the id is put in."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encoded_id(request_id), encoded)


def error(request_id: RequestId | None, fault: ProtocolError) -> bytes:
    """The response with an error; without an ``id`` member where none could be read."""
    head = b'{"jsonrpc":"2.0",' if request_id is None else b'{"jsonrpc":"2.0","id":%b,' % encoded_id(request_id)
    data = b"" if fault.data is None else b',"data":' + orjson.dumps(fault.data)
    return b'%b"error":{"code":%d,"message":%b%b}}' % (head, fault.code, encoding.text(fault.message), data)


def request(request_id: RequestId, method: str, params: dict[str, Any]) -> bytes:
    """A request of the server's, as the legacy era has them."""
    body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    # Not orjson: integers keep every digit.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def notification(method: str, members: bytes) -> bytes:
    """A notification; ``members`` are those of its params, as JSON without the braces."""
    return b'{"jsonrpc":"2.0","method":%b,"params":{%b}}' % (orjson.dumps(method), members)


def encoded_id(request_id: RequestId) -> bytes:
    """An id or a token as JSON; integers have more digits here than orjson takes."""
    return orjson.dumps(request_id) if isinstance(request_id, str) else str(request_id).encode()
