"""What a running call says to its client: ``notifications/progress`` and ``notifications/message``."""

from __future__ import annotations

import logging
import time
from typing import Any

import orjson

from mcp_gateway import encoding
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.channel import LEVELS, Channel
from mcp_gateway.protocol import jsonrpc
from mcp_gateway.protocol.errors import invalid_params
from mcp_gateway.protocol.jsonrpc import RequestId
from mcp_gateway.streams import Outlet

LOG_LEVEL = "io.modelcontextprotocol/logLevel"

# Logging 2025-11-25: a client that sets no level gets what the server decides.
UNASKED = "info"

# “Progress” and “Logging”: both parties should limit the rate. So many at once, and so many a second for long.
BURST = 100
RATE = 20

_log = logging.getLogger("mcp_gateway")


def progress_token(meta: dict[str, Any]) -> RequestId | None:
    """The token that progress must name, None where the client asks for none. Raises `ProtocolError` -32602."""
    given = meta.get("progressToken")
    if given is None:
        return None
    token = jsonrpc.readable(given)
    if token is None:
        raise invalid_params("params._meta.progressToken must be a string or an integer.")
    return token


def log_level(meta: dict[str, Any], *, modern: bool) -> str | None:
    """The least severe level that the client wants, None for no messages at all. Raises `ProtocolError` -32602.

    In the modern era a request asks for messages or gets none. In the legacy one a client may set a level, but for
    a connection, and there is none here that it could belong to.
    """
    if not modern:
        return UNASKED
    return known_level(meta[LOG_LEVEL], f'params._meta["{LOG_LEVEL}"]') if LOG_LEVEL in meta else None


def known_level(level: Any, where: str) -> str:
    """A level of the protocol. Raises `ProtocolError` -32602 that names where it stands (“Logging”, Error Handling)."""
    if level not in LEVELS:
        raise invalid_params(f"{where} is {level!r:.100}; the levels are {', '.join(LEVELS)}.")
    return str(level)


class CallChannel(Channel):
    """The channel of a call whose answer can be a stream.

    ``token`` and ``level`` are what the client asked for. What nobody asked for is not sent, and neither is what
    comes faster than anybody could use it.
    """

    can_ask = True

    def __init__(self, outlet: Outlet, *, token: RequestId | None, level: str | None) -> None:
        super().__init__()
        self.outlet = outlet
        self._token = token
        self._level = level
        self._credit = float(BURST)
        self._counted = 0.0
        # Requests to the client that wait for an answer.
        self._open: set[str] = set()

    @property
    def cancelled(self) -> bool:
        return self.outlet.cancelled

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.outlet.put(jsonrpc.notification(method, orjson.dumps(params)[1:-1]))

    def request(self, id: str, method: str, params: dict[str, Any]) -> bool:
        self._open.add(id)
        return self.outlet.put(jsonrpc.request(id, method, params))

    def settle(self, id: str) -> None:
        self._open.discard(id)

    def cancel(self) -> None:
        """Call the work off at the client's wish, and the questions that it has not answered with it."""
        for id in list(self._open):
            self.notify("notifications/cancelled", {"requestId": id, "reason": "The request was cancelled."})
        self.outlet.cancel()

    def on_progress(self, done: float, total: float | None, message: str | None) -> None:
        if self._token is None or not self._may_send():
            return
        members = [b'"progressToken":%b,"progress":%b' % (jsonrpc.encoded_id(self._token), _number(done))]
        if total is not None:
            members.append(b'"total":%b' % _number(total))
        if message is not None:
            members.append(b'"message":%b' % encoding.text(message))
        self.outlet.put(jsonrpc.notification("notifications/progress", b",".join(members)))

    def log(self, level: str, data: Any, logger: str | None) -> None:
        if self._level is None or LEVELS.index(level) < LEVELS.index(self._level) or not self._may_send():
            return
        try:
            encoded = encoding.encode(data, max_depth=gateway_settings.max_json_depth).text
        except encoding.EncodingError as error:
            _log.warning("A log message for a client cannot be sent as JSON, %s", error)
            return
        named = b"" if logger is None else b'"logger":%b,' % encoding.text(str(logger))
        self.outlet.put(
            jsonrpc.notification(
                "notifications/message", b'"level":"%b",%b"data":%b' % (level.encode(), named, encoded)
            )
        )

    def _may_send(self) -> bool:
        now = time.monotonic()
        self._credit = min(BURST, self._credit + (now - self._counted) * RATE)
        self._counted = now
        if self._credit < 1:
            return False
        self._credit -= 1
        return True


def _number(value: float) -> bytes:
    return orjson.dumps(value) if isinstance(value, float) else b"%d" % value
