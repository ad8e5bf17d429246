"""Answers that stay open: a handler that talks while it runs, on a thread of its own, and messages on their way out.

`Outlet` holds what waits to be sent, `Running` a method's work on a parked thread that borrows the request's database
connections. `changes` tells streams of what administrators and imports change.
"""

from mcp_gateway.streams.outlet import KEEP_ALIVE, Outlet, event
from mcp_gateway.streams.pace import Pace
from mcp_gateway.streams.running import Running

__all__ = ["KEEP_ALIVE", "Outlet", "Pace", "Running", "event"]
