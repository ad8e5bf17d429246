"""The in-process snapshot of what the database says: immutable, swapped when the generation rises.

Every worker holds one. A request learns the current generation from its one statement and calls
`snapshot(generation)`; only when the number has moved are the tables read again. Nothing signals between
workers, and nothing that a snapshot holds ever changes.

What it holds is in `entries`, how the tables become that in `reading`, which one a process has in `holding`.
"""

from mcp_gateway.registry.entries import (
    ClientEntry,
    EndpointEntry,
    ListenerEntry,
    ModuleEntry,
    ScopeEntry,
    Snapshot,
    ToolEntry,
    is_matched,
)
from mcp_gateway.registry.holding import forget, latest, snapshot

__all__ = [
    "ClientEntry",
    "EndpointEntry",
    "ListenerEntry",
    "ModuleEntry",
    "ScopeEntry",
    "Snapshot",
    "ToolEntry",
    "forget",
    "is_matched",
    "latest",
    "snapshot",
]
