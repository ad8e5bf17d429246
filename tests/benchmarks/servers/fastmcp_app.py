"""fastmcp: stateless, plain JSON answers, on uvicorn with uvloop and httptools, which is its fastest way."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import uvicorn
from fastmcp import FastMCP

from tests.benchmarks.workload import description, tool_names


@dataclass
class Echoed:
    echo: str


def echo(message: str) -> Echoed:
    return Echoed(message)


def main() -> None:
    port, tools = int(sys.argv[1]), int(sys.argv[2])
    server = FastMCP("benchmark")
    for name in tool_names(tools):
        server.tool(echo, name=name, description=description(name))
    app = server.http_app(path="/mcp", json_response=True, stateless_http=True)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    main()
