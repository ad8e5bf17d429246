"""How the cost of a request grows with the number of tools that a site has."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tests.benchmarks import http_client
from tests.benchmarks.gateway import Site
from tests.benchmarks.processes import cores
from tests.benchmarks.rounds import Numbers, Options, Results, interleave
from tests.benchmarks.wire import WARM_UP, Target, requests, serving
from tests.benchmarks.workload import MODERN


def measure(options: Options, results: Results, wanted: set[str]) -> None:
    """CPU seconds of the server's processes per request, one connection, for sites of different sizes."""
    with ExitStack() as stack:
        cases: dict[str, Callable[[], Numbers]] = {}
        for count in sorted({int(case.split()[1]) for case in wanted}):
            site = Site(options.folder / f"tools-{count}", count)
            site.prepare()
            server = stack.enter_context(serving(site.serve(f"the gateway with {count} tools", on=cores()[0])))
            call, listing = requests(site.port, "/mcp", MODERN, site.protected, token=site.token)
            for what, request in (("call", call), ("list", listing)):
                if f"tools {count} {what}" in wanted:
                    http_client.run(request, 4, 0, at_least=WARM_UP)
                    cases[f"tools {count} {what}"] = _loader(Target(server, request), options.seconds)
        interleave(results, cases, options.rounds)


def _loader(target: Target, seconds: float) -> Callable[[], Numbers]:
    return lambda: target.load(1, seconds)
