"""Arguments in messages: once, never recursively."""

from __future__ import annotations

from mcp_gateway.resources.placeholders import filled


def test_arguments_are_put_in_once() -> None:
    message = {"role": "user", "content": {"type": "text", "text": "{{a}} {{ b }} {{a}}"}}
    assert filled(message, {"a": "{{b}}", "b": "{{a}}"})["content"]["text"] == "{{b}} {{a}} {{b}}"


def test_other_braces_stay_as_they_are() -> None:
    assert filled("{{c}} {a} {{}} {{{a}}}", {"a": "x"}) == "{{c}} {a} {{}} {x}"


def test_data_is_no_text() -> None:
    block = {"type": "image", "data": "{{a}}", "mimeType": "{{a}}"}
    assert filled(block, {"a": "x"}) == block
