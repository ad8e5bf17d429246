"""The agent skills in the package: in the form that agents read, and every command in them works."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from tests.authoring.documents import blocks, commands, run
from tests.authoring.test_tools import tree

SKILLS = files("mcp_gateway") / "skills"
NAMES = ("create-mcp-tool", "convert-remote-event-to-mcp-tool")

SHOP = """
class Orders:
    def on_list(self, event) -> "list[str]":
        return ["tea"][: event.request.get("customer", 7)]

    def on_find(self, event):
        event.response = find(event.request)


def find(request):
    return {"order": 1, **request}
"""


def skill(name: str) -> str:
    return (SKILLS / name / "SKILL.md").read_text(encoding="utf-8")


def shell(name: str) -> list[str]:
    return [line for block in blocks(skill(name)) if block.mark == "sh" for line in commands(block.text)]


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_begins_with_its_name_and_when_to_use_it(name: str) -> None:
    head = re.match(r"\A---\nname: (?P<name>.+)\ndescription: (?P<description>.+)\n---\n\n# ", skill(name))
    assert head is not None
    assert head["name"] == name
    assert re.fullmatch(r"[a-z0-9-]{1,64}", name)
    assert 50 < len(head["description"]) <= 1024
    assert "Use when" in head["description"]
    # A plain YAML scalar: nothing in it that would need quotes.
    assert not re.search(r": |\s#|^[\[{&*!|>'\"%@`-]", head["description"])


def test_there_are_no_others() -> None:
    assert sorted(entry.name for entry in SKILLS.iterdir()) == sorted(NAMES)


def test_the_commands_for_a_new_tool_work(db: None, module_dir: Path) -> None:
    get_user_model().objects.create_superuser("admin", password="only-for-tests")
    lines = shell("create-mcp-tool")
    assert len(lines) == 4
    answered = [run(line) for line in lines]
    assert json.loads(answered[-1])["structuredContent"] == {"greeting": "Hello, Ada!"}
    written = tree(module_dir / "orders")
    for path in re.findall(r"`((?:schemas|mcp|tests)/[^`]+)`", skill("create-mcp-tool")):
        assert path in written, path


def test_the_commands_for_an_event_work(
    db: None, write_module: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry: dict[str, Any] = {"class": "\\Shop\\Orders", "origin": ["remote"]}
    events = [
        {**entry, "event": "shop:orders:list", "method": "onList"},
        {**entry, "event": "shop:orders:find", "method": "onFind"},
    ]
    folder = write_module({"listen": events}, {"orders.py": SHOP}, module="shop")
    recorded = [{"type": "shop:orders:find", "request": {"number": 1}}, {"response": {"order": 1, "number": 1}}]
    (tmp_path / "recorded.json").write_text(json.dumps(recorded), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lines = shell("convert-remote-event-to-mcp-tool")
    assert len(lines) == 4
    answered = [run(line) for line in lines]
    assert json.loads(answered[-1])["structuredContent"] == ["tea"]
    assert json.loads((folder / "schemas/findOrderRequest.json").read_text())["required"] == ["number"]
    assert json.loads((folder / "schemas/findOrderResponse.json").read_text())["required"] == ["order", "number"]
