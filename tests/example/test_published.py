"""The example module's resource and prompt, as a client gets them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.live import ROOT
from tests.wire import Wire

MODULE = ROOT / "modules" / "example" / "mcp"


@pytest.fixture(autouse=True)
def imported(import_manifests: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """The report of the module's import."""
    return import_manifests()


def test_the_resource_is_its_file(era: str) -> None:
    uri = "mcp-system:example:how-prices-work.md"
    assert uri in [entry["uri"] for entry in Wire().request(era, "resources/list").result["resources"]]
    (item,) = Wire().request(era, "resources/read", {"uri": uri}).result["contents"]
    assert item["text"] == (MODULE / "resources" / "how-prices-work.md").read_text()
    assert item["mimeType"] == "text/markdown"


def test_the_prompt_fills_in_both_countries(era: str) -> None:
    name = "mcp-system:example:compare-prices"
    arguments = {"first": "Austria", "second": "Germany"}
    (message,) = Wire().request(era, "prompts/get", {"name": name, "arguments": arguments}).result["messages"]
    assert "in Austria and in Germany" in message["content"]["text"]
    completed = Wire().request(
        era,
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "first", "value": "Aus"}},
    )
    assert completed.result["completion"]["values"] == ["Austria"]
