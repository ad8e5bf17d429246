"""The administrator's columns beside the manifest's."""

from __future__ import annotations

import pytest

from mcp_gateway.models import Tool


def test_without_overrides_the_manifest_speaks(tool: Tool) -> None:
    assert tool.effective_title == "Echo"
    assert tool.effective_description == "Says it again."
    assert tool.effective_visibility == "listed"


def test_overrides_win(tool: Tool) -> None:
    tool.title_override, tool.description_override, tool.visibility_override = "Parrot", "Repeats.", "unlisted"
    assert tool.effective_title == "Parrot"
    assert tool.effective_description == "Repeats."
    assert tool.effective_visibility == "unlisted"


def test_an_emptied_override_is_none(tool: Tool) -> None:
    tool.title_override, tool.description_override, tool.visibility_override = "", "", ""
    assert tool.effective_title == "Echo"
    assert tool.effective_description == "Says it again."
    assert tool.effective_visibility == "listed"


def test_a_switched_off_tool_is_off_whatever_else_is_said(tool: Tool) -> None:
    tool.enabled, tool.visibility_override = False, "listed"
    assert tool.effective_visibility == "off"


@pytest.mark.parametrize(
    ("rights_from", "rights", "scopes", "needed"),
    [
        ("both", [], [], ()),
        ("both", ["", ""], [], ()),
        ("both", ["staff"], ["b", "a"], ("staff", "oauth2:scope a b")),
        ("both", ["staff", "", "staff", "perm x.y"], [], ("staff", "perm x.y")),
        ("both", [], ["a"], ("oauth2:scope a",)),
        ("manifest", ["staff"], ["a"], ("staff",)),
        ("manifest", [], ["a"], ()),
        ("administrator", ["staff"], ["a"], ("oauth2:scope a",)),
        ("administrator", ["staff"], [], ()),
    ],
)
def test_rights_are_combined_in_one_place(
    rights_from: str, rights: list[str], scopes: list[str], needed: tuple[str, ...]
) -> None:
    assert Tool(rights_from=rights_from).effective_right(rights, scopes) == needed
