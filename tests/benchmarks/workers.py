"""What a second worker brings, with client and servers free to use every core."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tests.benchmarks import http_client
from tests.benchmarks.gateway import Site
from tests.benchmarks.processes import free_port
from tests.benchmarks.rounds import Numbers, Options, Results, interleave
from tests.benchmarks.wire import TOOLS, WARM_UP, Target, requests, serving
from tests.benchmarks.workload import MODERN

CONNECTIONS = 16


def measure(options: Options, results: Results, wanted: set[str]) -> None:
    """The same site served by one worker and by two, each on its own port, both up all the time."""
    site = Site(options.folder / "workers", TOOLS)
    site.prepare()
    with ExitStack() as stack:
        cases: dict[str, Callable[[], Numbers]] = {}
        for count in (1, 2):
            name = f"the gateway with {count} workers"
            server = stack.enter_context(serving(site.serve(name, on=None, workers=count, port=free_port())))
            request = requests(server.port, "/mcp", MODERN, site.protected, token=site.token)[0]
            http_client.run(request, CONNECTIONS, 0, at_least=2 * WARM_UP)
            cases[f"workers {count}"] = _loader(Target(server, request), options.seconds)
        interleave(results, cases, options.rounds)


def _loader(target: Target, seconds: float) -> Callable[[], Numbers]:
    return lambda: target.load(CONNECTIONS, seconds)
