"""The in-process snapshot of what the database says: immutable, swapped when the generation rises.

Every worker holds one. A request learns the current generation from its one statement and calls
`snapshot(generation)`; only when the number has moved are the tables read again. Nothing signals between
workers, and nothing that a snapshot holds ever changes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, TypeVar

from django.db import router
from django.db.models import Q

from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import Client, Endpoint, Generation, Listener, Module, Scope, ScopeGroup, Tool
from mcp_gateway.resources.catalogue import EMPTY, Catalogue, read_catalogue

_T = TypeVar("_T")

_JUDGED_ELSEWHERE = frozenset({"mcp", "internal"})


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


_current: Snapshot | None = None
_loading = threading.Lock()


def snapshot(generation: int | None = None) -> Snapshot:
    """The snapshot of a generation, or (without one) of the generation the database has now.

    Tables are read only when the number differs from that of the snapshot held.
    """
    global _current
    held = _current
    if generation is None:
        generation = Generation.current()
    if held is not None and held.generation == generation:
        return held
    with _loading:
        held = _current
        if held is None or held.generation < generation or held.generation > Generation.current():
            _current = held = _load()
        return held


def latest() -> Snapshot:
    """The snapshot held, whatever its age; read from the database only where there is none yet."""
    return _current or snapshot()


def forget() -> None:
    """Drop the snapshot held (a test that swaps databases calls it)."""
    global _current
    _current = None


def _load() -> Snapshot:
    """Read number, tables, number, and again until nobody wrote in between.

    Under PostgreSQL's READ COMMITTED two statements can see two states; the number tells.
    """
    while True:
        before = Generation.current()
        loaded = _read(before)
        if Generation.current() == before:
            return loaded


def _read(generation: int) -> Snapshot:
    using = router.db_for_write(Tool)
    modules = {
        pk: ModuleEntry(
            module_id, app_label, MappingProxyType(json.loads(autoload or "{}")), frozenset(json.loads(schemes))
        )
        for pk, module_id, app_label, autoload, schemes in Module.objects.using(using)
        .filter(present=True)
        .values_list("pk", "module_id", "app_label", "autoload", "schemes")
    }
    listeners, refused_listeners = _read_listeners(using, modules)
    exact: dict[str, list[ListenerEntry]] = {}
    wild: list[ListenerEntry] = []
    order = {id(entry): index for index, entry in enumerate(listeners)}
    for entry in listeners:
        if "*" in entry.event:
            wild.append(entry)
        else:
            exact.setdefault(entry.event, []).append(entry)

    tools: dict[str, ToolEntry] = {}
    left_out: dict[str, ToolEntry] = {}
    for tool in Tool.objects.using(using).filter(available=True).prefetch_related("required_scopes").order_by("name"):
        reached = [entry for entry in (*exact.get(tool.name, ()), *wild) if entry.matches(tool.name, "mcp")]
        visibility = tool.effective_visibility
        if not reached or visibility == Tool.Visibility.OFF:
            continue
        reached.sort(key=lambda entry: order[id(entry)])
        made = ToolEntry(
            name=tool.name,
            title=tool.effective_title,
            description=tool.effective_description,
            visibility=visibility,
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            extras=tool.extras,
            listeners=tuple(reached),
            rights=tool.effective_right(
                (entry.right for entry in (*reached, *refused_listeners) if entry.matches(tool.name, "mcp")),
                (scope.name for scope in tool.required_scopes.all()),
            ),
            needs=tuple(dict.fromkeys(name for entry in reached for name in entry.needs)),
            single_use=any(entry.single_use for entry in reached),
            # “required” comes after “optional” in the alphabet, too.
            task=max(entry.task for entry in reached),
        )
        refused = gateway_settings.refuse_open_tools and not made.rights
        (left_out if refused else tools)[tool.name] = made
    scopes = _read_scopes(using)
    return Snapshot(
        generation=generation,
        listeners=tuple(listeners),
        tools=MappingProxyType(tools),
        scopes=MappingProxyType(scopes),
        endpoints=MappingProxyType(_read_endpoints(using)),
        clients=MappingProxyType(_read_clients(using)),
        left_out=MappingProxyType(left_out),
        restricted=frozenset(name for name, entry in scopes.items() if entry.groups),
        published=read_catalogue(using, {pk: entry.schemes for pk, entry in modules.items()}),
        refused=tuple(refused_listeners),
    )


def _read_listeners(using: str, modules: Mapping[int, ModuleEntry]) -> tuple[list[ListenerEntry], list[ListenerEntry]]:
    """The sound listeners in order, and those a tool would reach had their import not refused them.

    The second never run, but their rights still count: a fault in a protected listener must not open a tool that
    an open listener of the same event goes on serving.
    """
    listeners: list[ListenerEntry] = []
    refused: list[ListenerEntry] = []
    rows = (
        Listener.objects.using(using)
        .filter(module__in=modules)
        .values_list(
            "module_id", "event", "class_name", "method", "origins", "priority", "position", "right", "atomic",
            "request_schema", "needs", "single_use", "visibility", "task", "problem", "tool_problem",
        )
    )  # fmt: skip
    for module, event, class_name, method, origins, priority, position, right, atomic, schema, *further in rows:
        needs, single_use, visibility, task, problem, tool_problem = further
        entry = ListenerEntry(
            modules[module],
            event,
            class_name,
            method,
            frozenset(origins),
            priority,
            position,
            right,
            atomic,
            # A tool's own schema is the one that an MCP call is judged by; the site's own code is not judged.
            "" if _JUDGED_ELSEWHERE.issuperset(origins) else schema,
            tuple(needs),
            single_use,
            visibility,
            task,
        )
        if not problem:
            listeners.append(entry)
        # What is refused as a tool has lost the origin mcp; a fault may have lost all of them.
        if tool_problem or (problem and not origins):
            refused.append(replace(entry, origins=frozenset({"mcp"})))
        elif problem:
            refused.append(entry)
    listeners.sort(key=lambda entry: (-entry.priority, entry.event, entry.module.module_id, entry.position))
    return listeners, refused


def _read_scopes(using: str) -> dict[str, ScopeEntry]:
    rows = {scope.pk: scope for scope in Scope.objects.using(using).filter(enabled=True)}
    implied: dict[int, set[int]] = {}
    for broad, narrow in Scope.implies.through._default_manager.using(using).values_list("from_scope", "to_scope"):
        if broad in rows and narrow in rows:
            implied.setdefault(broad, set()).add(narrow)

    groups: dict[int, set[Any]] = {}
    for scope_pk, group_pk in ScopeGroup.objects.using(using).values_list("scope_id", "group_id"):
        groups.setdefault(scope_pk, set()).add(group_pk)

    def reach(start: int) -> set[int]:
        seen: set[int] = set()
        waiting = [start]
        while waiting:
            for narrow in implied.get(waiting.pop(), ()):
                if narrow not in seen:
                    seen.add(narrow)
                    waiting.append(narrow)
        return seen | {start}

    made = {}
    for pk, scope in rows.items():
        reached = reach(pk)
        made[scope.name] = ScopeEntry(
            name=scope.name,
            description=scope.description,
            is_default=scope.is_default,
            advertised=scope.advertised,
            self_service=scope.self_service,
            implies=frozenset(rows[other].name for other in reached - {pk}),
            groups=tuple(frozenset(groups[other]) for other in sorted(reached) if other in groups),
        )
    return made


def _read_endpoints(using: str) -> dict[str, EndpointEntry]:
    rows = list(Endpoint.objects.using(using).filter(enabled=True).prefetch_related("baseline_scopes"))
    chosen: dict[int, set[str]] = {endpoint.pk: set() for endpoint in rows if not endpoint.all_tools}
    if chosen:
        links = Endpoint.tools.through._default_manager.using(using).filter(endpoint__in=chosen)
        for pk, name in links.values_list("endpoint_id", "tool__name"):
            chosen[pk].add(name)
    return {
        endpoint.slug: EndpointEntry(
            slug=endpoint.slug,
            title=endpoint.title,
            instructions=endpoint.instructions,
            token_required=endpoint.access == Endpoint.Access.TOKEN,
            baseline=tuple(sorted(scope.name for scope in endpoint.baseline_scopes.all())),
            tools=frozenset(chosen[endpoint.pk]) if endpoint.pk in chosen else None,
        )
        for endpoint in rows
    }


def _read_clients(using: str) -> dict[Any, ClientEntry]:
    """Those that differ from the defaults: every client that registers itself has a row too."""
    different = Q(enabled=False) | Q(service_user__isnull=False) | Q(allowed_scopes__isnull=False)
    return {
        client.application_id: ClientEntry(
            enabled=client.enabled,
            allowed_scopes=frozenset(scope.name for scope in client.allowed_scopes.all()),
            service_user_id=client.service_user_id,
        )
        for client in Client.objects.using(using).filter(different).distinct().prefetch_related("allowed_scopes")
    }
