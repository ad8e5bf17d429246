"""The ``WWW-Authenticate`` value, read with the grammar of RFC 9110."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcp_gateway.oauth.challenge import challenge

pytestmark = pytest.mark.django_db

_PARAMETER = re.compile(r'([!#$%&\'*+\-.^_`|~0-9A-Za-z]+)="((?:[\t \x21\x23-\x5B\x5D-\x7E]|\\[\t \x21-\x7E])*)"')


def parameters(value: str) -> dict[str, str]:
    """RFC 9110 section 11.6.1: one challenge, its auth-params as quoted strings, each once."""
    assert value.startswith("Bearer ")
    rest, found = value.removeprefix("Bearer "), {}
    while rest:
        match = _PARAMETER.match(rest)
        assert match, rest
        assert match[1] not in found
        found[match[1]] = match[2]
        rest = rest[match.end() :]
        assert not rest or rest.startswith(", ")
        rest = rest.removeprefix(", ")
    return found


def test_a_request_without_token_learns_where_to_go_and_what_to_ask_for() -> None:
    assert challenge("", trailing_slash=False, scopes=["mcp:tools"]) == (
        'Bearer resource_metadata="http://testserver/.well-known/oauth-protected-resource/mcp", scope="mcp:tools"'
    )


def test_an_error_comes_first_and_says_why() -> None:
    value = challenge(
        "", trailing_slash=False, scopes=["a", "b"], error="insufficient_scope", description="More is needed."
    )
    assert list(parameters(value).items()) == [
        ("error", "insufficient_scope"),
        ("error_description", "More is needed."),
        ("resource_metadata", "http://testserver/.well-known/oauth-protected-resource/mcp"),
        ("scope", "a b"),
    ]


def test_the_slash_form_names_the_document_of_the_slash_form() -> None:
    value = challenge("", trailing_slash=True, scopes=())
    assert parameters(value) == {"resource_metadata": "http://testserver/.well-known/oauth-protected-resource/mcp/"}


def test_a_further_endpoint_has_its_own_document() -> None:
    value = challenge("billing", trailing_slash=False, scopes=())
    assert parameters(value)["resource_metadata"].endswith("/.well-known/oauth-protected-resource/mcp/billing")


def test_descriptions_hold_only_what_rfc_6750_allows() -> None:
    text = 'He said "no", a back\\slash,\r\nSet-Cookie: x=1 and é\x7f\0'
    found = parameters(challenge("", trailing_slash=False, scopes=(), error="invalid_token", description=text))
    assert set(found) == {"error", "error_description", "resource_metadata"}
    assert re.fullmatch(r"[\x20-\x21\x23-\x5B\x5D-\x7E]+", found["error_description"])
    assert "He said 'no', a back/slash" in found["error_description"]


def test_scopes_are_one_value_each_word_once_and_only_words_rfc_6749_knows() -> None:
    value = challenge("", trailing_slash=False, scopes=["a", "b", "a", 'c"', "d e", "f\\", "é", ""])
    assert parameters(value)["scope"] == "a b"


def test_the_origin_comes_from_the_public_url(settings: Any) -> None:
    settings.ZOLINGA = {"PUBLIC_URL": "https://mcp.example/"}
    value = challenge("", trailing_slash=False, scopes=())
    assert parameters(value)["resource_metadata"] == "https://mcp.example/.well-known/oauth-protected-resource/mcp"


def test_a_project_that_forgot_the_documents_still_names_where_they_belong(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.oauth.urls_endpoint_only"
    value = challenge("", trailing_slash=False, scopes=())
    assert parameters(value)["resource_metadata"].endswith("testserver/.well-known/oauth-protected-resource/mcp")
