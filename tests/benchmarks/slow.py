"""Fast calls beside slow ones: 64 clients of a tool that takes 100 ms must not keep one client of a fast tool waiting.

``python -m tests.benchmarks.slow PORT TOKEN`` is the 64 clients. Each sends its next call when it has its answer, and
where it was told that the tool is busy a second later, as the answer says.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks import http_client
from tests.benchmarks.gateway import ROOT, Site
from tests.benchmarks.processes import cores
from tests.benchmarks.rounds import Numbers, Options, Results, interleave
from tests.benchmarks.wire import TOOLS, WARM_UP, Target, requests, serving
from tests.benchmarks.workload import MODERN, REQUEST_SCHEMA, RESPONSE_SCHEMA

TOOL = "slow"
CLIENTS = 64
#: Seconds from the start of the clients to where their load is steady.
SETTLED = 2.0
BACK_OFF = 1.0

HANDLER = """\
import time

from mcp_gateway.events import CallEvent


class SlowHandler:
    def on_slow(self, event: CallEvent) -> dict[str, str]:
        time.sleep(0.1)
        return {"echo": event.request["message"]}
"""


def measure(options: Options, results: Results, wanted: set[str]) -> None:
    """The p50 of one connection to the fast tool in seconds (``p50``), alone and beside the others."""
    site = Site(options.folder / "slow", TOOLS)
    _write_module(site.folder / "modules" / "slow")
    site.prepare()
    with serving(site.serve("the gateway with a slow tool", on=cores()[0])) as server:
        call = requests(site.port, "/mcp", MODERN, site.protected, token=site.token)[0]
        http_client.run(call, 4, 0, at_least=WARM_UP)
        target = Target(server, call, crowded=True)

        def beside() -> Numbers:
            with _clients(site):
                return target.load(1, options.seconds)

        cases = {"fast alone": lambda: target.load(1, options.seconds), "fast beside slow": beside}
        interleave(results, {name: case for name, case in cases.items() if name in wanted}, options.rounds)


def _write_module(folder: Path) -> None:
    (folder).mkdir()
    (folder / "slow_handler.py").write_text(HANDLER)
    entry = {
        "event": TOOL,
        "class": "\\Slow\\SlowHandler",
        "method": "onSlow",
        "origin": ["mcp"],
        "description": "Takes a tenth of a second.",
        "right": "oauth2:scope mcp:tools",
        # It writes nothing; on SQLite a transaction would be the only one of its time.
        "atomic": False,
        "schema": {"request": REQUEST_SCHEMA, "response": RESPONSE_SCHEMA},
    }
    (folder / "zolinga.json").write_text(json.dumps({"listen": [entry]}))


@contextmanager
def _clients(site: Site) -> Iterator[None]:
    argv = [sys.executable, "-m", __name__, str(site.port), site.token]
    clients = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(SETTLED)
        if clients.poll() is not None:
            raise SystemExit("The clients of the slow tool ended; their output is above.")
        yield
    finally:
        clients.terminate()
        clients.wait()


def main() -> None:
    port, token = int(sys.argv[1]), sys.argv[2]
    call = requests(port, "/mcp", MODERN, TOOL, token=token)[0]
    for _ in range(CLIENTS):
        threading.Thread(target=_call_for_ever, args=(call,), daemon=True).start()
    threading.Event().wait()


def _call_for_ever(call: http_client.Request) -> None:
    while True:
        answer = http_client.ask(call)
        if b"busy" in answer.body:
            time.sleep(BACK_OFF)


if __name__ == "__main__":
    main()
