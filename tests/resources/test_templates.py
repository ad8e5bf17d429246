"""Finding the template that a URI was made from (RFC 6570, levels 1 and 2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_gateway.resources.templates import Template


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("test://template/{id}/data", "test://template/123/data", {"id": "123"}),
        ("test://template/{id}/data", "test://template/a%20b%2Fc/data", {"id": "a b/c"}),
        ("test://template/{id}/data", "test://template/1/2/data", None),
        ("test://template/{id}/data", "test://template//data", None),
        ("test://template/{id}/data", "test://template/data", None),
        ("test://template/{id}/data", "test://template/1/data/", None),
        ("shop:{id}", "shop:x", {"id": "x"}),
        ("shop:{id}", "shop:%FF", None),
        ("shop:{id}", "shop:%zz", None),
        ("shop:{a}-{b}", "shop:x-y-z", {"a": "x", "b": "y-z"}),
        ("files:{+path}", "files:/a/b?c", {"path": "/a/b?c"}),
        ("files:{+path}/v/{id}", "files:a/v/b/v/3", {"path": "a/v/b", "id": "3"}),
        ("page:x{#part}", "page:x#top", {"part": "top"}),
        ("page:x{#part}", "page:xtop", None),
        ("shop:{id}/x", "shop:/x", None),
        ("shop:a{id}a", "shop:a", None),
    ],
)
def test_the_values_of_a_uri(template: str, uri: str, values: dict[str, str] | None) -> None:
    assert Template(template).match(uri) == values


@pytest.mark.parametrize(
    ("template", "cure"),
    [
        ("shop:x", "Name a resource"),
        ("shop:{a}{b}", "Put text between"),
        ("shop:{a,b}", "{name}"),
        ("shop:{a*}", "{name}"),
        ("shop:{a:3}", "{name}"),
        ("shop:{?a}", "{name}"),
        ("shop:{}", "{name}"),
        ("shop:{a}/{a}", "twice"),
        ("shop: {a}", "Encode"),
        ("shop:{a", "Name a resource"),
        ("shop:{a}}", "Encode"),
    ],
)
def test_what_cannot_be_matched_is_refused_with_the_cure(template: str, cure: str) -> None:
    with pytest.raises(ValueError, match=cure.replace("{", r"\{")):
        Template(template)


def test_a_hostile_uri_takes_no_more_time_than_its_length() -> None:
    # Backtracking would take a billion steps for each of these.
    template = Template("x:" + "-".join(f"{{v{index}}}" for index in range(10)) + "!")
    assert template.match("x:" + "-" * 200_000) is None


@given(st.text(min_size=1), st.text(min_size=1))
def test_what_a_client_expands_is_found_again(first: str, second: str) -> None:
    from urllib.parse import quote

    uri = f"shop://{quote(first, safe='', errors='ignore')}/{quote(second, safe='', errors='ignore')}/x"
    found = Template("shop://{a}/{b}/x").match(uri)
    if "//" not in uri.removeprefix("shop://") and not uri.startswith("shop:///"):
        assert found == {"a": first.encode(errors="ignore").decode(), "b": second.encode(errors="ignore").decode()}
