"""The official SDK's server, stateless: as it comes, or (third argument ``tuned``) with plain JSON answers."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from mcp.server.mcpserver import MCPServer

from tests.benchmarks.servers.uvicorn_run import run
from tests.benchmarks.workload import description, tool_names


@dataclass
class Echoed:
    echo: str


def echo(message: str) -> Echoed:
    return Echoed(message)


def main() -> None:
    port, tools, tuned = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "tuned"
    server = MCPServer("benchmark", log_level="ERROR")
    for name in tool_names(tools):
        server.add_tool(echo, name=name, description=description(name))
    app = server.streamable_http_app(json_response=tuned, stateless_http=True)
    run(app, port, tuned)


if __name__ == "__main__":
    main()
