"""What a body is: JSON-RPC 2.0 as MCP narrows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.demo import Demo
from tests.wire import LEGACY, MODERN, Wire

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize("request_id", [0, -1, 2**53, 2**64, "", "0", "é", "a" * 256, "a" * 1024, 'quote"\\'])
def test_an_id_comes_back_as_it_was(wire: Wire, era: str, request_id: Any) -> None:
    answer = wire.request(era, "tools/list", id=request_id)
    assert answer.json["id"] == request_id
    assert type(answer.json["id"]) is type(request_id)
    assert answer.result["tools"]


@pytest.mark.parametrize(
    "request_id", [None, True, False, 5.0, 5.5, [], {}, ["x"], "a" * 1025, "a" * 1_000_000, 2**129]
)
def test_what_is_no_id_is_refused_without_an_echo(wire: Wire, era: str, request_id: Any) -> None:
    answer = wire.request(era, "tools/list", id=request_id)
    assert answer.status == 400
    assert answer.code == -32600
    assert "id" not in answer.json
    assert len(answer.body) < 4096


def test_a_giant_integer_id_is_refused(wire: Wire) -> None:
    answer = wire.post('{"jsonrpc":"2.0","id":1' + "0" * 4999 + ',"method":"tools/list","params":{}}')
    assert answer.status == 400
    assert answer.code in (-32600, -32700)
    assert len(answer.body) < 4096


@pytest.mark.parametrize("headers", [{}, {"MCP-Protocol-Version": MODERN}, {"MCP-Protocol-Version": LEGACY[0]}])
@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "demo-ping", "arguments": {}}},
        {"jsonrpc": "2.0", "method": "notifications/whatever"},
        {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {"_meta": {}}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        {"jsonrpc": "2.0", "method": "initialize"},
    ],
)
def test_a_notification_is_accepted_without_a_body_and_never_run(
    wire: Wire, demo: Demo, headers: dict[str, str], body: Any
) -> None:
    answer = wire.post(body, headers)
    assert answer.status == 202
    assert answer.body == b""
    assert "Content-Type" not in answer.response
    assert demo.calls == []


@pytest.mark.parametrize("payload", [{"result": {}}, {"error": {"code": 1, "message": "x"}}])
def test_a_response_is_accepted_in_the_legacy_era_only(wire: Wire, payload: dict[str, Any]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, **payload}
    assert wire.post(body).status == 202
    assert wire.post(body, {"MCP-Protocol-Version": LEGACY[0]}).body == b""
    modern = wire.post(body, {"MCP-Protocol-Version": MODERN})
    assert modern.status == 400
    assert modern.code == -32600
    assert "id" not in modern.json


@pytest.mark.parametrize(
    "body",
    [
        "",
        "   ",
        '{"jsonrpc":"2.0","id":1,',
        "{'a': 1}",
        "nul",
        '{"a":NaN}',
        '{"a":Infinity}',
        '{"a":1e400}',
        '{"a":01}',
    ],
)
def test_what_is_no_json_is_a_parse_error(wire: Wire, body: str) -> None:
    answer = wire.post(body)
    assert answer.status == 400
    assert answer.code == -32700
    assert "id" not in answer.json


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(LIST).encode("utf-16"),
        json.dumps(LIST).encode("utf-16-le"),
        json.dumps(LIST).encode("utf-32"),
        b'{"jsonrpc":"2.0","id":"\xff","method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}',
    ],
)
def test_what_is_not_utf_8_is_a_parse_error(wire: Wire, body: bytes) -> None:
    answer = wire.post(body)
    assert answer.status == 400
    assert answer.code == -32700


@pytest.mark.parametrize(
    ("body", "byte"),
    [
        (b'{"jsonrpc":"2.0","id":"\xff"}', 23),
        (json.dumps({**LIST, "id": "\u00e9"}, ensure_ascii=False).encode("latin-1"), 26),
        (json.dumps(LIST).encode("utf-16"), 0),
    ],
)
def test_another_encoding_is_told_with_its_place(wire: Wire, body: bytes, byte: int) -> None:
    message = wire.post(body).error["message"]
    assert f"not UTF-8, from byte {byte} on" in message
    assert "surrogate" not in message


def test_a_byte_order_mark_is_ignored(wire: Wire) -> None:
    assert wire.post(b"\xef\xbb\xbf" + json.dumps(LIST).encode()).result["tools"]


@pytest.mark.parametrize(
    "body",
    [
        "42",
        "null",
        "true",
        '"x"',
        "[]",
        [LIST],
        [LIST, LIST],
        {},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "id": 1},
        {"id": 1, "method": "tools/list"},
        {"jsonrpc": "1.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": 2.0, "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"jsonrpc": "2.0", "id": 1, "method": None},
        {"jsonrpc": "2.0", "method": ["tools/list"]},
    ],
)
def test_what_is_no_single_message_is_an_invalid_request(wire: Wire, body: Any) -> None:
    answer = wire.post(body)
    assert answer.status == 400
    assert answer.code == -32600
    assert answer.json.get("id") == (1 if isinstance(body, dict) and body.get("id") == 1 else None)


@pytest.mark.parametrize(
    "body",
    [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo-ping","name":"demo-echo"}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"demo-ping"}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo-ping","\\u006eame":"demo-ping"}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo-ping","arguments":{"a":1,"a":1}}}',
        '{"jsonrpc":"2.0","id" :1,"id" :2,"method" :"tools/call","params":{"name":"demo-ping"}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo-ping","arguments":'
        '{"a":[":", "\\":", "\\u0022:"],"b":"\\\\","b":"\\\\"}}}',
    ],
)
def test_two_members_of_one_name_are_an_invalid_request(wire: Wire, demo: Demo, body: str) -> None:
    answer = wire.post(body)
    assert answer.status == 400
    assert answer.code == -32600
    assert "two members" in answer.error["message"]
    assert demo.calls == []


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_nesting_is_limited(wire: Wire, demo: Demo, open_: str, close: str) -> None:
    def body(levels: int) -> str:
        pieces = levels // len(close)
        nested = open_ * pieces + "1" + close * pieces
        return (
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo-ping","arguments":'
            f'{{"x":{nested}}}}}}}'
        )

    # The message, params and arguments are three levels of the 64 (MAX_JSON_DEPTH); the result adds none.
    assert wire.post(body(60)).result["isError"] is False
    answer = wire.post(body(62))
    assert answer.status == 400
    assert answer.code == -32600
    assert "64" in answer.error["message"]
    assert wire.post(body(1_000_000)).code == -32600
    assert len(demo.calls) == 1


@pytest.mark.parametrize("params", [[1], "x", 5, True])
def test_params_that_are_no_object_are_invalid(wire: Wire, params: Any) -> None:
    legacy = wire.legacy("tools/list", params)
    assert legacy.status == 200
    assert legacy.code == -32602
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
    modern = wire.post(body, {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"})
    assert modern.status == 400
    assert modern.code == -32602


def test_null_params_are_absent_in_the_legacy_era_only(wire: Wire) -> None:
    assert wire.post({**LIST, "params": None}).result["tools"]
    modern = wire.post({**LIST, "params": None}, {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"})
    assert (modern.status, modern.code) == (400, -32602)


def test_an_unknown_method_does_not_end_a_legacy_session(wire: Wire) -> None:
    answer = wire.legacy("foo/bar", headers={"Mcp-Session-Id": "abc"})
    assert answer.status == 200
    assert answer.code == -32601


def test_an_unknown_method_is_not_found_in_the_modern_era(wire: Wire) -> None:
    answer = wire.modern("foo/bar")
    assert answer.status == 404
    assert answer.code == -32601
    assert answer.json["id"] == 1


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
)
def test_methods_of_the_legacy_era_are_not_found_in_the_modern_one(wire: Wire, method: str) -> None:
    answer = wire.modern(method)
    assert answer.status == 404
    assert answer.code == -32601
    if method == "initialize":
        assert MODERN in answer.error["message"]


@pytest.mark.parametrize("method", ["prompts/list", "resources/list", "completion/complete", "tasks/list"])
def test_what_is_not_served_is_not_a_method(wire: Wire, era: str, method: str) -> None:
    assert wire.request(era, method).code == -32601
