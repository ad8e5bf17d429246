"""The official conformance suite's scenarios for authorization servers, with a person who logs in and agrees.

The suite's scenarios for servers are run by ``python -m tests.conformance``; these two need a browser.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.clients.conftest import Browser
from tests.conformance.suite import judge, read_records
from tests.conformance.toolchain import cache_folder, find_node, find_suite
from tests.live import Site, free_port, lines

pytestmark = [pytest.mark.once, pytest.mark.service("NPM_CLIENTS")]

SCENARIOS = {"authorization-server-metadata-endpoint", "authorization-code-grant"}


def test_the_suite_passes_the_authorization_server(site: Site, browser: Browser, tmp_path: Path) -> None:
    cache = cache_folder()
    node = find_node(cache)
    command = [node.binary, str(find_suite(node, cache)), "authorization", "--url", site.url]
    options = ["--client-id", "desk-agent", "--resource", site.endpoint, "--port", str(free_port())]
    process = subprocess.Popen(
        [*command, *options, "--output-dir", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said = []
    try:
        for line in lines(process):
            said.append(line)
            if line.startswith(f"{site.url}/oauth/authorize/"):
                browser.open(line.strip())
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, "".join(said)
    results = [judge(scenario, checks) for scenario, checks in read_records(tmp_path).items()]
    assert {result.scenario for result in results} == SCENARIOS, "".join(said)
    assert all(result.passed and result.proved for result in results), results
    assert len(browser.pages) == 2
