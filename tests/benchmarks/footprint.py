"""What a process weighs: the memory of a worker after work, and the CPU time that importing everything takes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import http_client
from tests.benchmarks.environments import python_of
from tests.benchmarks.gateway import ROOT, Site
from tests.benchmarks.processes import cores
from tests.benchmarks.rounds import Numbers, Options, Results, interleave
from tests.benchmarks.wire import TOOLS, requests, sdk_server, serving
from tests.benchmarks.workload import LEGACY, MODERN, tool_names

#: Requests that a worker answers before its memory is read, over 16 connections so that every thread has worked.
REQUESTS = 3000

#: All that serving needs, imported: the application, and the views behind its URLs.
OUR_IMPORT = "import zolinga_site.wsgi; from django.urls import get_resolver; get_resolver().url_patterns"
PEER_IMPORT = "from fastmcp import FastMCP; FastMCP('benchmark').http_app(); import uvicorn"


def measure(options: Options, results: Results, wanted: set[str]) -> None:
    """Memory in MiB (``rss``) and CPU seconds (``cpu``), ours and fastmcp's."""
    site = Site(options.folder / "footprint", TOOLS)
    site.prepare()
    cases: dict[str, Callable[[], Numbers]] = {
        "import gateway": lambda: _import_cpu(Path(sys.executable), OUR_IMPORT, site.environment),
        "import fastmcp": lambda: _import_cpu(python_of("fastmcp"), PEER_IMPORT, {"PYTHONDONTWRITEBYTECODE": ""}),
        "memory gateway": lambda: _our_memory(site),
        "memory fastmcp": lambda: _peer_memory(results),
    }
    chosen = {name: run for name, run in cases.items() if name in wanted}
    for name, run in chosen.items():
        if name.startswith("import"):
            run()  # compiles to bytecode and fills the page cache
    interleave(results, chosen, options.rounds)


def _import_cpu(python: Path, code: str, environment: dict[str, str]) -> Numbers:
    child = subprocess.Popen([str(python), "-c", code], cwd=ROOT, env={**os.environ, **environment})
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{python} could not run: {code}")
    return {"cpu": usage.ru_utime + usage.ru_stime}


def _our_memory(site: Site) -> Numbers:
    with serving(site.serve("the gateway", on=cores()[0])) as server:
        call = requests(site.port, "/mcp", MODERN, site.protected, token=site.token)[0]
        http_client.run(call, 16, 0, at_least=REQUESTS)
        return {"rss": server.worker_rss()}


def _peer_memory(results: Results) -> Numbers:
    with sdk_server("fastmcp", results) as server:
        call = requests(server.port, "/mcp", LEGACY, tool_names(TOOLS)[TOOLS // 2])[0]
        http_client.run(call, 16, 0, at_least=REQUESTS)
        return {"rss": server.worker_rss()}
