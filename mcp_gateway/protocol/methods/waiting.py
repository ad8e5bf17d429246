"""Waiting for people: for answers to questions on a legacy call's stream, and for pages of this site.

Whoever waits holds a thread and a database connection, but no transaction. So the time is bounded
(``ZOLINGA["ANSWER_SECONDS"]``), and so is the number of calls that wait in one worker
(``ZOLINGA["MAX_WAITING_CALLS"]``).
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp_gateway import mailbox
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.asking import CannotAsk
from mcp_gateway.events.channel import Channel
from mcp_gateway.protocol import request_state
from mcp_gateway.protocol.methods.call import Call
from mcp_gateway.protocol.sessions import Session
from mcp_gateway.rights import Principal

if TYPE_CHECKING:
    from mcp_gateway.protocol.methods.asking import Rounds

_BUSY = "The client cannot be asked now: too many calls wait for answers already. Try again soon."
_GONE = "The client cannot be asked: its stream has ended."

# Seconds between two looks: at first often, because programs answer at once, then less, because people do not.
_FIRST_LOOK, _LAST_LOOK = 0.02, 0.5

# Seconds that a client may hear nothing at all; proxies and clients give up after 30 or 60.
_SILENCE = 20

# Characters of an error's message that are told.
_MAX_MESSAGE = 500

# What the ids of questions look like; no other can be one of ours.
_ID = re.compile(r"[0-9a-f]{32}")

_lock = threading.Lock()
_waiting = 0


@contextmanager
def _seat() -> Iterator[bool]:
    """A place among those who may wait; False where all are taken."""
    global _waiting
    with _lock:
        taken = _waiting < gateway_settings.max_waiting_calls
        _waiting += taken
    try:
        yield taken
    finally:
        with _lock:
            _waiting -= taken


def until(done: Callable[[], bool], channel: Channel) -> bool:
    """Ask ``done`` again and again; False where it was not in time, the call is off, or too many wait already.

    A client that gets nothing until all is done, as JSON is, is not kept waiting for long.
    """
    seconds = gateway_settings.answer_seconds
    with _seat() as taken:
        return _look(done, channel, seconds if channel.can_ask else min(seconds, _SILENCE)) if taken else done()


def _look(done: Callable[[], bool], channel: Channel, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    pause = _FIRST_LOOK
    while not done():
        if channel.cancelled or time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, _LAST_LOOK)
    return True


def answers(call: Call, known: Rounds, requests: Mapping[str, Any], channel: Channel) -> None:
    """Ask the requests on the call's stream and take the answers. Raises `CannotAsk` where not all came."""
    if call.session is None:
        raise CannotAsk(_GONE)
    owner = owner_of(call.principal, call.session)
    ids = {key: secrets.token_hex(16) for key in requests}
    found: dict[str, str] = {}

    def all_there() -> bool:
        arrived = mailbox.collect([name for name in ids.values() if name not in found])
        for name in arrived:
            channel.settle(name)
        found.update(arrived)
        return len(found) == len(ids)

    seconds = gateway_settings.answer_seconds
    with _seat() as taken:
        if not taken:
            raise CannotAsk(_BUSY)
        try:
            for key, request in requests.items():
                mailbox.expect(ids[key], owner, seconds)
                if not channel.request(ids[key], request["method"], request["params"]):
                    raise CannotAsk(_GONE)
            if not _look(all_there, channel, seconds):
                for name in ids.values():
                    if name not in found:
                        channel.notify("notifications/cancelled", {"requestId": name, "reason": "It took too long."})
                raise CannotAsk(f"The client did not answer within {seconds} seconds.")
        finally:
            mailbox.discard(list(ids.values()))
            for name in ids.values():
                channel.settle(name)
    for key, name in ids.items():
        _take(known, key, json.loads(found[name]))


def _take(known: Rounds, key: str, response: Mapping[str, Any]) -> None:
    if "error" in response:
        error = response["error"]
        message = error.get("message") if isinstance(error, dict) else None
        known.errors[key] = str(message or "it gave an error")[:_MAX_MESSAGE]
        return
    result = response["result"]
    # What is no result is asked again like one that does not fit.
    known.take(key, result if isinstance(result, dict) else {})


def receive(response: Mapping[str, Any], principal: Principal, session: Session) -> None:
    """Hand a client's response to the call that waits for it, wherever that is.

    It counts only from the caller and in the session that were asked; any other is dropped.
    """
    name = response.get("id")
    if isinstance(name, str) and _ID.fullmatch(name):
        text = json.dumps({member: response[member] for member in ("result", "error") if member in response})
        mailbox.deliver(name, owner_of(principal, session), text)


def owner_of(principal: Principal, session: Session) -> str:
    """Whose answer counts: the caller and the session that were asked."""
    return request_state.digest([*request_state.owner(principal, session.slug), session.id])
