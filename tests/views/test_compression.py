"""gzip: who gets it, for which answers, and that what is unpacked is what others get."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from mcp_gateway.testing.client import McpClient
from tests.demo import OBJECT, Demo
from tests.wire import Answer, Wire

pytestmark = pytest.mark.django_db

PAGE = "https://inspector.example"
LONG = {"text": "Two dozen black pens, and as many sheets of paper. " * 400}


@pytest.fixture(autouse=True)
def _tools(demo: Demo, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "ALLOWED_ORIGINS": [PAGE]}
    demo.add("demo-long", lambda event: LONG, response=OBJECT)


def call(wire: Wire, tool: str, coding: str | None, **options: Any) -> Answer:
    """A call by a client of the package's own, which unpacks nothing and looks at nothing."""
    plain = McpClient(wire.client, wire.path, wire.token)
    headers = {"Accept-Encoding": coding, **options.pop("headers", {})}
    answer: Answer = plain.modern("tools/call", {"name": tool}, headers=headers, **options)
    return answer


def packed_list(wire: Wire, id: Any) -> Any:
    plain = McpClient(wire.client, wire.path, wire.token)
    answer = plain.modern("tools/list", id=id, headers={"Accept-Encoding": "gzip"})
    assert answer.response["Content-Encoding"] == "gzip"
    # As clients unpack: one member, and nothing after it.
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    body = unpacker.decompress(answer.body)
    assert unpacker.eof
    assert unpacker.unused_data == b""
    assert gzip.decompress(answer.body) == body
    return json.loads(body)


@pytest.mark.parametrize(
    "coding",
    ["gzip", "gzip, deflate", "GZIP", "x-gzip", "br;q=1.0, gzip;q=0.8, *;q=0.1", "*", "gzip;q=0.5 , identity; q=0.5"],
)
def test_a_long_answer_is_compressed_for_who_accepts_it(wire: Wire, coding: str) -> None:
    answer = call(wire, "demo-long", coding)
    assert answer.response["Content-Encoding"] == "gzip"
    assert answer.response["Content-Type"] == "application/json"
    assert answer.response["Content-Length"] == str(len(answer.body))
    assert "Accept-Encoding" in answer.response["Vary"]
    assert len(answer.body) < 4000
    assert json.loads(gzip.decompress(answer.body)) == call(wire, "demo-long", None).json


@pytest.mark.parametrize(
    "coding",
    [
        None,
        "",
        "identity",
        "br, zstd",
        "gzip;q=0",
        "gzip; q=0.000, *",
        "*;q=0",
        "gzip;q=x",
        "gzip;q=nan",
        "identity, gzip;q=0.5",
        "notgzip",
    ],
)
def test_nobody_gets_it_unasked(wire: Wire, coding: str | None) -> None:
    answer = call(wire, "demo-long", coding)
    assert "Content-Encoding" not in answer.response
    assert "Accept-Encoding" in answer.response["Vary"]
    assert answer.structured == LONG


def test_short_answers_and_errors_stay_as_they_are(wire: Wire) -> None:
    for answer in (call(wire, "demo-ping", "gzip"), call(wire, "no-such-tool", "gzip")):
        assert "Content-Encoding" not in answer.response
        assert "Accept-Encoding" not in answer.response.get("Vary", "")
        assert answer.json["id"] == 1


def test_a_notification_is_still_answered_with_nothing(wire: Wire) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = wire.post(body, {"Accept-Encoding": "gzip"})
    assert (answer.status, answer.body) == (202, b"")
    assert "Content-Encoding" not in answer.response


def test_event_streams_are_never_compressed(wire: Wire) -> None:
    only = call(wire, "demo-long", "gzip", headers={"Accept": "text/event-stream"})
    assert only.response["Content-Type"] == "text/event-stream"
    assert "Content-Encoding" not in only.response
    assert only.structured == LONG


def test_a_page_of_another_origin_is_told_of_both_reasons_to_vary(wire: Wire) -> None:
    answer = call(wire, "demo-long", "gzip", headers={"Origin": PAGE})
    assert answer.response["Content-Encoding"] == "gzip"
    assert {name.strip() for name in answer.response["Vary"].split(",")} >= {"Accept-Encoding", "Origin"}


def test_nothing_is_compressed_twice(wire: Wire, settings: Any) -> None:
    settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware", *settings.MIDDLEWARE]
    answer = call(wire, "demo-long", "gzip")
    assert answer.response["Content-Encoding"] == "gzip"
    assert answer.response["Vary"].count("Accept-Encoding") == 1
    assert json.loads(gzip.decompress(answer.body))["result"]["structuredContent"] == LONG


def test_a_site_can_switch_it_off_or_choose_the_length(wire: Wire, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "GZIP_BYTES": 0}
    off = call(wire, "demo-long", "gzip")
    assert "Content-Encoding" not in off.response
    settings.ZOLINGA = {**settings.ZOLINGA, "GZIP_BYTES": 100_000}
    assert "Content-Encoding" not in call(wire, "demo-long", "gzip").response


def test_what_gzip_would_make_longer_is_sent_as_it_is(wire: Wire, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "GZIP_BYTES": 1}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = wire.post(body, {"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer.response
    assert answer.result == {}


@pytest.mark.parametrize("id", [0, 7, 2**100, "a", 'quoted " and \x00' * 64, '{"tools":[]}'])
def test_a_list_says_the_same_whatever_the_id(wire: Wire, settings: Any, id: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "GZIP_BYTES": 500}
    expected = wire.modern("tools/list", id=id).json
    assert packed_list(wire, id) == expected
    assert packed_list(wire, id) == expected


def test_a_list_shows_a_change_at_the_next_request(wire: Wire, demo: Demo, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "GZIP_BYTES": 500}
    before = [tool["name"] for tool in packed_list(wire, 1)["result"]["tools"]]
    demo.add("demo-new", lambda event: {})
    assert [tool["name"] for tool in packed_list(wire, 1)["result"]["tools"]] == sorted([*before, "demo-new"])


def test_the_length_of_a_compressed_answer_is_not_told_by_what_it_says(wire: Wire) -> None:
    lengths = {len(call(wire, "demo-long", "gzip").body) for _ in range(20)}
    assert len(lengths) > 1
