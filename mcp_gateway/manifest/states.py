"""What an import wants the rows of modules and listeners to hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from mcp_gateway.events.status import Origin
from mcp_gateway.manifest.discovery import Problem
from mcp_gateway.manifest.meta_files import PublishedState
from mcp_gateway.manifest.names import name_problem
from mcp_gateway.manifest.remarks import Remark
from mcp_gateway.schemas.dialects import pointer

# The response schema, as text, of a listener whose manifest says that there is none: its answer is content alone.
CONTENT_ONLY = "null"


@dataclass(slots=True)
class ListenerState:
    """The columns of a `Listener` row, as an import wants them."""

    event: str
    class_name: str
    method: str
    origins: list[str]
    occurrence: int
    identity: str
    position: int
    priority: float
    description: str
    title: str
    right: str
    visibility: str
    atomic: bool | None
    task: str
    request_schema: str = ""
    response_schema: str = ""
    extras: str = "{}"
    needs: list[str] = field(default_factory=list)
    single_use: bool = False
    problem: str = ""
    tool_problem: str = ""
    digest: str = ""

    def columns(self) -> dict[str, Any]:
        """The columns by name."""
        return {column.name: getattr(self, column.name) for column in fields(self)}

    @property
    def pointer(self) -> str:
        """Where the entry stands in its manifest."""
        return pointer("listen", self.position)


@dataclass(slots=True)
class ModuleState:
    """A module that was found. ``problem`` says why its manifest cannot be read; then the rest is empty.

    ``changelog`` is the text of its change log, None where it has none.
    """

    module_id: str
    app_label: str
    name: str = ""
    version: str = ""
    description: str = ""
    manifest: str = ""
    digest: str = ""
    autoload: str = "{}"
    schemes: str = "[]"
    problem: str = ""
    changelog: str | None = None
    dependencies: tuple[str, ...] = ()
    listeners: list[ListenerState] = field(default_factory=list)
    published: list[PublishedState] = field(default_factory=list)

    COLUMNS: ClassVar = (
        "app_label", "name", "version", "description", "manifest", "digest", "autoload", "schemes", "problem",
    )  # fmt: skip

    def columns(self) -> dict[str, Any]:
        """The columns of the `Module` row that the manifest decides."""
        return {name: getattr(self, name) for name in self.COLUMNS} | {"present": True}


@dataclass(slots=True)
class Survey:
    """Everything there is on disk.

    ``scopes`` and ``rights`` are those that sound entries name, each with where; ``news`` are warnings that need
    telling only while their entry is new; ``only`` is the id of the one module that was asked for. ``readings`` are
    the texts to keep of the modules that were read (`mcp_gateway.manifest.readings`).
    """

    modules: dict[str, ModuleState] = field(default_factory=dict)
    scopes: dict[str, Remark] = field(default_factory=dict)
    rights: list[tuple[str, Remark]] = field(default_factory=list)
    news: list[Remark] = field(default_factory=list)
    refused: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    missing_folders: list[Problem] = field(default_factory=list)
    only: str | None = None
    readings: dict[str, str] = field(default_factory=dict)

    def take(self, part: Survey) -> None:
        """Add what was found in one module."""
        self.modules |= part.modules
        for name, remark in part.scopes.items():
            self.scopes.setdefault(name, remark)
        self.rights.extend(part.rights)
        self.news.extend(part.news)
        self.refused.extend(part.refused)
        self.warnings.extend(part.warnings)


def is_tool(listener: ListenerState) -> bool:
    """Whether a sound listener with sound schemas makes a tool (its origins hold no mcp where it was refused)."""
    return (
        not listener.problem
        and not listener.tool_problem
        and bool(listener.response_schema)
        and (Origin.MCP in listener.origins or Origin.ANY in listener.origins)
        and "*" not in listener.event
        and not listener.event.startswith("mcp:")
        and not name_problem(listener.event)
    )


def in_order(listeners: Iterable[tuple[str, ListenerState]]) -> list[tuple[str, ListenerState]]:
    """Pairs of module id and listener of one event, in the order in which they run."""
    return sorted(listeners, key=lambda pair: (-pair[1].priority, pair[0], pair[1].position))
