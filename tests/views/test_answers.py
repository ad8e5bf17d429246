"""The endpoint's responses are Django's, for every middleware that looks at their headers."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.http.response import BadHeaderError

from mcp_gateway.views.answers import json_response


def both() -> tuple[HttpResponse, HttpResponse]:
    """An answer of the endpoint, and the same response made by Django."""
    headers = {"Mcp-Session-Id": "a"}
    return json_response(b"{}", headers=headers), HttpResponse(b"{}", content_type="application/json", headers=headers)


@pytest.mark.parametrize("value", ["nosniff", "", "Grüße", "雪", b"same-origin", 1, True, 0, False, 1.0])
def test_a_header_that_is_missing_is_added_as_django_writes_it(value: Any) -> None:
    ours, django = both()
    for response in (ours, django, ours):
        response.headers.setdefault("X-Own", value)
        response.setdefault("content-TYPE", "text/plain")
    assert [*ours.items()] == [*django.items()]
    assert ours["x-own"] == django["X-OWN"]


def test_values_that_are_equal_and_read_otherwise_are_kept_apart() -> None:
    for value in (1, True, 1.0):
        ours, django = both()
        for response in (ours, django):
            response.setdefault("X-Own", value)  # type: ignore[arg-type]
        assert ours["X-Own"] == django["X-Own"] == str(value)


@pytest.mark.parametrize("value", ["a\nSet-Cookie: b", "a\r\n\r\nb", b"a\nb"])
def test_no_value_makes_a_header_of_its_own(value: Any) -> None:
    for response in both():
        with pytest.raises(BadHeaderError):
            response.headers.setdefault("X-Own", value)
        assert "X-Own" not in response


def test_a_middleware_finds_changes_and_removes_headers() -> None:
    ours, django = both()
    for response in (ours, django):
        assert "mcp-session-ID" in response.headers
        assert "X-Other" not in response.headers
        response["MCP-SESSION-ID"] = "b"
        response.headers["Vary"] = "Cookie"
        del response["Vary"]
        response.headers.pop("Content-Type")
    assert [*ours.items()] == [*django.items()] == [("MCP-SESSION-ID", "b")]
    assert dict(ours.headers) == dict(django.headers)
    assert ours.serialize_headers() == django.serialize_headers()
