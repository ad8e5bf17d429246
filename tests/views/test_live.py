"""What only a real server shows: bodies without a length, connections that go on after a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.live import Migrated

LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
JSON = {"Content-Type": "application/json"}
MAX_BODY_BYTES = 4 * 1024 * 1024


@pytest.fixture(scope="module")
def live(migrated: Migrated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    data = tmp_path_factory.mktemp("live") / "var"
    with migrated.copy(data) as site, site.up("--workers", "1"), site.client() as client:
        # The server may hang up once it refused to read a body, and a client that sends at that moment sees it.
        client.headers["Connection"] = "close"
        yield client


def chunks(body: bytes, size: int = 1000) -> Iterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def test_a_body_without_a_length_is_read(live: httpx.Client) -> None:
    response = live.post("/mcp", content=chunks(LIST, 10), headers=JSON)
    assert response.request.headers["Transfer-Encoding"] == "chunked"
    assert response.status_code == 200
    assert response.json()["result"]["tools"]


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_over_the_limit_is_413_and_the_next_request_is_served(live: httpx.Client, announced: bool) -> None:
    body = LIST + b" " * MAX_BODY_BYTES
    content = body if announced else chunks(body, 65536)
    response = live.post("/mcp", content=content, headers=JSON)
    assert response.status_code == 413
    assert response.json()["error"]["code"] == -32600
    assert live.post("/mcp", content=LIST, headers=JSON).status_code == 200


def test_a_body_of_the_limit_is_read(live: httpx.Client) -> None:
    body = LIST + b" " * (MAX_BODY_BYTES - len(LIST))
    assert live.post("/mcp", content=body, headers=JSON).status_code == 200
    assert live.post("/mcp", content=chunks(body, 65536), headers=JSON).status_code == 200


def test_two_authorization_headers_are_no_token(live: httpx.Client) -> None:
    headers = [("Content-Type", "application/json"), ("Authorization", "Bearer a"), ("Authorization", "Bearer b")]
    response = live.post("/mcp", content=LIST, headers=headers)
    assert response.status_code == 401
    assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]


def test_no_method_but_post_finds_anything(live: httpx.Client) -> None:
    for method in ("GET", "HEAD", "DELETE", "PUT"):
        response = live.request(method, "/mcp", headers={"Accept": "text/event-stream"})
        assert response.status_code == 405
        assert response.headers["Allow"] == "POST, OPTIONS"


@pytest.mark.parametrize("path", ["/mcp/a/b", "/mcp/.well-known/x"])
def test_paths_below_the_endpoint_are_json(live: httpx.Client, path: str) -> None:
    response = live.post(path, content=LIST, headers=JSON)
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/json"


def test_a_hostile_host_gets_no_page(live: httpx.Client) -> None:
    response = live.post(
        "/mcp", content=LIST, headers={**JSON, "Host": "evil.example", "Origin": "http://evil.example"}
    )
    assert response.status_code in (400, 403)
    assert response.headers["Content-Type"] == "application/json"


def test_a_compressed_answer_reaches_its_client_whole(live: httpx.Client) -> None:
    message = "pens and paper, " * 1000
    params = {"name": "echo", "arguments": {"message": message}}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    packed = live.post("/mcp", content=call, headers={**JSON, "Accept-Encoding": "gzip"})
    plain = live.post("/mcp", content=call, headers={**JSON, "Accept-Encoding": "identity"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.num_bytes_downloaded == int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"])
    assert "Content-Encoding" not in plain.headers
    for response in (packed, plain):
        (block,) = response.json()["result"]["content"]
        assert json.loads(block["text"])["echo"] == message
