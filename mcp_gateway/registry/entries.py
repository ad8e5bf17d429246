"""What a snapshot is made of. Nothing in it changes, so that any thread may hold on to any of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, TypeVar

from mcp_gateway.resources.catalogue import EMPTY, Catalogue

_T = TypeVar("_T")


def is_matched(pattern: str, event_type: str) -> bool:
    """Whether what a listener listens to reaches an event of this literal type. Only the star is a wildcard."""
    if "*" not in pattern:
        return pattern == event_type
    # Brackets and question marks stand for themselves.
    return fnmatchcase(event_type, pattern.replace("[", "[[]").replace("?", "[?]"))


@dataclass(frozen=True, slots=True)
class ModuleEntry:
    """Where the classes of a module's manifest are looked up, and which URI schemes of its own clients may see."""

    module_id: str
    app_label: str
    autoload: Mapping[str, Any]
    schemes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ListenerEntry:
    """One sound listener, ready to be matched and run.

    ``request_schema`` is JSON text, kept only where a request from outside MCP can reach the listener. ``atomic`` is
    None where the manifest leaves it to `in_transaction`.
    """

    module: ModuleEntry
    event: str
    class_name: str
    method: str
    origins: frozenset[str]
    priority: float
    position: int
    right: str
    atomic: bool | None
    request_schema: str = ""
    needs: tuple[str, ...] = ()
    single_use: bool = False
    visibility: str = "listed"
    task: str = ""

    def matches(self, event_type: str, origin: str) -> bool:
        """Whether an event of this literal type and origin reaches the listener (wildcards are the listener's)."""
        if origin not in self.origins and "*" not in self.origins:
            return False
        return is_matched(self.event, event_type)

    def in_transaction(self, background: bool) -> bool:
        """Whether it runs in a transaction; ``background`` says that it runs as a task.

        Work that takes long enough for a task is none, unless it is meant to be: on SQLite nobody else could write.
        """
        return not (background or self.task) if self.atomic is None else self.atomic


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One callable tool: what the listing shows, what a call runs and needs.

    Schemas and extras are JSON text in the manifest's order; an empty ``input_schema`` accepts any object, an empty
    ``output_schema`` promises nothing. ``rights`` are right strings, all of which a call needs; ``needs`` are the
    capabilities that its client must have declared. ``single_use`` says that answers to its questions count once.
    ``task`` is ``required`` where a listener runs only in the background, ``optional`` where one may.
    """

    name: str
    title: str
    description: str
    visibility: str
    input_schema: str
    output_schema: str
    extras: str
    listeners: tuple[ListenerEntry, ...]
    rights: tuple[str, ...]
    needs: tuple[str, ...] = ()
    single_use: bool = False
    task: str = ""

    @property
    def content_only(self) -> bool:
        """Whether its result is blocks of content, with no structure beside them."""
        return not self.output_schema


@dataclass(frozen=True, slots=True)
class ScopeEntry:
    """One enabled scope; ``implies`` is closed: every enabled scope it reaches, without itself.

    ``groups`` are sets of primary keys of Django groups: who grants the scope must be in one of each set. There is
    a set for each scope that is kept to groups, of this one and those it implies.
    """

    name: str
    description: str
    is_default: bool
    advertised: bool
    self_service: bool
    implies: frozenset[str]
    groups: tuple[frozenset[Any], ...] = ()


@dataclass(frozen=True, slots=True)
class EndpointEntry:
    """One enabled endpoint. ``baseline`` is the sorted names of its baseline scopes, disabled ones too.

    ``tools`` are the names of the tools that exist there, None where every tool does.
    """

    slug: str
    title: str
    instructions: str
    token_required: bool
    baseline: tuple[str, ...]
    tools: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ClientEntry:
    """What an administrator said of one application. ``allowed_scopes`` empty: every scope."""

    enabled: bool
    allowed_scopes: frozenset[str]
    service_user_id: Any


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Everything the gateway serves at one generation.

    ``left_out`` are tools that need no right, where ``ZOLINGA["REFUSE_OPEN_TOOLS"]`` refuses those; ``restricted``
    the scopes that only members of some groups may grant; ``published`` the resources and prompts that files of
    modules describe. ``refused`` are listeners that never run and whose rights still count.
    """

    generation: int
    listeners: tuple[ListenerEntry, ...]
    tools: Mapping[str, ToolEntry]
    scopes: Mapping[str, ScopeEntry]
    endpoints: Mapping[str, EndpointEntry]
    clients: Mapping[Any, ClientEntry]
    left_out: Mapping[str, ToolEntry] = field(default_factory=dict)
    restricted: frozenset[str] = frozenset()
    published: Catalogue = EMPTY
    refused: tuple[ListenerEntry, ...] = ()
    _derived: dict[Any, Any] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def matching(self, event_type: str, origin: str) -> tuple[ListenerEntry, ...]:
        """The listeners an event reaches, in order: priority (highest first), event name, module, order in file."""
        return tuple(entry for entry in self.listeners if entry.matches(event_type, origin))

    def derived(self, key: Any, build: Callable[[], _T]) -> _T:
        """What ``build`` makes from this snapshot, made once: listing bytes, compiled validators, parsed rights."""
        try:
            made: _T = self._derived[key]
        except KeyError:
            value = build()
            with self._lock:
                made = self._derived.setdefault(key, value)
        return made

    def at(self, slug: str) -> Snapshot:
        """What is served at one endpoint: the same with its tools alone, made once; itself where it has them all."""
        endpoint = self.endpoints.get(slug)
        if endpoint is None or endpoint.tools is None:
            return self
        return self.derived(("at", slug), lambda: self._with_tools(endpoint.tools or frozenset()))

    def _with_tools(self, names: frozenset[str]) -> Snapshot:
        tools = {name: tool for name, tool in self.tools.items() if name in names}
        return replace(self, tools=MappingProxyType(tools), _derived={}, _lock=threading.Lock())

    def close(self, scopes: Iterable[str]) -> frozenset[str]:
        """The scopes a token counts for: those it carries that are enabled, and all that they imply."""
        closed: set[str] = set()
        for name in scopes:
            entry = self.scopes.get(name)
            if entry is not None:
                closed.add(name)
                closed |= entry.implies
        return frozenset(closed)
