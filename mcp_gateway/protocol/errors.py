"""JSON-RPC errors, their HTTP statuses, and the refusals of rights."""

from __future__ import annotations

from typing import Any

from mcp_gateway.events import capabilities
from mcp_gateway.protocol.versions import SUPPORTED

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_REQUIRED_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022


class ProtocolError(Exception):
    """A request that is answered with a JSON-RPC error.

    ``status`` is the HTTP status of the answer in the modern era, ``legacy_status`` that in the legacy one, where an
    error that answers a request rides on 200 (a 404 would tell a client of that era that its session is gone).
    ``headers`` go into the HTTP answer. ``data`` is the error's ``data`` member, left out where None.
    """

    def __init__(
        self,
        code: int,
        message: str,
        *,
        data: Any = None,
        status: int = 400,
        legacy_status: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.status = status
        self.legacy_status = status if legacy_status is None else legacy_status
        self.headers = headers or {}

    def status_in(self, *, modern: bool) -> int:
        """The HTTP status of the answer in an era."""
        return self.status if modern else self.legacy_status


class Refused(ProtocolError):
    """The caller's rights do not suffice: HTTP 401 or 403 in both eras, the status being the error's code.

    ``scopes`` are those that would help (RFC 6750 section 3), ``challenge`` whether asking for them can help at all,
    ``error`` the error code (section 3.1), empty where no token was sent or no scope would help.
    """

    def __init__(
        self, status: int, message: str, scopes: tuple[str, ...] = (), *, challenge: bool = True, error: str = ""
    ) -> None:
        super().__init__(status, message, status=status)
        self.scopes = scopes
        self.challenge = challenge
        self.error = error


def parse_error(message: str) -> ProtocolError:
    """The body is no JSON (JSON-RPC 2.0 section 5.1)."""
    return ProtocolError(PARSE_ERROR, message)


def invalid_request(message: str, *, status: int = 400, headers: dict[str, str] | None = None) -> ProtocolError:
    """The body is JSON, but no message of this protocol, or HTTP around it is not as the transport wants it."""
    return ProtocolError(INVALID_REQUEST, message, status=status, headers=headers)


def invalid_params(message: str) -> ProtocolError:
    """A request whose parameters are not what its method takes."""
    return ProtocolError(INVALID_PARAMS, message, legacy_status=200)


def resource_not_found(uri: str, *, modern: bool, message: str = "") -> ProtocolError:
    """A resource that does not exist, or not for this caller (“Resources”, “Error Handling”)."""
    return ProtocolError(
        INVALID_PARAMS if modern else RESOURCE_NOT_FOUND,
        message or "Resource not found.",
        data={"uri": uri},
        legacy_status=200,
    )


def internal_error(message: str) -> ProtocolError:
    """The server, or a listener of it, failed; the message says nothing of how."""
    return ProtocolError(INTERNAL_ERROR, message, status=500, legacy_status=200)


def method_not_found(method: str, version: str) -> ProtocolError:
    """A method that this version of the protocol, as served here, does not have."""
    served = ", ".join(SUPPORTED)
    hint = f" This server speaks {served}." if method == "initialize" else ""
    return ProtocolError(
        METHOD_NOT_FOUND,
        f"The method {method!r:.200} is not served in version {version}.{hint}",
        status=404,
        legacy_status=200,
    )


def header_mismatch(message: str) -> ProtocolError:
    """Headers and body disagree (Streamable HTTP 2026-07-28, “Server Validation”)."""
    return ProtocolError(HEADER_MISMATCH, message)


def missing_capability(names: tuple[str, ...]) -> ProtocolError:
    """The client did not declare what the request needs (2026-07-28, “Client Capabilities”)."""
    return ProtocolError(
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        f"The client must be able to do, and declare, what this needs: {', '.join(names)}.",
        data={"requiredCapabilities": capabilities.required(names)},
    )


def unsupported_version(requested: str) -> ProtocolError:
    """Versioning 2026-07-28, “Protocol Version Negotiation”; 400 in the legacy era too."""
    return ProtocolError(
        UNSUPPORTED_PROTOCOL_VERSION,
        f"Protocol version {requested!r:.100} is not served; use one of {', '.join(SUPPORTED)}.",
        data={"supported": list(SUPPORTED), "requested": requested[:100]},
    )
