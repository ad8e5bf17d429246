"""A step about the workers: what one of them is told, another one has to find."""

from __future__ import annotations

import secrets

from mcp_gateway import mailbox
from mcp_gateway.doctor.report import Level
from mcp_gateway.doctor.visit import Visit
from mcp_gateway.doctor.web import Reply
from mcp_gateway.oauth.authentication import InvalidToken, check_request
from mcp_gateway.protocol import sessions
from mcp_gateway.protocol.methods.waiting import owner_of
from mcp_gateway.protocol.versions import LEGACY
from mcp_gateway.rights import ANONYMOUS, Principal

# Answers that are sent, so that they come to several workers.
_ANSWERS = 4

# Seconds that one is waited for; the worker has answered by then.
_KEPT = 60

_CLIENT = "that answers what a tool asks in the middle of a call waits in vain, and so does the tool."
_CURE = (
    "Give all workers, and this command, the same default cache (CACHES, at this site CACHE_URL=redis://…), or each "
    "its own memory, where the database is used; and the same database and SECRET_KEY."
)


def answers(visit: Visit, token: str = "") -> None:
    """An answer to a tool's question, taken by whichever worker, arrives where it is waited for: in this process."""
    principal = _principal(visit, token)
    if visit.slug is None or principal is None:
        return
    session_id = _begin(visit, token)
    session = sessions.read(session_id, visit.slug) if session_id else None
    if session is None:
        visit.say("workers", Level.WARNING, "The site began a session that this command cannot read.", _CLIENT, _CURE)
        return
    owner = owner_of(principal, session)
    keys = [secrets.token_hex(16) for _answer in range(_ANSWERS)]
    try:
        for key in keys:
            mailbox.expect(key, owner, _KEPT)
            _post(visit, {"jsonrpc": "2.0", "id": key, "result": {}}, token, session_id)
        arrived = len(mailbox.collect(keys))
        mailbox.discard(keys)
    except Exception as error:
        # Whatever the cache's driver raises.
        visit.say("workers", Level.WARNING, f"{mailbox.road()} cannot be used: {error}", _CLIENT, _CURE)
        return
    if arrived == _ANSWERS:
        visit.say("workers", Level.OK, f"What one worker is told, another finds: through {mailbox.road()}.")
        return
    visit.say(
        "workers",
        Level.WARNING,
        f"Of {_ANSWERS} answers that the site took, {arrived} arrived through {mailbox.road()}: each worker seems to "
        "have one for itself.",
        _CLIENT,
        _CURE,
    )


def _principal(visit: Visit, token: str) -> Principal | None:
    if not token:
        return ANONYMOUS
    try:
        return check_request(f"Bearer {token}", visit.slug or "").principal
    except InvalidToken:
        # An earlier step says so.
        return None


def _begin(visit: Visit, token: str) -> str:
    """The id of a session of a client that can be asked; only the earlier revisions have such."""
    params = {
        "protocolVersion": LEGACY[0],
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "mcp_doctor", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    return _post(visit, message, token, "").header(sessions.HEADER)


def _post(visit: Visit, message: object, token: str, session_id: str) -> Reply:
    sent = {
        "Accept": "application/json, text/event-stream",
        **({"Authorization": f"Bearer {token}"} if token else {}),
        **({sessions.HEADER: session_id, "MCP-Protocol-Version": LEGACY[0]} if session_id else {}),
    }
    return visit.web.post_json(visit.url, message, sent)
