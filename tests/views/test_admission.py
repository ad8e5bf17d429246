"""What HTTP must be like before the message counts (Streamable HTTP)."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.demo import Demo
from tests.wire import MODERN, Wire, issue_token

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "demo-ping"}}


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("append_slash", [True, False])
@pytest.mark.parametrize("debug", [True, False])
def test_both_spellings_answer_and_neither_redirects(
    wire: Wire, era: str, settings: Any, path: str, append_slash: bool, debug: bool
) -> None:
    settings.APPEND_SLASH, settings.DEBUG = append_slash, debug
    wire.path = path
    assert wire.request(era, "tools/list").result["tools"]


@pytest.mark.parametrize("path", ["/mcp/nowhere", "/mcp/nowhere/"])
@pytest.mark.parametrize("token", ["", "wrong"])
def test_an_endpoint_that_does_not_exist_is_not_found(wire: Wire, path: str, token: str) -> None:
    wire.path, wire.token = path, token
    answer = wire.post(LIST)
    assert answer.status == 404
    assert answer.code == -32600
    assert answer.challenge == ""


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "TRACE"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_other_methods_are_not_allowed(wire: Wire, method: str, path: str) -> None:
    wire.path = path
    answer = wire.post(b"", {"Mcp-Session-Id": "abc"}, method=method)
    assert answer.status == 405
    assert answer.response["Allow"] == "POST, OPTIONS"
    assert answer.response["Content-Type"] == "application/json"
    if method != "HEAD":
        assert answer.code == -32600


def test_options_tells_the_methods(wire: Wire) -> None:
    answer = wire.post(b"", method="OPTIONS")
    assert answer.status == 204
    assert answer.body == b""
    assert answer.response["Allow"] == "POST, OPTIONS"


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        'application/json; charset="utf-8"',
        "Application/JSON",
    ],
)
def test_json_in_utf_8_is_read(wire: Wire, content_type: str) -> None:
    assert wire.post(LIST, {"Content-Type": content_type}).result["tools"]


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json-patch+json",
        "application/vnd.api+json",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        "application/jsonx",
        "json",
        None,
    ],
)
def test_other_content_types_are_refused_and_run_nothing(wire: Wire, demo: Demo, content_type: str | None) -> None:
    answer = wire.post(CALL, {"Content-Type": content_type})
    assert answer.status == 415
    assert answer.code == -32600
    assert demo.calls == []


def test_a_compressed_body_is_refused(wire: Wire) -> None:
    answer = wire.post(gzip.compress(json.dumps(LIST).encode()), {"Content-Encoding": "gzip"})
    assert answer.status == 415
    assert answer.response["Accept-Encoding"] == "identity"
    assert wire.post(LIST, {"Content-Encoding": "identity"}).status == 200


def test_a_compressed_answer_says_the_same(wire: Wire, demo: Demo, settings: Any) -> None:
    settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware", *settings.MIDDLEWARE]
    plain = wire.post(LIST, {"Accept-Encoding": "identity"})
    packed = Client().generic(
        "POST", "/mcp", json.dumps(LIST), content_type="application/json", headers={"Accept-Encoding": "gzip"}
    )
    assert packed["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.content)) == plain.json


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "",
        "*/*",
        "application/*",
        "application/json",
        "application/json;q=0.5, text/event-stream",
        "text/event-stream, application/json",
        "text/html, */*;q=0.1",
    ],
)
def test_json_is_sent_wherever_it_is_accepted(wire: Wire, era: str, accept: str | None) -> None:
    answer = wire.request(era, "tools/list", headers={"Accept": accept})
    assert answer.response["Content-Type"] == "application/json"
    assert answer.result["tools"]


@pytest.mark.parametrize(
    "accept", ["text/event-stream", "text/event-stream, text/html", "application/json;q=0, text/*"]
)
def test_a_client_that_takes_only_a_stream_gets_one(wire: Wire, era: str, accept: str) -> None:
    answer = wire.request(era, "tools/list", headers={"Accept": accept})
    assert answer.response["Content-Type"] == "text/event-stream"
    assert answer.response["X-Accel-Buffering"] == "no"
    assert answer.result["tools"] == wire.request(era, "tools/list").result["tools"]


def test_a_stream_carries_a_legacy_error_but_no_other_status(wire: Wire) -> None:
    stream = {"Accept": "text/event-stream"}
    assert wire.legacy("foo/bar", headers=stream).response["Content-Type"] == "text/event-stream"
    assert wire.modern("foo/bar", headers=stream).response["Content-Type"] == "application/json"
    assert wire.post("{", stream).response["Content-Type"] == "application/json"


def test_a_schema_written_over_several_lines_stays_one_event(wire: Wire, demo: Demo) -> None:
    tool = demo.add("demo-lines", lambda event: {})
    tool.input_schema = '{\n  "type": "object",\r\n  "description": "a\\nb"\n}'
    tool.save()
    answer = wire.modern("tools/list", headers={"Accept": "text/event-stream"})
    assert answer.result["tools"] == wire.modern("tools/list").result["tools"]


@pytest.mark.parametrize(
    "accept",
    ["text/html", "image/png, text/html", "application/xml", "application/json;q=0", "application/json;q*=nope''1"],
)
def test_a_client_that_takes_neither_is_told_so(wire: Wire, accept: str) -> None:
    answer = wire.post(LIST, {"Accept": accept})
    assert answer.status == 406
    assert answer.code == -32600


# Origin

EVIL = ["https://evil.example", "null", "", "http://testserver.evil.example", "http://testserver:81", "testserver",
        "https://testserver", "http://testserver, http://evil.example", "http://testserver@evil.example",
        "http://testserver/", "http://[::1", "file://", "http://127.0.0.1", "http://localhost:3000"]  # fmt: skip


@pytest.mark.parametrize("origin", EVIL)
@pytest.mark.parametrize("method", ["POST", "OPTIONS", "GET"])
def test_a_foreign_origin_is_forbidden(wire: Wire, demo: Demo, origin: str, method: str) -> None:
    answer = wire.post(CALL, {"Origin": origin}, method=method)
    assert answer.status == 403
    assert answer.code == -32600
    assert "id" not in answer.json
    assert demo.calls == []


def test_an_origin_that_repeats_a_hostile_host_is_forbidden(wire: Wire, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert wire.post(LIST, {"Origin": "http://evil.example", "Host": "evil.example"}).status == 403


@pytest.mark.parametrize(
    "origin", ["http://testserver", "http://testserver:80", "HTTP://TestServer", "https://app.example.com"]
)
def test_the_sites_own_and_the_allowed_origins_pass(wire: Wire, settings: Any, origin: str) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "ALLOWED_ORIGINS": ["https://app.example.com"]}
    assert wire.post(LIST, {"Origin": origin}).status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_without_a_public_url_the_loopback_addresses_served_on_are_its_own(
    wire: Wire, settings: Any, host: str
) -> None:
    for name in ("OAUTH2_PROVIDER", "ZOLINGA"):
        setattr(settings, name, {key: value for key, value in getattr(settings, name).items() if key != "PUBLIC_URL"})
    # Django's test client serves on port 80.
    assert wire.post(LIST, {"Origin": f"http://{host}"}).status == 200
    assert wire.post(LIST, {"Origin": f"http://{host}:3000"}).status == 403
    assert wire.post(LIST, {"Origin": "http://testserver"}).status == 403


def test_with_debug_any_loopback_origin_will_do(wire: Wire, settings: Any) -> None:
    settings.DEBUG = True
    assert wire.post(LIST, {"Origin": "http://localhost:6274"}).status == 200
    assert wire.post(LIST, {"Origin": "https://evil.example"}).status == 403


# Length


def padded(length: int) -> bytes:
    body = json.dumps(LIST).encode()
    return body + b" " * (length - len(body))


def test_a_body_over_the_limit_is_refused(wire: Wire, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_BODY_BYTES": 1000}
    assert wire.post(padded(1000)).status == 200
    answer = wire.post(padded(1001))
    assert answer.status == 413
    assert answer.code == -32600
    assert "1000" in answer.error["message"]


def test_django_has_no_limit_of_its_own_here(wire: Wire, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert wire.post(padded(3_000_000)).status == 200


def test_an_upload_that_broke_off_runs_nothing(demo: Demo) -> None:
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "demo-ping"}}'
    environ: dict[str, Any] = {"CONTENT_LENGTH": "5000", "wsgi.input": io.BytesIO(call)}
    answer = Client().post("/mcp", content_type="application/json", **environ)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
    assert demo.calls == []


def test_a_length_that_lies_is_no_number(wire: Wire) -> None:
    assert wire.post(LIST, {"Content-Length": "9" * 5000}).status == 413


# What the endpoint is blind to


def test_csrf_and_session_play_no_part(demo: Demo, era: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(get_user_model().objects.create_superuser("admin"))
    answer = Wire(client).call(era, "demo-ping")
    assert answer.result["isError"] is False
    assert demo.calls[0].user is None
    demo.add("demo-staff", lambda event: {}, right="staff")
    assert Wire(client).call(era, "demo-staff").status == 401


def test_a_token_counts_and_the_session_beside_it_does_not(demo: Demo, era: str) -> None:
    users = get_user_model().objects
    client = Client(enforce_csrf_checks=True)
    client.force_login(users.create_superuser("admin"))
    ann = users.create_user("ann")
    wire = Wire(client, token=issue_token(ann, "mcp:tools"))
    assert wire.call(era, "demo-ping").result["isError"] is False
    assert demo.calls[0].user == ann
    demo.add("demo-staff", lambda event: {}, right="staff")
    assert wire.call(era, "demo-staff").status == 403


def test_a_session_id_is_ignored_and_never_minted(wire: Wire, era: str) -> None:
    answer = wire.request(era, "tools/list", headers={"Mcp-Session-Id": "deadbeef"})
    assert answer.result["tools"]
    assert "Mcp-Session-Id" not in answer.response
    assert not answer.response.cookies


def test_the_specifications_era_header_is_not_needed_for_a_plain_curl(wire: Wire) -> None:
    answer = Client().post("/mcp", LIST, content_type="application/json")
    assert answer.status_code == 200
    assert MODERN not in answer.content.decode()
