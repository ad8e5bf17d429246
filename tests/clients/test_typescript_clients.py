"""The official TypeScript clients on a tour of a live site with two worker processes: ``typescript/tour.mjs``.

Each part of the tour is a test, for each client that can take it. The tour's own assertions say what a client's user
would notice; here every message that the server sent on the way is held against the official types of the version
that was spoken.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp_types.jsonrpc import ErrorData, JSONRPCNotification, JSONRPCRequest
from mcp_types.methods import parse_server_notification, parse_server_request, validate_server_result

from tests.clients.conftest import TYPESCRIPT, Programs
from tests.live import PATIENCE, Migrated, Site, lines

pytestmark = [pytest.mark.once, pytest.mark.service("NPM_CLIENTS")]

PARTS = re.findall(r'^  async "(.+)"\(', (TYPESCRIPT / "tour.mjs").read_text(encoding="utf-8"), re.MULTILINE)

# How each client is called in connect.mjs, and the version it speaks.
VERSIONS = {"client-v2": "2026-07-28", "client-v2-legacy": "2025-11-25", "sdk-v1": "2025-11-25"}
ERAS = {"client-v2": "modern", "client-v2-legacy": "legacy", "sdk-v1": "legacy"}

# A part whose name begins with an era is for the clients of that era.
STOPS = [(client, part) for part in PARTS for client, era in ERAS.items() if part.partition(": ")[0] in (era, part)]


@dataclass(frozen=True)
class Tour:
    """A live site, a token of its administrator, and the programs."""

    site: Site
    token: str
    programs: Programs


@pytest.fixture(scope="module")
def tour(migrated: Migrated, programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    """The site with the conformance fixtures and pages of five tools, brought up with two workers."""
    settings = {"DJANGO_SETTINGS_MODULE": "tests.clients.tour_settings"}
    folder = tmp_path_factory.mktemp("tour") / "var"
    with migrated.copy(folder, settings) as site, site.up("--workers", "2", task_workers=1):
        token = site.manage("mcp_token", "--user", "admin", "--scope", "mcp:tools").stdout.strip()
        yield Tour(site, token, programs)


@pytest.mark.parametrize(("client", "part"), STOPS)
def test_part(tour: Tour, tmp_path: Path, client: str, part: str) -> None:
    record = tmp_path / "record.jsonl"
    done = tour.programs.run("tour.mjs", client, part, tour.site.endpoint, str(record), tour.token)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert any(line["message"] for line in lines)
    for line in lines:
        assert line["version"] == VERSIONS[client] or line["asked"] == "initialize", line
        check(line, VERSIONS[client])


def test_a_client_hears_that_an_administrator_changed_a_tool(tour: Tour, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    part = "outside: hears that the tools changed"
    process = subprocess.Popen(
        [tour.programs.node, "tour.mjs", "client-v2", part, tour.site.endpoint, str(record), tour.token],
        cwd=tour.programs.folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert next(lines(process), "") == "listening\n"
        change = "from mcp_gateway.models import Tool; Tool.objects.filter(name='greet').update(title_override='Hi')"
        tour.site.manage("shell", "-c", change)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
    for line in record.read_text(encoding="utf-8").splitlines():
        check(json.loads(line), "2026-07-28")


def check(line: dict[str, Any], version: str) -> None:
    """A message as the record has it is one of the version's."""
    message, asked = line["message"], line["asked"]
    if message is None:
        assert line["status"] == 202, line
    elif "error" in message:
        ErrorData.model_validate(message["error"])
    elif "result" in message:
        if asked.startswith("tasks/") or message["result"].get("resultType") == "task":
            # An extension, which the core's types do not have; the client checks it.
            return
        validate_server_result(asked, version, message["result"])
    elif "id" in message:
        JSONRPCRequest.model_validate(message)
        parse_server_request(message["method"], version, message.get("params"))
    else:
        JSONRPCNotification.model_validate(message)
        parse_server_notification(message["method"], version, message.get("params"))


def inspect(tour: Tour, *arguments: str) -> tuple[int, Any, str]:
    """What MCP Inspector's command line prints: its exit code, its JSON, and what it says beside it."""
    program = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    done = tour.programs.run(program, "--cli", tour.site.endpoint, "--transport", "http", *arguments)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr


def test_inspector_lists_the_tools(tour: Tour) -> None:
    code, listed, said = inspect(tour, "--method", "tools/list")
    assert code == 0, said
    names = [tool["name"] for tool in listed["tools"]]
    assert {"getPricingList", "test_image_content"} <= set(names)


def test_inspector_calls_a_tool(tour: Tour) -> None:
    code, result, said = inspect(
        tour, "--method", "tools/call", "--tool-name", "getPricingList", "--tool-arg", "search=austria"
    )
    assert code == 0, said
    assert "Austria" in json.dumps(result["structuredContent"])


def test_inspector_calls_a_protected_tool_with_a_token(tour: Tour) -> None:
    call = ("--method", "tools/call", "--tool-name", "listPriceAlerts")
    assert inspect(tour, *call)[0] != 0
    code, result, said = inspect(tour, *call, "--header", f"Authorization: Bearer {tour.token}")
    assert code == 0, said
    assert result["isError"] is False
