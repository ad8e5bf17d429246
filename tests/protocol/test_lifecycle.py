"""initialize, ping and server/discover."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gateway import __version__
from mcp_gateway.models import Endpoint
from tests.wire import LEGACY, MODERN, Wire

CLIENT = {"capabilities": {}, "clientInfo": {"name": "p", "version": "1"}}


@pytest.mark.parametrize("version", LEGACY)
def test_a_version_that_is_served_is_agreed_on(wire: Wire, version: str) -> None:
    result = wire.legacy("initialize", {"protocolVersion": version, **CLIENT}, version=None).result
    assert result["protocolVersion"] == version
    assert ("title" in result["serverInfo"]) is (version != "2025-03-26")


@pytest.mark.parametrize("version", ["1900-01-01", MODERN, "2024-11-05", "", "latest"])
def test_any_other_version_is_answered_with_the_newest_that_has_a_handshake(wire: Wire, version: str) -> None:
    answer = wire.legacy("initialize", {"protocolVersion": version, **CLIENT}, version=None)
    assert answer.result["protocolVersion"] == "2025-11-25"
    assert "Mcp-Session-Id" not in answer.response


@pytest.mark.parametrize("params", [{}, {"protocolVersion": None}, {"protocolVersion": 20251125}])
def test_initialize_without_a_version_is_malformed(wire: Wire, params: dict[str, Any]) -> None:
    answer = wire.legacy("initialize", params, version=None)
    assert answer.status == 200
    assert answer.code == -32602


def test_initialize_says_who_serves_what(wire: Wire) -> None:
    Endpoint.objects.update(title="Shop tools", instructions="Ask for prices first.")
    assert wire.legacy("initialize", {"protocolVersion": "2025-11-25", **CLIENT}, version=None).result == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "django-zolinga", "title": "Shop tools", "version": __version__},
        "instructions": "Ask for prices first.",
    }


@pytest.mark.parametrize("version", [*LEGACY, None])
def test_ping_is_answered_with_nothing(wire: Wire, version: str | None) -> None:
    assert wire.legacy("ping", version=version).result == {}


def test_discover_says_who_serves_what(wire: Wire) -> None:
    Endpoint.objects.update(title="Shop tools", instructions="Ask for prices first.")
    assert wire.modern("server/discover").result == {
        "resultType": "complete",
        "_meta": {
            "io.modelcontextprotocol/serverInfo": {
                "name": "django-zolinga",
                "title": "Shop tools",
                "version": __version__,
            }
        },
        "supportedVersions": [MODERN, *LEGACY],
        "capabilities": {
            "tools": {},
            "logging": {},
            "extensions": {
                "io.modelcontextprotocol/tasks": {},
                "io.modelcontextprotocol/oauth-client-credentials": {},
            },
        },
        "instructions": "Ask for prices first.",
        "ttlMs": 0,
        "cacheScope": "public",
    }


def test_what_is_not_served_is_not_declared(wire: Wire) -> None:
    capabilities = wire.modern("server/discover").result["capabilities"]
    for name, method in {"prompts": "prompts/list", "resources": "resources/list"}.items():
        assert (name in capabilities) is (wire.modern(method).status == 200)


def test_every_modern_result_names_the_server(wire: Wire) -> None:
    for answer in (wire.modern("tools/list"), wire.call("modern", "demo-ping"), wire.call("modern", "demo-add")):
        info = answer.result["_meta"]["io.modelcontextprotocol/serverInfo"]
        assert info["name"] == "django-zolinga"
        assert answer.result["resultType"] == "complete"


def test_an_endpoint_that_is_off_is_not_found(wire: Wire, era: str) -> None:
    Endpoint.objects.update(enabled=False)
    assert wire.request(era, "tools/list").status == 404


def test_a_site_without_an_authorization_server_offers_no_tokens_to_machines(wire: Wire, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.oauth.urls_endpoint_only"
    extensions = wire.modern("server/discover").result["capabilities"].get("extensions", {})
    assert "io.modelcontextprotocol/oauth-client-credentials" not in extensions
