"""The outcome of an event, in the numbers of HTTP."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """What a listener says of an event. Lower numbers win; UNDETERMINED always yields."""

    UNDETERMINED = 0
    OK = 200
    CREATED = 201
    ACCEPTED = 202
    NO_CONTENT = 204
    PARTIAL_CONTENT = 206
    MULTIPLE_CHOICES = 300
    MOVED_PERMANENTLY = 301
    FOUND = 302
    SEE_OTHER = 303
    NOT_MODIFIED = 304
    BAD_REQUEST = 400
    UNAUTHORIZED = 401
    PAYMENT_REQUIRED = 402
    FORBIDDEN = 403
    NOT_FOUND = 404
    METHOD_NOT_ALLOWED = 405
    NOT_ACCEPTABLE = 406
    TIMEOUT = 408
    CONFLICT = 409
    GONE = 410
    PRECONDITION_FAILED = 412
    PAYLOAD_TOO_LARGE = 413
    UNSUPPORTED_MEDIA_TYPE = 415
    UNPROCESSABLE = 422
    LOCKED = 423
    TOO_MANY_REQUESTS = 429
    ERROR = 500
    NOT_IMPLEMENTED = 501
    BAD_GATEWAY = 502
    UNAVAILABLE = 503
    GATEWAY_TIMEOUT = 504

    @classmethod
    def _missing_(cls, value: object) -> Status:
        known = ", ".join(f"{status.value} {status.name}" for status in cls)
        raise ValueError(f"{value!r:.40} is no status of an event. Known are {known}.")

    @property
    def ok(self) -> bool:
        """Whether the number means success: 200 to 399."""
        return 200 <= self < 400


class Origin:
    """Where an event came from; ``*`` on a listener matches all of them."""

    INTERNAL = "internal"
    REMOTE = "remote"
    CLI = "cli"
    MCP = "mcp"
    CUSTOM = "custom"
    ANY = "*"

    KNOWN = frozenset({INTERNAL, REMOTE, CLI, MCP, CUSTOM, ANY})

    # What an event itself can have: the star is for listeners.
    OF_EVENTS = KNOWN - {ANY}
