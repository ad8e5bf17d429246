"""Eras and the modern ladder (2026-07-28: versioning, Streamable HTTP “Server Validation”, “_meta”)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.demo import Demo
from tests.wire import CLIENT_META, LEGACY, MODERN, PROTOCOL_VERSION, Wire

SUPPORTED = [MODERN, *LEGACY]
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in CLIENT_META.items() if name != key}


@pytest.mark.parametrize("header", [None, MODERN, "not-a-version", LEGACY[0]])
def test_initialize_without_a_version_in_meta_is_legacy_whatever_the_header_says(
    wire: Wire, header: str | None
) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "p", "version": "1"}}
    answer = wire.legacy("initialize", params, version=header)
    assert answer.result["protocolVersion"] == "2025-06-18"


def test_initialize_with_a_modern_version_in_meta_is_modern_and_not_found(wire: Wire) -> None:
    assert wire.modern("initialize", {"protocolVersion": MODERN}).status == 404


@pytest.mark.parametrize("header", ["not-a-version", "", "2024-11-05", "2026-07-29", "2025-11-25, 2025-11-25"])
@pytest.mark.parametrize("message", [{"id": 1, "method": "tools/list"}, {"method": "notifications/initialized"}])
def test_a_header_with_an_unknown_version_is_refused(wire: Wire, header: str, message: dict[str, Any]) -> None:
    answer = wire.post({"jsonrpc": "2.0", **message}, {"MCP-Protocol-Version": header})
    assert answer.status == 400
    assert answer.code == -32022
    assert answer.error["data"] == {"supported": SUPPORTED, "requested": header}
    assert answer.json.get("id") == message.get("id")


def test_a_modern_header_alone_is_modern(wire: Wire) -> None:
    answer = wire.post(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"},
    )
    assert answer.status == 400
    assert answer.code == -32602


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_a_modern_method_that_names_no_version_is_refused(wire: Wire, method: str) -> None:
    answer = wire.legacy(method, version=None)
    assert answer.status == 400
    assert answer.code == -32602
    assert answer.json["id"] == 1


def test_discover_with_a_legacy_header_is_an_unknown_method(wire: Wire) -> None:
    answer = wire.legacy("server/discover")
    assert answer.status == 200
    assert answer.code == -32601


def test_a_request_that_names_no_version_is_from_before_the_header(wire: Wire) -> None:
    (tool, *_) = wire.legacy("tools/list", version=None).result["tools"]
    assert "outputSchema" not in tool


def test_a_legacy_version_in_meta_does_not_make_a_request_modern(wire: Wire) -> None:
    params = {"_meta": {PROTOCOL_VERSION: LEGACY[0]}}
    assert "resultType" not in wire.legacy("tools/list", params).result


@pytest.mark.parametrize(
    "meta",
    [
        {},
        without(PROTOCOL_VERSION),
        without(CAPABILITIES),
        {**CLIENT_META, PROTOCOL_VERSION: None},
        {**CLIENT_META, PROTOCOL_VERSION: 20260728},
        {**CLIENT_META, CAPABILITIES: None},
        {**CLIENT_META, CAPABILITIES: []},
    ],
)
def test_a_missing_required_key_comes_before_everything_else(wire: Wire, meta: dict[str, Any]) -> None:
    # The wrong Mcp-Method would be the next rung.
    answer = wire.modern("server/discover", meta=meta, headers={"Mcp-Method": "nope"})
    assert answer.status == 400
    assert answer.code == -32602
    assert answer.json["id"] == 1


def test_a_missing_client_info_is_served(wire: Wire) -> None:
    assert wire.modern("server/discover", meta=without(CLIENT_INFO)).result["supportedVersions"] == SUPPORTED


@pytest.mark.parametrize(
    ("method", "params", "headers"),
    [
        ("tools/list", {}, {"MCP-Protocol-Version": None}),
        ("tools/list", {}, {"MCP-Protocol-Version": LEGACY[0]}),
        ("tools/list", {}, {"Mcp-Method": None}),
        ("tools/list", {}, {"Mcp-Method": "Tools/List"}),
        ("tools/list", {}, {"Mcp-Method": "tools/call"}),
        ("tools/list", {}, {"Mcp-Method": "=?base64?dG9vbHMvbGlzdA==?="}),
        ("tools/call", {"name": "demo-ping"}, {"Mcp-Name": None}),
        ("tools/call", {"name": "demo-ping"}, {"Mcp-Name": "demo-echo"}),
        ("tools/call", {"name": "demo-ping"}, {"Mcp-Name": "Demo-Ping"}),
        ("tools/call", {"name": "demo-ping"}, {"Mcp-Name": "=?base64?!!?="}),
        ("tools/call", {"name": "demo-ping"}, {"Mcp-Name": "=?base64?ZGVtby1waW5n"}),
        ("tools/call", {"name": "demo-ping"}, {"Mcp-Name": "=?base64?ZGVtby1waW5nZQ?="}),
        ("tools/call", {"name": "demo-ping"}, {"Mcp-Name": "=?base64?/w==?="}),
        ("tools/call", {"name": "demo-ping"}, {"Mcp-Name": "=?Base64?ZGVtby1waW5n?="}),
        ("tools/call", {"name": "nope"}, {"Mcp-Name": "demo-ping"}),
        ("prompts/get", {"name": "x"}, {"Mcp-Name": None}),
        ("resources/read", {"uri": "x:y"}, {"Mcp-Name": None}),
    ],
)
def test_a_header_that_is_missing_or_different_is_a_mismatch(
    wire: Wire, demo: Demo, method: str, params: dict[str, Any], headers: dict[str, Any]
) -> None:
    answer = wire.modern(method, params, headers=headers)
    assert answer.status == 400
    assert answer.code == -32020
    assert answer.json["id"] == 1
    assert demo.calls == []


@pytest.mark.parametrize(
    "header", ["demo-ping", "  demo-ping \t", "=?base64?ZGVtby1waW5n?=", " =?base64?ZGVtby1waW5n?= "]
)
def test_an_encoded_name_is_decoded_before_it_is_compared(wire: Wire, header: str) -> None:
    assert wire.call("modern", "demo-ping", headers={"Mcp-Name": header}).result["isError"] is False


def test_a_mismatch_comes_before_the_version(wire: Wire) -> None:
    meta = {**CLIENT_META, PROTOCOL_VERSION: "v999.0.0"}
    assert wire.modern("tools/list", meta=meta).code == -32020


def test_an_unknown_version_comes_before_the_method(wire: Wire) -> None:
    meta = {**CLIENT_META, PROTOCOL_VERSION: "v999.0.0"}
    answer = wire.modern("foo/bar", meta=meta, headers={"MCP-Protocol-Version": "v999.0.0"})
    assert answer.status == 400
    assert answer.code == -32022
    assert answer.error["data"] == {"supported": SUPPORTED, "requested": "v999.0.0"}


def test_the_legacy_era_ignores_the_headers_of_the_modern_one(wire: Wire) -> None:
    headers = {"Mcp-Method": "nope", "Mcp-Name": "nope"}
    assert wire.call("legacy", "demo-ping", headers=headers).result["isError"] is False


# Mcp-Param-*

MIRRORED = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "nested": {"type": "object", "properties": {"deep": {"type": "string", "x-mcp-header": "Deep"}}},
        "price": {"type": "number", "x-mcp-header": "Price"},
        "bad": {"type": "string", "x-mcp-header": "a b"},
        "list": {"type": "array", "items": {"properties": {"i": {"type": "string", "x-mcp-header": "Item"}}}},
    },
}


@pytest.fixture
def mirrored(wire: Wire, demo: Demo) -> Wire:
    demo.add("demo-mirrored", lambda event: {}, request=MIRRORED)
    return wire


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, {}),
        ({"region": None}, {}),
        ({"region": "us-west1"}, {"Mcp-Param-Region": "us-west1"}),
        ({"region": "us-west1"}, {"mcp-param-region": "us-west1"}),
        ({"region": "Hello, 世界"}, {"Mcp-Param-Region": "=?base64?SGVsbG8sIOS4lueVjA==?="}),
        ({"region": " padded "}, {"Mcp-Param-Region": "=?base64?IHBhZGRlZCA=?="}),
        ({"region": "=?base64?literal?="}, {"Mcp-Param-Region": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}),
        ({"count": 42}, {"Mcp-Param-Count": "42"}),
        ({"count": 42}, {"Mcp-Param-Count": "42.0"}),
        ({"count": -7.0}, {"Mcp-Param-Count": "-7"}),
        ({"count": 2**53 - 1}, {"Mcp-Param-Count": str(2**53 - 1)}),
        ({"region": ""}, {"Mcp-Param-Region": ""}),
        ({"region": "=?base64?eA"}, {"Mcp-Param-Region": "=?base64?eA"}),
        ({"dry": True}, {"Mcp-Param-Dry-Run": "true"}),
        ({"nested": {"deep": "x"}}, {"Mcp-Param-Deep": "x"}),
        ({"price": 1.5, "bad": "x", "list": [{"i": "x"}]}, {}),
        ({}, {"Mcp-Param-Unknown": "x"}),
    ],
)
def test_mirrored_parameters_that_agree(mirrored: Wire, arguments: dict[str, Any], headers: dict[str, str]) -> None:
    result = mirrored.call("modern", "demo-mirrored", arguments, headers=headers).json["result"]
    assert result["isError"] is (arguments == {"region": None})


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us-west1"}, {}),
        ({"region": "us-west1"}, {"Mcp-Param-Region": "us-east1"}),
        ({"region": "us-west1"}, {"Mcp-Param-Region": "US-WEST1"}),
        ({"region": "x"}, {"Mcp-Param-Region": "=?base64?eA?="}),
        ({"region": "é"}, {"Mcp-Param-Region": "é"}),
        ({}, {"Mcp-Param-Region": "us-west1"}),
        ({"region": None}, {"Mcp-Param-Region": "null"}),
        ({"count": 42}, {"Mcp-Param-Count": "43"}),
        ({"count": 42}, {"Mcp-Param-Count": "0x2a"}),
        ({"count": 42}, {"Mcp-Param-Count": "42.5"}),
        ({"count": 42}, {"Mcp-Param-Count": ""}),
        ({"count": 2**53}, {"Mcp-Param-Count": str(2**53)}),
        ({"count": -(2**53)}, {"Mcp-Param-Count": str(-(2**53))}),
        ({"region": "x"}, {"Mcp-Param-Region": "x\x00"}),
        ({"region": "\xff"}, {"Mcp-Param-Region": "=?base64?/w==?="}),
        ({"dry": True}, {"Mcp-Param-Dry-Run": "True"}),
        ({"dry": False}, {"Mcp-Param-Dry-Run": "true"}),
        ({"nested": {"deep": "x"}}, {}),
    ],
)
def test_mirrored_parameters_that_disagree_are_a_mismatch(
    mirrored: Wire, demo: Demo, arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    answer = mirrored.call("modern", "demo-mirrored", arguments, headers=headers)
    assert answer.status == 400
    assert answer.code == -32020
    assert demo.calls == []


def test_the_legacy_era_mirrors_nothing(mirrored: Wire) -> None:
    assert mirrored.call("legacy", "demo-mirrored", {"region": "x"}).result["isError"] is False
