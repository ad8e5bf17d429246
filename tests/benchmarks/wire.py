"""Over HTTP: the site beside its peers, the same tools and the same client for all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import http_client
from tests.benchmarks.environments import SERVERS, installed, python_of
from tests.benchmarks.gateway import ROOT, Site
from tests.benchmarks.postgres import scratch_database
from tests.benchmarks.processes import ServerProcess, cores, free_port, kept_to
from tests.benchmarks.rounds import Numbers, Options, Results, interleave
from tests.benchmarks.workload import (
    LEGACY,
    MESSAGE,
    MODERN,
    call_body,
    list_body,
    protocol_headers,
    tool_names,
)

TOOLS = 100
CONNECTIONS = (1, 16)
#: Requests sent before the first round, so that caches, pools and lazy imports are warm.
WARM_UP = 200
THREADS = 16


@dataclass(frozen=True, slots=True)
class Target:
    """One kind of request to one server.

    ``crowded``: others need the client's core too (a database, more clients), so the client may not stay awake on it.
    """

    server: ServerProcess
    request: http_client.Request
    crowded: bool = False

    def load(self, connections: int, seconds: float) -> Numbers:
        """Requests per second, p50 in seconds, the server's CPU seconds per request and the client's busy share."""
        on = self.server.on
        core = cores()[1] if on else os.sched_getaffinity(0)
        before = self.server.cpu_seconds()
        with kept_to(core):
            awake = not self.crowded and on is not None and on.isdisjoint(core)
            load = http_client.run(self.request, connections, seconds, at_least=4 * connections, awake=awake)
        cpu = (self.server.cpu_seconds() - before) / len(load.latencies)
        return {"per_second": load.per_second, "p50": load.p50, "cpu": cpu, "busy": load.busy}


Starter = Callable[[Options, Results], AbstractContextManager[dict[str, Target]]]


def measure(options: Options, results: Results, wanted: set[str]) -> None:
    """Start the servers that ``wanted`` cases need, check their answers, and measure them interleaved."""
    needed = {case.rpartition(" @")[0] for case in wanted}
    with ExitStack() as stack:
        targets: dict[str, Target] = {}
        for names, start in STARTERS:
            if needed.intersection(names):
                made = stack.enter_context(start(options, results))
                targets |= {name: target for name, target in made.items() if name in needed}
        for name, target in targets.items():
            check(name, target.request)
            http_client.run(target.request, 4, 0, at_least=WARM_UP)
        cases = {
            f"{name} @{connections}": _loader(target, connections, options.seconds)
            for name, target in targets.items()
            for connections in CONNECTIONS
            if f"{name} @{connections}" in wanted
        }
        interleave(results, cases, options.rounds)


def _loader(target: Target, connections: int, seconds: float) -> Callable[[], Numbers]:
    return lambda: target.load(connections, seconds)


def check(name: str, request: http_client.Request) -> None:
    """Look at one whole answer: a server that fails fast must not win. Raises ``SystemExit`` with the answer."""
    answer = http_client.ask(request)
    try:
        result = json.loads(answer.body.rpartition(b"data: ")[2])["result"]
        if b'"tools/list"' in request.data:
            good = len(result["tools"]) == TOOLS and all(tool["outputSchema"] for tool in result["tools"])
        else:
            good = not result["isError"] and result["structuredContent"] == {"echo": MESSAGE}
    except (ValueError, KeyError, TypeError):
        good = False
    if answer.status != 200 or not good:
        raise SystemExit(f"{name} answered {answer.status}:\n{answer.body[:2000].decode(errors='replace')}")


def requests(port: int, path: str, era: str, tool: str, *, token: str = "") -> tuple[http_client.Request, ...]:
    """The ``tools/call`` and the ``tools/list`` request to a server, in the words of an era."""
    authorization = {"Authorization": f"Bearer {token}"} if token else {}
    call = protocol_headers(era, "tools/call", tool) | authorization
    listing = protocol_headers(era, "tools/list") | authorization
    return (
        http_client.Request.post(port, path, call, call_body(tool, era)),
        http_client.Request.post(port, path, listing, list_body(era)),
    )


@contextmanager
def serving(server: ServerProcess) -> Iterator[ServerProcess]:
    try:
        yield server
    finally:
        server.stop()


SQLITE_TARGETS = [
    f"{kind}{era} {method}" for kind in ("", "open ") for era in (MODERN, LEGACY) for method in ("call", "list")
]


@contextmanager
def _sqlite(options: Options, results: Results) -> Iterator[dict[str, Target]]:
    site = Site(options.folder / "sqlite", TOOLS)
    site.prepare()
    with serving(site.serve("the gateway on SQLite", on=cores()[0])) as server:
        targets = {}
        for era in (MODERN, LEGACY):
            call, listing = requests(site.port, "/mcp", era, site.protected, token=site.token)
            open_call, open_listing = requests(site.port, "/mcp", era, site.open)
            targets[f"gateway {era} call"] = Target(server, call)
            targets[f"gateway {era} list"] = Target(server, listing)
            targets[f"gateway open {era} call"] = Target(server, open_call)
            targets[f"gateway open {era} list"] = Target(server, open_listing)
        yield targets


@contextmanager
def _postgresql(options: Options, results: Results) -> Iterator[dict[str, Target]]:
    with scratch_database(options.postgres) as url:
        if not url:
            results.facts["PostgreSQL"] = f"none answers at {options.postgres}"
            yield {}
            return
        site = Site(options.folder / "postgresql", TOOLS, database_url=url)
        site.prepare()
        with serving(site.serve("the gateway on PostgreSQL", on=cores()[0])) as server:
            yield {
                f"gateway postgresql {era} call": Target(
                    server, requests(site.port, "/mcp", era, site.protected, token=site.token)[0], crowded=True
                )
                for era in (MODERN, LEGACY)
            }


def _peer(peer: str, *, tuned: bool = False) -> Starter:
    """A peer that is its own server and speaks both eras, as it comes or tuned."""

    @contextmanager
    def start(options: Options, results: Results) -> Iterator[dict[str, Target]]:
        with sdk_server(peer, results, tuned=tuned) as server:
            name = f"tuned {peer}" if tuned else peer
            targets = {}
            for era in (MODERN, LEGACY):
                call, listing = requests(server.port, "/mcp", era, tool_names(TOOLS)[TOOLS // 2])
                targets[f"{name} {era} call"] = Target(server, call)
                targets[f"{name} {era} list"] = Target(server, listing)
            yield targets

    return start


@contextmanager
def sdk_server(peer: str, results: Results, *, tuned: bool = False) -> Iterator[ServerProcess]:
    """fastmcp's or the official server with its hundred tools, running."""
    python, port = python_of(peer), free_port()
    results.facts[f"packages of {peer}"] = installed(python)
    argv = [str(python), str(SERVERS / f"{peer}_app.py"), str(port), str(TOOLS), "tuned" if tuned else "default"]
    environment = {"PYTHONPATH": str(ROOT)}
    with serving(ServerProcess(peer, argv, port, environment=environment, on=cores()[0])) as server:
        yield server


