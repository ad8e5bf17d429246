"""The README names the versions of the clients that these tests run."""

from __future__ import annotations

import json
import re
import tomllib

from tests.clients.conftest import TYPESCRIPT
from tests.conformance.toolchain import SUITE, SUITE_VERSION
from tests.live import ROOT

# Packages of a row's own are named in it; these belong to the tour of another.
PARTS_OF_OTHERS = {"@modelcontextprotocol/ext-tasks"}


def test_the_table_of_tested_clients_names_the_versions_that_are_run() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| [^|]*`([^`|]+)` \| (\S+) \|", text, re.MULTILINE))
    pinned = json.loads((TYPESCRIPT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [python] = re.findall(r'"(mcp)>=([\d.]+),<3"', json.dumps(project))
    run = {name: version for name, version in pinned.items() if name not in PARTS_OF_OTHERS}
    assert rows == {**run, SUITE: SUITE_VERSION, python[0]: python[1]}


def test_the_commands_for_the_inspector_take_the_version_that_is_run() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pinned = json.loads((TYPESCRIPT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    inspector = "@modelcontextprotocol/inspector"
    assert set(re.findall(rf"npx -y {inspector}(?:@(\S+))?", text)) == {pinned[inspector]}
