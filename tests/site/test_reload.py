"""``manage.py up`` in development: what is saved is served, and what a save breaks goes on as it was."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.live import PATIENCE, Site, until


class Draft:
    """A module that is being written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write_handler(self, answer: str) -> None:
        (self.folder / "__init__.py").write_text(
            f"class Handler:\n    def on_call(self, event):\n        return {{'answer': '{answer}'}}\n"
        )

    def write_manifest(self, name: str, **changes: object) -> None:
        listener = {
            "event": name,
            "class": "\\Draft\\Handler",
            "method": "onCall",
            "origin": ["mcp"],
            "schema": {"response": {"type": "object"}},
            **changes,
        }
        self.write(json.dumps({"name": "Draft", "listen": [listener]}))

    def write(self, manifest: str) -> None:
        """In one step, as editors save."""
        (self.folder / "new").write_text(manifest)
        (self.folder / "new").replace(self.folder / "zolinga.json")


@pytest.fixture
def draft(site: Site, tmp_path: Path) -> Draft:
    """A module under work, the only one beside the example."""
    folder = tmp_path / "modules" / "draft"
    folder.mkdir(parents=True)
    site.environment = {**site.environment, "ZOLINGA_MODULE_DIRS": str(folder.parent)}
    return Draft(folder)


def answer_of(site: Site, tool: str) -> str:
    """What a tool answers."""
    with site.client() as client:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}
        text: str = client.post("/mcp", json=call).json()["result"]["content"][0]["text"]
        return text


def wait_for_answer(site: Site, tool: str, answer: str) -> None:
    """Call a tool until the new workers answer: the old ones may be there for a moment after an import, and hang up."""
    deadline = time.monotonic() + PATIENCE
    found = ""
    while answer not in found:
        with suppress(httpx.TransportError):
            found = answer_of(site, tool)
        assert time.monotonic() < deadline, f"{tool} never answered {answer}, but {found}"
        time.sleep(0.1)


@pytest.mark.parametrize(("arguments", "debug"), [(("--reload",), ""), ((), "on")])
def test_in_development_a_changed_manifest_and_changed_code_are_served(
    site: Site, draft: Draft, arguments: tuple[str, ...], debug: str
) -> None:
    draft.write_handler("old")
    draft.write_manifest("before")
    site.environment = {**site.environment, "DEBUG": debug}
    with site.up(*arguments) as process:
        assert "before" in site.tools()
        draft.write_handler("new")
        draft.write_manifest("after")
        until(process, "Imported")
        assert "before" not in site.tools()
        wait_for_answer(site, "after", "new")


def test_a_save_that_breaks_a_module_leaves_it_serving_and_the_mended_one_is_served(site: Site, draft: Draft) -> None:
    draft.write_handler("old")
    draft.write_manifest("first")
    with site.up("--reload") as process:
        assert "first" in site.tools()

        draft.write('{"name": "Draft", "listen": [')
        said = until(process, "Imported", "Nothing was written")
        assert "The manifest cannot be read: it is no JSON" in said
        assert "old" in answer_of(site, "first")

        draft.write_manifest("first", schema={"response": {"type": "strange"}})
        said = until(process, "Imported", "Nothing was written")
        assert "The response schema of first is refused" in said
        assert "Kept as it was" in said
        assert "old" in answer_of(site, "first")

        draft.write_manifest("second")
        until(process, "Imported")
        assert "first" not in site.tools()
        assert "old" in answer_of(site, "second")


def test_code_that_does_not_load_leaves_the_old_serving_and_the_mended_one_is_served(site: Site, draft: Draft) -> None:
    draft.write_handler("old")
    draft.write_manifest("first")
    code = draft.folder / "__init__.py"
    with site.up("--reload") as process:
        assert "old" in answer_of(site, "first")

        code.write_text("x = (")
        said = until(process, "Not restarted")
        assert "Lacking for first" in said
        assert "SyntaxError" in said
        assert "old" in answer_of(site, "first")

        code.write_text("import nothing_of_that_name")
        assert "ModuleNotFoundError" in until(process, "Not restarted")
        assert "old" in answer_of(site, "first")

        draft.write_handler("new")
        draft.write_manifest("second")
        until(process, "Imported")
        wait_for_answer(site, "second", "new")


def test_without_reload_the_server_leaves_the_files_alone_also_in_development(site: Site) -> None:
    site.environment = {**site.environment, "DEBUG": "on"}
    with site.up("--no-reload") as process:
        watched = Path(f"/proc/{process.pid}/cmdline")
        if watched.exists():
            assert b"--watch" not in watched.read_bytes()
        assert "getPricingList" in site.tools()
