"""The blocks that a handler writes."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.utils.translation import gettext_lazy

from mcp_gateway.events import Audio, CallEvent, EmbeddedResource, Image, ResourceLink, Text, WebEvent
from mcp_gateway.events.content import Block

PNG = b"\x89PNG"


def test_each_kind_of_event_that_is_answered_has_a_list_for_blocks_of_its_own() -> None:
    one, other = CallEvent("a"), WebEvent("b")
    one.content.append(Text("x"))
    assert other.content == []


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (Text("hi"), {"type": "text", "text": "hi"}),
        (Image(PNG, "image/png"), {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}),
        (Image(bytearray(PNG), "image/png"), {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}),
        (Audio(memoryview(b"RIFF"), "audio/wav"), {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}),
        (
            ResourceLink("https://x.example/a", "a"),
            {"type": "resource_link", "uri": "https://x.example/a", "name": "a"},
        ),
        (
            ResourceLink(
                "shop:order/1",
                "order",
                "Order 1",
                "Bought",
                "text/html; charset=utf-8",
                0,
                [{"src": "data:,"}],
            ),
            {
                "type": "resource_link",
                "uri": "shop:order/1",
                "name": "order",
                "title": "Order 1",
                "description": "Bought",
                "mimeType": "text/html; charset=utf-8",
                "icons": [{"src": "data:,"}],
                "size": 0,
            },
        ),
        (
            EmbeddedResource("shop:note", "Zdař bůh", "text/plain"),
            {"type": "resource", "resource": {"uri": "shop:note", "mimeType": "text/plain", "text": "Zdař bůh"}},
        ),
        (
            EmbeddedResource("shop:scan", PNG),
            {"type": "resource", "resource": {"uri": "shop:scan", "blob": "iVBORw=="}},
        ),
        (
            Text("x", annotations={"audience": ["user"], "priority": 1}, meta={"example.com/a": 1}),
            {
                "type": "text",
                "text": "x",
                "annotations": {"audience": ["user"], "priority": 1},
                "_meta": {"example.com/a": 1},
            },
        ),
    ],
)
def test_a_block_is_what_the_specification_says(block: Block, shown: dict[str, Any]) -> None:
    assert block.as_dict() == shown


def test_a_text_may_be_lazy_and_a_time_of_change_a_datetime() -> None:
    moment = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
    assert Text(gettext_lazy("hi"), annotations={"lastModified": moment}).as_dict()["text"] == "hi"


# As a handler without type hints uses them.
any_text: Any = Text
any_image: Any = Image
any_audio: Any = Audio
any_link: Any = ResourceLink
any_resource: Any = EmbeddedResource


@pytest.mark.parametrize(
    ("write", "error", "said"),
    [
        (lambda: any_text(5), TypeError, "text of a block is text, not int"),
        (lambda: any_text(None), TypeError, "not NoneType"),
        (
            lambda: any_image("iVBORw==", "image/png"),
            TypeError,
            "the bytes of its file, not str; base64 is made of them",
        ),
        (lambda: any_image(PNG, "png"), ValueError, "no MIME type"),
        (lambda: any_image(PNG, None), ValueError, "no MIME type"),
        (lambda: any_image(PNG, "audio/wav"), ValueError, "begins with image/"),
        (lambda: any_audio(PNG, "application/pdf"), ValueError, "goes into an EmbeddedResource"),
        (lambda: any_link("/orders/1", "a"), ValueError, "is no URI"),
        (lambda: any_link("https://x.example/a b", "a"), ValueError, "is no URI"),
        (lambda: any_link(None, "a"), ValueError, "is no URI"),
        (lambda: any_link("file:///etc/passwd", "a"), ValueError, "never reaches a client"),
        (lambda: any_resource("FILE:/etc/passwd", "a"), ValueError, "never reaches a client"),
        (lambda: any_link("javascript:alert(1)", "a"), ValueError, "never reaches a client"),
        (lambda: any_link("shop:a", ""), ValueError, "needs a name"),
        (lambda: any_link("shop:a", "a", size=-1), ValueError, "number of bytes"),
        (lambda: any_link("shop:a", "a", size=True), ValueError, "number of bytes"),
        (lambda: any_link("shop:a", "a", mime_type="text"), ValueError, "no MIME type"),
        (lambda: any_link("shop:a", "a", icons=["x"]), ValueError, "icons of a ResourceLink"),
        (lambda: any_link("shop:a", "a", icons=[{"src": "file:///x"}]), ValueError, "icons of a ResourceLink"),
        (lambda: any_resource("shop:a", {"a": 1}), TypeError, "a text or bytes, not dict"),
        (lambda: any_text("x", annotations=["user"]), TypeError, "annotations of a block"),
        (lambda: any_text("x", annotations={"audience": ["everyone"]}), ValueError, "audience"),
        (lambda: any_text("x", annotations={"audience": "user"}), ValueError, "audience"),
        (lambda: any_text("x", annotations={"audience": [["user"]]}), ValueError, "audience"),
        (lambda: any_text("x", annotations={"priority": 2}), ValueError, "0 to 1"),
        (lambda: any_text("x", annotations={"priority": float("nan")}), ValueError, "0 to 1"),
        (lambda: any_text("x", annotations={"lastModified": 5}), TypeError, "lastModified"),
        (lambda: any_text("x", annotations={"prio": 1}), ValueError, "no 'prio'"),
        (lambda: any_text("x", meta="m"), TypeError, "meta of a block"),
        (lambda: Block().as_dict(), NotImplementedError, "is no block"),
    ],
)
def test_a_block_that_is_written_wrongly_says_so_where_it_is_written(
    write: Callable[[], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        write()
