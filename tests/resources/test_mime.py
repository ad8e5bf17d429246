"""Text or base64, by MIME type."""

from __future__ import annotations

import base64

import pytest

from mcp_gateway.resources.mime import contents, guess, is_mime_type, is_text


@pytest.mark.parametrize(
    "mime_type",
    ["text/markdown", "TEXT/plain; charset=utf-8", "application/json", "application/xml", "application/ld+json",
     "image/svg+xml", "application/vnd.api+json", "application/yaml", "application/javascript"],
)  # fmt: skip
def test_text_is_sent_as_text(mime_type: str) -> None:
    assert is_text(mime_type)
    assert contents("x:y", mime_type, "é".encode()) == {"uri": "x:y", "mimeType": mime_type, "text": "é"}


@pytest.mark.parametrize("mime_type", ["image/png", "application/pdf", "application/octet-stream", "audio/wav"])
def test_everything_else_is_base64(mime_type: str) -> None:
    item = contents("x:y", mime_type, b"\xff\x00")
    assert base64.b64decode(item["blob"]) == b"\xff\x00"
    assert "text" not in item


def test_a_byte_order_mark_is_no_text() -> None:
    assert contents("x:y", "text/plain", b"\xef\xbb\xbfa")["text"] == "a"


@pytest.mark.parametrize(
    ("name", "content", "mime_type"),
    [
        ("guide.md", b"", "text/markdown"),
        ("a.JSON", b"", "application/json"),
        ("logo.png", b"", "image/png"),
        ("README", b"hello", "text/plain"),
        ("README", b"\x00", "application/octet-stream"),
        ("README", b"\xff", "application/octet-stream"),
    ],
)
def test_a_file_without_a_type_has_that_of_its_name(name: str, content: bytes, mime_type: str) -> None:
    assert guess(name, content) == mime_type


@pytest.mark.parametrize("text", ["text", "text/", "/plain", "a/b\n", "a b/c"])
def test_not_every_text_is_a_mime_type(text: str) -> None:
    assert not is_mime_type(text)
