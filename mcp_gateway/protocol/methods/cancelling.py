"""``notifications/cancelled`` (2025-11-25, “Cancellation”): a legacy client calls off what it has asked for.

A request belongs to its caller and its session; nobody else can call it off, and without a session nobody. One that
runs in this process is cancelled at once. For one that runs in another a note is left (`mcp_gateway.mailbox`): a
process in which calls of sessions have become streams looks for notes twice a second, on a thread and a database
connection of its own. So a call that is quick costs nothing, and one in a transaction is reached as well.

In the modern era closing the stream cancels; tasks have a request of their own.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from typing import Any, TypeAlias

from django.db import DatabaseError, connections

from mcp_gateway import mailbox
from mcp_gateway.events.channel import Channel
from mcp_gateway.protocol import jsonrpc, request_state
from mcp_gateway.protocol.jsonrpc import RequestId
from mcp_gateway.protocol.methods.call import Work
from mcp_gateway.protocol.sessions import Session
from mcp_gateway.protocol.talking import CallChannel
from mcp_gateway.rights import Principal

METHOD = "notifications/cancelled"

# Seconds between two looks for notes.
INTERVAL = 0.5

# Seconds that a note is kept. A call that is quiet becomes a stream, and is looked for, long before.
_KEPT = 120

# Who asked, in which session, and the request's id.
_Key: TypeAlias = tuple[str, tuple[str, ...], RequestId]

_lock = threading.Lock()
_running: dict[_Key, CallChannel] = {}
_watching = False

logger = logging.getLogger("mcp_gateway")


def cancellable(
    work: Work, channel: CallChannel, request_id: RequestId, principal: Principal, session: Session
) -> Work:
    """The work of a request, which can be called off while it is done."""

    def run(_channel: Channel) -> bytes:
        key = _key(principal, session, request_id)
        with _lock:
            _running[key] = channel
        try:
            return work(channel)
        finally:
            with _lock:
                # Of a client that uses an id twice at a time only the later request is here.
                if _running.get(key) is channel:
                    del _running[key]

    return run


def receive(params: Mapping[str, Any], principal: Principal, session: Session) -> None:
    """Call off what ``params.requestId`` names; what does not run, or is somebody else's, is ignored.

    For a request that may run in another process a note is left, which can take as long as the database lets it.
    """
    request_id = jsonrpc.readable(params.get("requestId"))
    if request_id is None:
        return
    logger.debug("A client calls off request %r: %.200r", request_id, params.get("reason"))
    key = _key(principal, session, request_id)
    with _lock:
        channel = _running.get(key)
    if channel is not None:
        channel.cancel()
        return
    try:
        mailbox.put(request_state.digest(key), _KEPT)
    except DatabaseError:
        # SQLite: another call has been writing all the while. A cancellation may be ignored.
        logger.info("A request was not called off, because the database does not answer", exc_info=True)


def watch() -> None:
    """Look for notes from now on, until no call of a session runs any more."""
    global _watching
    with _lock:
        if not _running or _watching:
            return
        _watching = True
    threading.Thread(target=_watch, name="mcp-cancelling", daemon=True).start()


def _key(principal: Principal, session: Session, request_id: RequestId) -> _Key:
    return session.id, tuple(request_state.owner(principal, session.slug)), request_id


def _watch() -> None:
    try:
        while _look():
            time.sleep(INTERVAL)
    finally:
        connections.close_all()


def _look() -> bool:
    """Look once; False where nothing runs any more that could be called off."""
    global _watching
    with _lock:
        _watching = bool(_running)
        named = {request_state.digest(key): channel for key, channel in _running.items()}
    if not named:
        return False
    try:
        found = list(mailbox.collect(list(named)))
        for name in found:
            named[name].cancel()
        if found:
            mailbox.discard(found)
    except DatabaseError:
        logger.warning("Nothing is called off while the database does not answer", exc_info=True)
        connections.close_all()
    except Exception:
        logger.exception("Looking for what is called off failed")
    return True


def _forget() -> None:
    """A child process has none of its parent's threads and calls."""
    global _watching
    _running.clear()
    _watching = False


os.register_at_fork(after_in_child=_forget)
