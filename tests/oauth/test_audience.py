"""One canonical URL per endpoint."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import clear_script_prefix, set_script_prefix

from mcp_gateway.models import Endpoint
from mcp_gateway.oauth import audience

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://h.example/mcp", "https://h.example/mcp"),
        ("https://h.example/mcp/", "https://h.example/mcp"),
        ("HTTPS://H.Example:443/mcp", "https://h.example/mcp"),
        ("http://h.example:80/", "http://h.example"),
        ("http://h.example:8080/mcp", "http://h.example:8080/mcp"),
        ("https://h.example:/mcp", "https://h.example/mcp"),
        ("https://[2001:DB8::1]:443/mcp", "https://[2001:db8::1]/mcp"),
        ("https://h.example/MCP", "https://h.example/MCP"),
        ("https://h.example/mcp?a=1", "https://h.example/mcp?a=1"),
        ("https://h.example/mcp#", None),
        ("https://h.example/mcp#x", None),
        ("https://user@h.example/mcp", None),
        ("https://h.example:x/mcp", None),
        ("https://h.example:99999/mcp", None),
        ("https:///mcp", None),
        ("//h.example/mcp", None),
        ("/mcp", None),
        ("urn:example:mcp", None),
        ("", None),
        ("https://h.example/m cp", None),
        ("https://h.example/mcp\0", None),
        ("https://h.example/mcp\n", None),
        ("https://[::1/mcp", None),
        ("https://h.example/" + "x" * 2000, None),
    ],
)
def test_one_spelling_for_one_resource(url: str, canonical: str | None) -> None:
    assert audience.canonicalise(url) == canonical


def test_both_spellings_of_an_endpoint_have_their_url() -> None:
    assert audience.resource_url("") == "http://testserver/mcp"
    assert audience.resource_url("", trailing_slash=True) == "http://testserver/mcp/"
    assert audience.resource_url("billing") == "http://testserver/mcp/billing"
    assert audience.canonical_url("billing") == "http://testserver/mcp/billing"


def test_a_resource_parameter_means_an_enabled_endpoint_or_nothing() -> None:
    billing = Endpoint.objects.create(slug="billing")
    assert audience.resolve("HTTP://TESTSERVER:80/mcp/") == ""
    assert audience.resolve("http://testserver/mcp/billing/") == "billing"
    assert audience.resolve("http://testserver/mcp/nosuch") is None
    assert audience.resolve("http://testserver/") is None
    assert audience.resolve("nonsense") is None
    billing.enabled = False
    billing.save()
    assert audience.resolve("http://testserver/mcp/billing") is None


def test_the_path_follows_from_where_the_project_includes_the_endpoint(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.oauth.urls_misplaced"
    assert audience.resource_url("") == "http://testserver/api/mcp"


def test_a_path_prefix_in_the_public_url_is_part_of_every_url(settings: Any) -> None:
    settings.ZOLINGA = {"PUBLIC_URL": "https://h.example/prefix/"}
    assert audience.resource_url("") == "https://h.example/prefix/mcp"
    assert audience.base_url() == "https://h.example/prefix"
    set_script_prefix("/prefix/")
    try:
        assert audience.resource_url("") == "https://h.example/prefix/mcp"
    finally:
        clear_script_prefix()


def test_the_servers_prefix_counts_where_the_public_url_has_none(settings: Any) -> None:
    settings.ZOLINGA = {"PUBLIC_URL": "https://h.example"}
    set_script_prefix("/prefix/")
    try:
        assert audience.resource_url("") == "https://h.example/prefix/mcp"
    finally:
        clear_script_prefix()


def test_only_strings_are_resources() -> None:
    assert not audience.is_for([None, 5, ["http://testserver/mcp"]], "")