@contextmanager
def _django_mcp_server(options: Options, results: Results) -> Iterator[dict[str, Target]]:
    peer = "django-mcp-server"
    results.facts[f"packages of {peer}"] = installed(python_of(peer))
    environment = {"BENCHMARK_TOOLS": str(TOOLS)}
    with serving(wsgi_server(peer, python_of(peer), "django_mcp_server_site:application", environment)) as server:
        call, listing = requests(server.port, "/mcp", LEGACY, tool_names(TOOLS)[TOOLS // 2])
        yield {f"{peer} call": Target(server, call), f"{peer} list": Target(server, listing)}


@contextmanager
def _django_mcpz(options: Options, results: Results) -> Iterator[dict[str, Target]]:
    peer = "django-mcpz"
    python = python_of(peer)
    results.facts[f"packages of {peer}"] = installed(python)
    environment = {"BENCHMARK_TOOLS": str(TOOLS), "BENCHMARK_DATABASE": str(options.folder / "mcpz.sqlite3")}
    token = run_script(python, "django_mcpz_site.py", environment)
    with serving(wsgi_server(peer, python, "django_mcpz_site:application", environment)) as server:
        tool = tool_names(TOOLS)[TOOLS // 2]
        open_call, open_listing = requests(server.port, "/mcp", MODERN, tool)
        call, _ = requests(server.port, "/token", MODERN, tool, token=token)
        yield {
            "django-mcpz token call": Target(server, call),
            "django-mcpz open call": Target(server, open_call),
            "django-mcpz open list": Target(server, open_listing),
        }


@contextmanager
def _bare(options: Options, results: Results) -> Iterator[dict[str, Target]]:
    with (
        serving(wsgi_server("bare Django", Path(sys.executable), "bare_django:application", {})) as django,
        serving(wsgi_server("bare WSGI", Path(sys.executable), "bare_django:without_django", {})) as wsgi,
    ):
        tool = tool_names(TOOLS)[TOOLS // 2]
        yield {
            "bare Django view": Target(django, requests(django.port, "/mcp", MODERN, tool)[0]),
            "bare Django view, crowded": Target(django, requests(django.port, "/mcp", MODERN, tool)[0], crowded=True),
            "bare WSGI": Target(wsgi, requests(wsgi.port, "/mcp", MODERN, tool)[0]),
        }


def wsgi_server(name: str, python: Path, application: str, environment: dict[str, str]) -> ServerProcess:
    """A WSGI application on granian, with the settings that ``manage.py up`` gives it."""
    port = free_port()
    return ServerProcess(
        name,
        [python, SERVERS / "granian_wsgi.py", application, str(port), str(THREADS)],
        port,
        environment={"PYTHONPATH": f"{ROOT}:{SERVERS}", **environment},
        on=cores()[0],
    )


def run_script(python: Path, script: str, environment: dict[str, str]) -> str:
    """What a script in `servers/` prints, run by another interpreter."""
    done = subprocess.run(
        [str(python), str(SERVERS / script)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{SERVERS}", **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{script} failed:\n{done.stderr}")
    return done.stdout.strip()


def _eras(peer: str) -> set[str]:
    return {f"{peer} {era} {what}" for era in (MODERN, LEGACY) for what in ("call", "list")}


#: What each starter can give, by the names of its targets.
STARTERS: list[tuple[set[str], Starter]] = [
    ({f"gateway {what}" for what in SQLITE_TARGETS}, _sqlite),
    ({f"gateway postgresql {era} call" for era in (MODERN, LEGACY)}, _postgresql),
    (_eras("fastmcp"), _peer("fastmcp")),
    (_eras("official"), _peer("official")),
    (_eras("tuned fastmcp"), _peer("fastmcp", tuned=True)),
    (_eras("tuned official"), _peer("official", tuned=True)),
    ({"django-mcp-server call", "django-mcp-server list"}, _django_mcp_server),
    ({"django-mcpz token call", "django-mcpz open call", "django-mcpz open list"}, _django_mcpz),
    ({"bare Django view", "bare Django view, crowded", "bare WSGI"}, _bare),
]
