"""Sessions of the legacy era (2025-11-25, transports, “Session Management”)."""

from __future__ import annotations

import string
from typing import Any

import pytest

from mcp_gateway.models import Endpoint
from mcp_gateway.protocol import sessions
from tests.demo import Demo
from tests.wire import LEGACY, Answer, Wire


def initialize(wire: Wire, capabilities: Any, version: str = LEGACY[0]) -> Answer:
    info = {"name": "probe", "version": "1"}
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
    return wire.legacy("initialize", params, version=None)


def session_of(wire: Wire, capabilities: Any, version: str = LEGACY[0]) -> str:
    session: str = initialize(wire, capabilities, version).response[sessions.HEADER]
    return session


@pytest.mark.parametrize("capabilities", [{"elicitation": {}}, {"sampling": {"tools": {}}}, {"roots": {"x": 1}}])
def test_a_client_that_can_be_asked_gets_a_session(wire: Wire, capabilities: Any) -> None:
    session = session_of(wire, capabilities)
    assert set(session) <= set(string.digits + string.ascii_letters + string.punctuation)
    assert session != session_of(wire, capabilities)
    read = sessions.read(session, "")
    assert read is not None
    assert (read.version, read.client, set(read.capabilities)) == (LEGACY[0], "probe", set(capabilities))


@pytest.mark.parametrize("capabilities", [{}, {"experimental": {}}, {"elicitation": True}, None, []])
def test_a_client_that_cannot_be_asked_gets_none(wire: Wire, capabilities: Any) -> None:
    assert sessions.HEADER not in initialize(wire, capabilities).response


def test_a_session_is_never_needed_and_an_unknown_one_is_ignored(wire: Wire, era: str) -> None:
    session = session_of(wire, {"roots": {}})
    for sent in (session, session[:-1], "x", "", f"{session}x"):
        headers = {sessions.HEADER: sent}
        assert wire.request(era, "tools/list", headers=headers).result["tools"]
    assert wire.request(era, "tools/list").result["tools"]


def test_an_expired_session_is_404_so_that_the_client_begins_a_new_one(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "LIFETIME", 0)
    headers = {sessions.HEADER: session_of(wire, {"roots": {}})}
    answer = wire.legacy("tools/list", headers=headers)
    assert (answer.status, answer.code, answer.json["id"]) == (404, -32600, 1)
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert wire.post(notification, {**headers, "MCP-Protocol-Version": LEGACY[0]}).status == 404
    # It may not be sent with initialize, and does no harm there.
    params = {"protocolVersion": LEGACY[0], "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    assert wire.legacy("initialize", params, headers=headers).result


def test_sessions_cannot_be_ended(wire: Wire) -> None:
    answer = wire.post(b"", {sessions.HEADER: session_of(wire, {"roots": {}})}, method="DELETE")
    assert (answer.status, answer.response["Allow"]) == (405, "POST, OPTIONS")


def test_a_session_belongs_to_its_endpoint(wire: Wire) -> None:
    Endpoint.objects.create(slug="side")
    assert sessions.read(session_of(wire, {"roots": {}}), "side") is None


def test_a_session_authenticates_nobody(wire: Wire, demo: Demo) -> None:
    demo.add("secret", lambda event: {}, right="authenticated")
    headers = {sessions.HEADER: session_of(wire, {"roots": {}})}
    assert wire.legacy("tools/call", {"name": "secret"}, headers=headers).status == 401


def test_the_session_knows_the_version_where_the_request_does_not_say_it(wire: Wire) -> None:
    headers = {sessions.HEADER: session_of(wire, {"roots": {}}, "2025-06-18")}
    params = {"name": "demo-echo", "arguments": {"message": "x"}}
    without = wire.legacy("tools/call", params, version=None)
    assert "structuredContent" not in without.result
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    assert "structuredContent" in wire.post(body, headers).result
