"""The tables as one snapshot: each function reads one kind of row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from django.db import router
from django.db.models import Q

from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import Client, Endpoint, Listener, Module, Scope, ScopeGroup, Tool
from mcp_gateway.registry.entries import (
    ClientEntry,
    EndpointEntry,
    ListenerEntry,
    ModuleEntry,
    ScopeEntry,
    Snapshot,
    ToolEntry,
)
from mcp_gateway.resources.catalogue import read_catalogue

_JUDGED_ELSEWHERE = frozenset({"mcp", "internal"})


def read_tables(generation: int) -> Snapshot:
    """What the database serves now, said to be of that generation (`holding` sees to it that it is)."""
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
