"""Content beside a response, and tools of content alone (server/tools, “Tool Result”)."""

from __future__ import annotations

import base64
import datetime
import json
import logging
from typing import Any

import pytest

from mcp_gateway.events import Audio, CallEvent, EmbeddedResource, Image, ResourceLink, Status, Text
from mcp_gateway.models import Scope
from tests.demo import Demo
from tests.wire import LEGACY, MODERN, Wire

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
VERSIONS = pytest.mark.parametrize("version", [MODERN, *LEGACY])


def call(version: str, name: str) -> dict[str, Any]:
    """The result of a call in a version; `Wire` judges it by that version's official schema."""
    answer = Wire().call("modern", name) if version == MODERN else Wire().call("legacy", name, version=version)
    result: dict[str, Any] = answer.result
    return result


def gives(*blocks: Any, response: Any = None, status: int = 200) -> Any:
    """A handler that gives these blocks, and a response where one is given."""

    def handle(event: CallEvent) -> None:
        event.content.extend(blocks)
        if response is not None:
            event.response = response
        event.set_status(status, "Said so.")

    return handle


@VERSIONS
def test_a_tool_of_content_alone_sends_nothing_else(demo: Demo, version: str) -> None:
    demo.add("greet", gives(Text("Hello, Ada!")), response=None)
    result = call(version, "greet")
    assert result["content"] == [{"type": "text", "text": "Hello, Ada!"}]
    assert result["isError"] is False
    assert "structuredContent" not in result


