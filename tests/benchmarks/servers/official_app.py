"""The official SDK's server: stateless, plain JSON answers, on uvicorn with uvloop and httptools."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import uvicorn
from mcp.server.mcpserver import MCPServer

from tests.benchmarks.workload import description, tool_names


@dataclass
class Echoed:
    echo: str


def echo(message: str) -> Echoed:
    return Echoed(message)


def main() -> None:
    port, tools = int(sys.argv[1]), int(sys.argv[2])
    server = MCPServer("benchmark", log_level="ERROR")
    for name in tool_names(tools):
        server.add_tool(echo, name=name, description=description(name))
    app = server.streamable_http_app(json_response=True, stateless_http=True)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    main()
