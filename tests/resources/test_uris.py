"""What is a URI, which two are the same, which may reach a client (RFC 3986)."""

from __future__ import annotations

import pytest

from mcp_gateway.resources.uris import declaration_problem, is_uri, may_leave, normal, published, scheme_of


@pytest.mark.parametrize(
    "text",
    ["mcp-system:demo:about.md", "test://x/1?y=2#z", "https://a.example/%C3%A9", "shop:1", "urn:isbn:0"],
)
def test_uris_are_told_from_other_texts(text: str) -> None:
    assert is_uri(text)


@pytest.mark.parametrize(
    "text",
    ["", "about.md", "/etc/passwd", "C:\\x", "c:/x", "shop:", "shop:a b", "shop:é", "shop:%", "shop:%4", "1a:x",
     "a\n:b", "shop:x\n", "shop:<x>", "shop:{x}"],
)  # fmt: skip
def test_other_texts_are_no_uris(text: str) -> None:
    assert not is_uri(text)


def test_spellings_of_one_uri_are_the_same() -> None:
    assert normal("MCP-System:demo:setup%20guide.md") == normal("mcp-system:demo:%73etup%20guide.md")
    assert normal("shop:%c3%a9") == "shop:%C3%A9"
    assert normal("shop:A") != normal("shop:a")


def test_an_encoded_slash_stays_encoded() -> None:
    assert normal("mcp-system:demo:..%2fsecret.md") == "mcp-system:demo:..%2Fsecret.md"


def test_a_published_name_is_encoded_and_reads_back() -> None:
    assert published("demo", "setup guide.md") == "mcp-system:demo:setup%20guide.md"
    assert is_uri(published("demo", "a/b?c#d%é.md"))


@pytest.mark.parametrize("uri", ["file:///etc/passwd", "FILE:///x", "module://demo/x", "/etc/passwd", "javascript:1"])
def test_places_of_the_machine_never_leave(uri: str) -> None:
    assert not may_leave(uri, {"file", "module", "javascript", ""})


def test_only_declared_schemes_leave() -> None:
    assert may_leave("mcp-custom:x", ())
    assert may_leave("https://a.example/", ())
    assert not may_leave("shop:1", ())
    assert may_leave("SHOP:1", {"shop"})


@pytest.mark.parametrize("scheme", ["file", "Module", "c", "", "a b", 5, None])
def test_not_every_word_can_be_declared(scheme: object) -> None:
    assert declaration_problem(scheme)
    assert scheme_of("x") == ""
