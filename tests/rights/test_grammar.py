"""The grammar of a right."""

from __future__ import annotations

import pytest

from mcp_gateway.rights import parse


@pytest.mark.parametrize(
    ("text", "provider", "clauses"),
    [
        ("oauth2:scope mcp:tools", "oauth2:scope", (("mcp:tools",),)),
        ("  oauth2:scope\tmcp:tools \n orders:read ", "oauth2:scope", (("mcp:tools",), ("orders:read",))),
        ("oauth2:scope a b|c", "oauth2:scope", (("a",), ("b", "c"))),
        ("oauth2:scope a | b", "oauth2:scope", (("a", "b"),)),
        ("oauth2:scope a| b c |d", "oauth2:scope", (("a", "b"), ("c", "d"))),
        ("oauth2:scope a|a", "oauth2:scope", (("a",),)),
        ("member of users", "member of", (("users",),)),
        ("member  of users|staff", "member of", (("users", "staff"),)),
        ('member of "Support staff"|users', "member of", (("Support staff", "users"),)),
        ("perm shop.add_order shop.view_order", "perm", (("shop.add_order",), ("shop.view_order",))),
        ("authenticated", "authenticated", ()),
        (" staff ", "staff", ()),
    ],
)
def test_what_is_understood(text: str, provider: str, clauses: tuple[tuple[str, ...], ...]) -> None:
    right = parse(text)
    assert (right.provider, right.clauses, right.problem) == (provider, clauses, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "oauth2:scope",
        "oauth2:scope   ",
        "member of",
        "member of |users",
        "member of users|",
        "member of users||admins",
        'member of "users',
        'member of ""',
        'member of "a""b"',
        "perm",
        "staff please",
        '"nobody" knows',
        "|nobody",
        "nobody |knows",
        'nobody "knows',
        "authenticated users",
    ],
)
def test_what_is_not_understood_has_a_problem_and_no_clauses(text: str) -> None:
    right = parse(text)
    assert right.problem
    assert right.clauses == ()


@pytest.mark.parametrize("text", ["", "oauth2:scope", "staff please", "|nobody", 'nobody "knows'])
def test_what_is_not_understood_is_no_matter_for_modules(text: str) -> None:
    assert not parse(text).foreign


@pytest.mark.parametrize(
    ("text", "provider", "clauses"),
    [
        ("oauth2:scopes a", "oauth2:scopes", (("a",),)),
        ("OAuth2:scope a", "OAuth2:scope", (("a",),)),
        ("member users", "member", (("users",),)),
        ("owner", "owner", ()),
        ('owner of "the shop"|stall', "owner", (("of",), ("the shop", "stall"))),
    ],
)
def test_another_word_is_a_matter_for_modules_and_a_problem_without_them(
    text: str, provider: str, clauses: tuple[tuple[str, ...], ...]
) -> None:
    right = parse(text)
    assert (right.provider, right.clauses, right.foreign) == (provider, clauses, True)
    assert f"nothing answers for “{provider}”" in right.problem


def test_scopes_are_all_the_words() -> None:
    assert parse("oauth2:scope a b|c").scopes == {"a", "b", "c"}
    assert parse("member of a").scopes == frozenset()
