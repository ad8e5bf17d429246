"""The process whose instructions are counted: serves requests in this process, as many as it is told to.

``python -m tests.benchmarks.counted site|bare`` reads lines ``COUNT KIND`` and answers each with ``done``.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable

from django.conf import settings
from django.test import override_settings

from tests.benchmarks.in_process import post
from tests.benchmarks.workload import MODERN, call_body, list_body, protocol_headers

BARE = "bare Django view"


def main() -> None:
    requests = _site() if sys.argv[1] == "site" else _bare()
    # When the collector runs depends on all that was allocated before, not on the request that it interrupts.
    gc.disable()
    print("done", flush=True)
    for line in sys.stdin:
        count, _, kind = line.rstrip("\n").partition(" ")
        request = requests[kind]
        for _ in range(int(count)):
            request()
        print("done", flush=True)


def _site() -> dict[str, Callable[[], None]]:
    # Under callgrind a call that waits for the machine may look slow, and slow tools are called in another way.
    override_settings(ZOLINGA={**settings.ZOLINGA, "KEEP_ALIVE_SECONDS": 3600}).enable()
    from zolinga_site.wsgi import application

    tool = os.environ["BENCHMARK_TOOL"]
    token = {"Authorization": f"Bearer {os.environ['BENCHMARK_TOKEN']}"}
    call, listing = protocol_headers(MODERN, "tools/call", tool), protocol_headers(MODERN, "tools/list")
    # WSGI has it under another name than the other headers.
    del call["Content-Type"], listing["Content-Type"]
    return {
        "tools/list": post(application, "/mcp", list_body(MODERN), 200, **listing, **token),
        "tools/call": post(application, "/mcp", call_body(tool, MODERN), 200, **call, **token),
        "401": post(application, "/mcp", call_body(tool, MODERN), 401, **call),
    }


def _bare() -> dict[str, Callable[[], None]]:
    from tests.benchmarks.servers import bare_django

    headers = protocol_headers(MODERN, "tools/call", "echo")
    del headers["Content-Type"]
    return {BARE: post(bare_django.application, "/mcp", call_body("echo", MODERN), 200, **headers)}


if __name__ == "__main__":
    main()