def test_a_tool_of_content_alone_is_listed_without_an_output_schema(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("greet", gives(Text("Hello!")), response=None)
    (tool,) = [tool for tool in wire.request(era, "tools/list").result["tools"] if tool["name"] == "greet"]
    assert "outputSchema" not in tool


@VERSIONS
@pytest.mark.parametrize("response", [{}, None])
def test_a_tool_of_content_alone_that_gives_none_answers_with_an_empty_list(
    demo: Demo, version: str, response: Any
) -> None:
    def handle(event: CallEvent) -> None:
        event.response = response
        event.set_status(Status.OK)

    demo.add("quiet", handle, response=None)
    assert call(version, "quiet")["content"] == []


@VERSIONS
def test_a_response_of_a_tool_of_content_alone_goes_before_its_blocks_as_json(demo: Demo, version: str) -> None:
    demo.add("both", gives(Text("x"), response={"a": [1]}), response=None)
    result = call(version, "both")
    assert [block["text"] for block in result["content"]] == ['{"a":[1]}', "x"]
    assert "structuredContent" not in result


@VERSIONS
def test_a_picture_goes_beside_the_response_and_its_json(demo: Demo, version: str) -> None:
    demo.add("chart", gives(Image(PNG, "image/png"), response={"n": 1}))
    result = call(version, "chart")
    mirror, image = result["content"]
    assert json.loads(mirror["text"]) == {"n": 1}
    assert base64.b64decode(image["data"]) == PNG
    assert image["mimeType"] == "image/png"
    assert ("structuredContent" in result) is (version != "2025-03-26")


@VERSIONS
def test_words_of_the_handler_take_the_place_of_the_json_where_the_client_gets_the_structure(
    demo: Demo, version: str
) -> None:
    demo.add("count", gives(Text("Two users were found."), response={"n": 2}))
    result = call(version, "count")
    texts = [block["text"] for block in result["content"]]
    if version == "2025-03-26":  # it has no structuredContent, so the response would be lost
        assert texts == ['{"n":2}', "Two users were found."]
    else:
        assert texts == ["Two users were found."]
        assert result["structuredContent"] == {"n": 2}


def test_a_legacy_client_does_not_lose_a_response_that_is_no_object(demo: Demo) -> None:
    demo.add("rows", gives(Text("One row."), response=[1]), response={"type": "array"})
    assert [block["text"] for block in call("2025-11-25", "rows")["content"]] == ["[1]", "One row."]
    assert [block["text"] for block in call(MODERN, "rows")["content"]] == ["One row."]


@VERSIONS
def test_every_type_of_block_is_one_that_the_version_knows(demo: Demo, version: str) -> None:
    moment = datetime.datetime(2026, 11, 30, 9, tzinfo=datetime.UTC)
    annotations = {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": moment}
    meta = {"example.com/key": 1}
    demo.add(
        "all",
        gives(
            Text("x", annotations=annotations, meta=meta),
            Image(PNG, "image/png", annotations=annotations, meta=meta),
            Audio(b"RIFF", "audio/wav", annotations=annotations, meta=meta),
            EmbeddedResource("shop:a", "text", "text/plain", annotations=annotations, meta=meta),
            EmbeddedResource("shop:b", PNG, annotations=annotations, meta=meta),
            ResourceLink(
                "https://x.example/a.pdf",
                "a.pdf",
                title="Report",
                description="All of it",
                mime_type="application/pdf",
                size=5,
                icons=[{"src": "/static/shop/pdf.svg"}, {"src": "https://x.example/i.png"}],
                annotations=annotations,
                meta=meta,
            ),
        ),
        response=None,
    )
    text, image, audio, embedded, blob, link = call(version, "all")["content"]
    assert [block["type"] for block in (text, image, audio, embedded, blob)] == [
        *("text", "image", "audio", "resource", "resource"),
    ]
    assert embedded["resource"] == {"uri": "shop:a", "mimeType": "text/plain", "text": "text"}
    assert base64.b64decode(blob["resource"]["blob"]) == PNG
    oldest = version == "2025-03-26"
    for block in (text, image, audio, embedded, blob, link):
        assert ("_meta" in block) is not oldest
        expected = {"audience": ["user", "assistant"], "priority": 0.5}
        assert block["annotations"] == (expected if oldest else {**expected, "lastModified": "2026-11-30T09:00:00Z"})
    if oldest:
        assert link["type"] == "text"
        assert link["text"] == "Report: https://x.example/a.pdf (application/pdf). All of it"
    else:
        assert (link["type"], link["size"], link["mimeType"]) == ("resource_link", 5, "application/pdf")
        icons = [{"src": "http://testserver/static/shop/pdf.svg"}, {"src": "https://x.example/i.png"}]
        assert link.get("icons") == (icons if version >= "2025-11-25" else None)


def test_a_handler_that_says_no_may_show_why(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("shot", gives(Image(PNG, "image/png"), status=422))
    answer = wire.call(era, "shot")
    assert answer.result["isError"] is True
    assert [block["type"] for block in answer.result["content"]] == ["text", "image"]
    assert answer.failure == "Said so."
    assert "structuredContent" not in answer.result


def test_content_of_a_handler_that_broke_goes_nowhere(demo: Demo, wire: Wire, era: str) -> None:
    def handle(event: CallEvent) -> None:
        event.content.append(Text("half of it"))
        raise RuntimeError("broken")

    demo.add("breaks", handle)
    (block,) = wire.call(era, "breaks").result["content"]
    assert "half of it" not in block["text"]


def test_content_beside_a_response_that_does_not_conform_goes_nowhere(demo: Demo, wire: Wire, era: str) -> None:
    demo.play("demo-add", gives(Text("Three."), response={"sum": "x"}))
    (block,) = wire.call(era, "demo-add", {"a": 1, "b": 2}).result["content"]
    assert "/sum" in block["text"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (["Hello"], "its content holds a str at /0, which is no block; write it as Text"),
        ([Text("a"), {"type": "text", "text": "b"}], "a dict at /1"),
        ("Hello", "a list of blocks, and no str"),
        (Text("x"), "a list of blocks, and no Text"),
        ([Text("\ud800")], "/0/text"),
        ([Text("x", meta={"a": {1, 2}})], "/0/_meta/a"),
    ],
    ids=["text", "dictionary", "a text", "a block", "surrogate", "set"],
)
def test_what_is_no_content_is_an_error_that_says_where_and_nothing_is_kept(
    demo: Demo, wire: Wire, era: str, caplog: pytest.LogCaptureFixture, content: Any, said: str
) -> None:
    def handle(event: CallEvent) -> None:
        Scope.objects.create(name="written")
        event.content = content
        event.set_status(Status.OK)

    demo.add("wrong", handle)
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        answer = wire.call(era, "wrong")
    assert said in answer.failure
    assert said in caplog.text
    assert not Scope.objects.filter(name="written").exists()


def test_a_block_written_wrongly_is_in_the_log_and_not_in_the_answer(
    demo: Demo, wire: Wire, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    def handle(event: CallEvent) -> None:
        event.content.append(Image("iVBORw==", "image/png"))  # type: ignore[arg-type]

    demo.add("wrong", handle)
    assert "incident" in wire.call(era, "wrong").failure
    assert "The data of an Image are the bytes of its file, not str" in caplog.text


def test_blocks_that_cannot_be_sent_do_not_take_the_message_with_them(
    demo: Demo, wire: Wire, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    demo.add("wrong", gives("no block", status=404))
    result = wire.call(era, "wrong").result
    assert result["content"] == [{"type": "text", "text": "Said so."}]
    assert "no block" in caplog.text


def test_the_limit_of_a_result_counts_blocks_as_they_are_sent(demo: Demo, wire: Wire, era: str, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_RESULT_BYTES": 1000}
    demo.add("large", gives(Image(bytes(900), "image/png")), response=None)
    assert "more than the 1000" in wire.call(era, "large").failure
    demo.play("large", gives(Image(bytes(900), "image/png"), status=400))
    assert [block["type"] for block in wire.call(era, "large").result["content"]] == ["text"]
    demo.play("large", gives(Image(bytes(600), "image/png")))
    assert wire.call(era, "large").content[0]["type"] == "image"


def test_several_listeners_add_to_one_list_in_their_order(demo: Demo, wire: Wire, era: str) -> None:
    demo.add("twice", gives(Text("a")), response=None)
    demo.listen("twice", priority=0.1)
    assert [block["text"] for block in wire.call(era, "twice").content] == ["a", "a"]
