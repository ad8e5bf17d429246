"""What is measured inside one process: the cost of bodies that need not be read, and of validating a result.

``python -m tests.benchmarks.in_process ROUNDS REPEATS``, under the settings of a prepared site and with the token
in ``BENCHMARK_TOKEN``, prints ``{case: {"cpu": [seconds per operation, one per round]}}``.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import orjson
from django.core.wsgi import get_wsgi_application

from tests.benchmarks.gateway import ROOT, Site
from tests.benchmarks.rounds import Options, Results
from tests.benchmarks.stats import orders
from tests.benchmarks.wire import TOOLS
from tests.benchmarks.workload import MODERN, call_body, protocol_headers

LARGE = 2_000_000
RESULT = 1_000_000


def measure(options: Options, results: Results, wanted: set[str]) -> None:
    """Run this file in a process that has the site's settings, and take over its numbers."""
    site = Site(options.folder / "in-process", TOOLS)
    site.prepare()
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(options.rounds), "20", site.protected],
        cwd=ROOT,
        env={**os.environ, **site.environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit("The measurement in the site's own process failed; its output is above.")
    for case, numbers in json.loads(done.stdout).items():
        for cpu in numbers["cpu"]:
            results.add(case, {"cpu": cpu})


def rows(count: int) -> list[dict[str, Any]]:
    """Table rows as a tool returns and takes them: identifiers, numbers, words."""
    return [
        {
            "id": number,
            "name": f"Customer {number}",
            "active": number % 3 == 0,
            "balance": number * 1.25,
            "tags": ["a", "b"],
        }
        for number in range(count)
    ]


ROW_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "active": {"type": "boolean"},
        "balance": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id", "name", "active", "balance", "tags"],
    "additionalProperties": False,
}


def of_size(size: int) -> list[dict[str, Any]]:
    """As many rows as make ``size`` bytes of JSON."""
    return rows(size // (len(orjson.dumps(rows(2000))) // 2000))


def post(application: Callable[..., Any], path: str, body: bytes, status: int, **headers: str) -> Callable[[], None]:
    """A WSGI request, ready to be made again and again; a status other than ``status`` raises ``AssertionError``."""
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "SCRIPT_NAME": "",
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "127.0.0.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": "application/json",
        "wsgi.url_scheme": "http",
        "wsgi.version": (1, 0),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
    }
    got: list[str] = []

    def start_response(line: str, response_headers: Any, exc_info: Any = None) -> None:
        got.append(line)

    def request() -> None:
        got.clear()
        response = application({**environ, "wsgi.input": io.BytesIO(body)}, start_response)
        content = b"".join(response)
        response.close()
        if not got[0].startswith(str(status)):
            raise AssertionError(f"{path} answered {got[0]}: {content[:500]!r}")

    return request


def main() -> None:
    rounds, repeats, tool = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    application = get_wsgi_application()

    from mcp_gateway.models import Endpoint
    from mcp_gateway.schemas import validator

    Endpoint.objects.create(slug="closed", title="Closed", access=Endpoint.Access.TOKEN)
    headers = protocol_headers(MODERN, "tools/call", tool)
    del headers["Content-Type"]
    small = call_body(tool, MODERN)
    large = call_body(tool, MODERN, {"message": of_size(LARGE)})
    value = {"rows": of_size(RESULT)}
    check = validator(json.dumps({"type": "object", "properties": {"rows": {"type": "array", "items": ROW_SCHEMA}}}))
    if check.faults(value):
        raise AssertionError("The result that is to be validated does not fit its schema.")

    def read_and_parse() -> None:
        json.loads(io.BytesIO(large).read())

    wrong = {"Authorization": "Bearer not-a-token"}
    cases: dict[str, Callable[[], object]] = {
        "body invalid token small": post(application, "/mcp", small, 401, **headers, **wrong),
        "body invalid token 2 MB": post(application, "/mcp", large, 401, **headers, **wrong),
        "body token required small": post(application, "/mcp/closed", small, 401, **headers),
        "body token required 2 MB": post(application, "/mcp/closed", large, 401, **headers),
        "body open endpoint 2 MB": post(application, "/mcp", large, 401, **headers),
        "body read and parsed": read_and_parse,
        "result validated": lambda: check.faults(value),
        "result encoded": lambda: orjson.dumps(value),
    }
    print(json.dumps(_timed(cases, rounds, repeats)))


def _timed(cases: dict[str, Callable[[], object]], rounds: int, repeats: int) -> dict[str, dict[str, list[float]]]:
    """CPU seconds per operation; the many light ones of a round are many enough for the clock."""
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: {"cpu": []})
    for operation in cases.values():
        operation()
    for backwards in orders(rounds):
        for name in reversed(list(cases)) if backwards else list(cases):
            many = repeats * (20 if "small" in name or "token" in name else 1)
            began = time.thread_time()
            for _ in range(many):
                cases[name]()
            times[name]["cpu"].append((time.thread_time() - began) / many)
    return times


if __name__ == "__main__":
    main()
