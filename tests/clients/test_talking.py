"""The official Python client hears what a call says, calls it off and is told of changes; the site has two workers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ToolsListChanged

from tests.clients.test_python_sdk import ERAS, in_loop
from tests.live import PATIENCE, Migrated, Site

HANDLERS = """
import time
from pathlib import Path

FOLDER = Path({folder!r})


class Handler:
    def on_work(self, event):
        for done in range(1, 4):
            event.log("debug", "not for everyone")
            event.log("info", {{"step": done}}, "shop")
            event.progress(done, 3, f"Step {{done}}")
        return {{"done": True}}

    def on_endless(self, event):
        event.progress(1)
        while not event.cancelled:
            time.sleep(0.01)
        (FOLDER / event.request["name"]).touch()
        return {{}}

    def on_late(self, event):
        return {{}}
"""
URI = "mcp-system:talking:terms.txt"


@dataclass
class Talking:
    """The site, the folder of its module and the one where its tool leaves word."""

    site: Site
    module: Path
    folder: Path

    def write(self, *tools: str) -> None:
        """The module's manifest."""
        listen = [
            {
                "event": name,
                "class": "\\Talking\\Handler",
                "method": f"on_{name}",
                "origin": ["mcp"],
                "atomic": False,
                "schema": {"response": {"type": "object"}},
            }
            for name in tools
        ]
        (self.module / "zolinga.json").write_text(json.dumps({"name": "Talking", "listen": listen}), encoding="utf-8")

    def publish(self, name: str, text: str) -> None:
        """A text file of the module as a resource."""
        resources = self.module / "mcp" / "resources"
        resources.mkdir(parents=True, exist_ok=True)
        (resources / name).write_text(text, encoding="utf-8")
        meta = {"name": name, "mimeType": "text/plain"}
        (resources / f"{name}.meta.json").write_text(json.dumps(meta), encoding="utf-8")

    async def imported(self) -> None:
        """Import, in a process of its own."""
        await anyio.to_thread.run_sync(lambda: self.site.manage("import_manifests"))


@pytest.fixture(scope="module")
def talking(migrated: Migrated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talking]:
    """A site with two workers and tools that talk."""
    folder = tmp_path_factory.mktemp("talking")
    module = folder / "modules" / "talking"
    module.mkdir(parents=True)
    with migrated.copy(folder / "var", {"ZOLINGA_MODULE_DIRS": str(module.parent)}) as site:
        made = Talking(site, module, folder)
        made.write("work", "endless")
        made.publish("terms.txt", "Old terms.")
        (module / "handler.py").write_text(HANDLERS.format(folder=str(folder)), encoding="utf-8")
        with site.up("--workers", "2"):
            yield made


@asynccontextmanager
async def connect(talking: Talking, mode: str, logged: list[Any] | None = None) -> AsyncIterator[Client]:
    """A client that could be asked something, so that it gets a session in the legacy era."""

    async def roots(context: Any) -> mcp_types.ListRootsResult:
        return mcp_types.ListRootsResult(roots=[])

    async def log(params: Any) -> None:
        if logged is not None:
            logged.append((params.level, params.logger, params.data))

    async with (
        httpx2.AsyncClient(timeout=PATIENCE) as http,
        Client(
            streamable_http_client(talking.site.endpoint, http_client=http),
            mode=mode,
            list_roots_callback=roots,
            logging_callback=log,
            log_level="info",
        ) as client,
    ):
        yield client


@ERAS
def test_a_client_hears_progress_and_log_messages(talking: Talking, mode: str, version: str) -> None:
    heard: list[Any] = []
    logged: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def run() -> None:
        async with connect(talking, mode, logged) as client:
            assert client.protocol_version == version
            result = await client.call_tool("work", {}, progress_callback=note)
            assert result.structured_content == {"done": True}, result

    in_loop(run)
    assert heard == [(done, 3, f"Step {done}") for done in (1, 2, 3)]
    assert logged == [("info", "shop", {"step": step}) for step in (1, 2, 3)]


@ERAS
def test_a_call_that_its_client_gives_up_is_cancelled(talking: Talking, mode: str, version: str) -> None:
    # By hanging up, or by a notification that arrives at either worker.
    async def give_up(client: Client, name: str) -> None:
        begun = anyio.Event()

        async def note(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        async def call() -> None:
            await client.call_tool("endless", {"name": name}, progress_callback=note)

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await begun.wait()
            group.cancel_scope.cancel()

    async def run() -> None:
        async with connect(talking, mode) as client:
            for name in (f"given-up-{mode}-{number}" for number in range(3)):
                await give_up(client, name)
                with anyio.fail_after(PATIENCE):
                    while not (talking.folder / name).exists():
                        await anyio.sleep(0.01)
            assert (await client.call_tool("work", {})).structured_content == {"done": True}

    in_loop(run)


def test_a_client_is_told_of_a_changed_file_and_of_changed_lists(talking: Talking) -> None:
    async def run() -> None:
        # More connections than one, which the two workers share by chance.
        async with (
            connect(talking, "2026-07-28") as client,
            connect(talking, "2026-07-28") as another,
            client.listen(resource_subscriptions=[URI]) as files,
            another.listen(tools_list_changed=True, resources_list_changed=True) as lists,
        ):
            with anyio.fail_after(PATIENCE):
                talking.publish("terms.txt", "New terms.")
                await talking.imported()
                event = await anext(aiter(files))
                assert event == ResourceUpdated(uri=URI)
                (content,) = (await client.read_resource(URI)).contents
                assert isinstance(content, mcp_types.TextResourceContents)
                assert content.text == "New terms."

                talking.publish("more.txt", "More.")
                talking.write("work", "endless", "late")
                await talking.imported()
                told = aiter(lists)
                assert {type(await anext(told)), type(await anext(told))} == {
                    ToolsListChanged,
                    ResourcesListChanged,
                }
                assert "late" in {tool.name for tool in (await another.list_tools()).tools}

    in_loop(run)
