"""What the database holds of modules: what a plan compares the files with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import TextField
from django.db.models.functions import Cast

from mcp_gateway.manifest.states import ListenerState
from mcp_gateway.models import Listener, Module, ModuleReading, Prompt, Published, Resource, Tool

_COLUMNS = tuple(ListenerState.__dataclass_fields__)
_LISTS = ("origins", "needs")
_OF_TOOLS = (
    "title", "description", "visibility", "input_schema", "output_schema", "extras", "available", "problem",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListenerRow:
    """A listener's row: its columns as a plan compares them, and the row itself where it is to be written."""

    pk: int
    module_pk: int
    state: ListenerState
    using: str

    def row(self) -> Listener:
        """The row as a model's instance."""
        values = {"id": self.pk, "module_id": self.module_pk} | {name: getattr(self.state, name) for name in _COLUMNS}
        # In the model's order, whatever names are given.
        names = [field.attname for field in Listener._meta.concrete_fields if field.attname in values]
        return Listener.from_db(self.using, names, [values[name] for name in names])


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool's row: the columns that imports write, and the primary key of the listener they are from."""

    pk: int
    listener: int | None
    columns: dict[str, Any]
    using: str

    def row(self) -> Tool:
        """The row as a model's instance."""
        return Tool.objects.using(self.using).get(pk=self.pk)


@dataclass(slots=True)
class Rows:
    """Rows by module id. Listeners are in the order of their file; what is published is without its content.

    Listeners and tools are no instances of their models: to make ten thousand takes longer than all the rest.
    ``tools`` are by name.
    ``readings`` are the texts that `mcp_gateway.manifest.readings` made.
    """

    modules: dict[str, Module]
    listeners: dict[str, list[ListenerRow]]
    published: dict[str, list[Published]]
    readings: dict[str, str]
    tools: dict[str, ToolRow]
    using: str


@cache
def _parsed(text: str) -> Any:
    """Thousands of listeners have the same few lists."""
    return json.loads(text)


def read_rows(using: str) -> Rows:
    """Everything of all modules, in six statements."""
    modules = {row.module_id: row for row in Module.objects.using(using)}
    ids = {row.pk: module_id for module_id, row in modules.items()}
    rows = Rows(modules, {}, {}, {}, {}, using)
    lists = {f"{name}_text": Cast(name, TextField()) for name in _LISTS}
    found = Listener.objects.using(using).order_by("module", "position").annotate(**lists)
    names = [f"{name}_text" if name in _LISTS else name for name in _COLUMNS]
    for pk, module_pk, *values in found.values_list("pk", "module_id", *names):
        # Another import may just have made the module: the plan is made again under the lock.
        if module_pk in ids:
            state: Any = ListenerState(*values)
            state.origins, state.needs = list(_parsed(state.origins)), list(_parsed(state.needs))
            rows.listeners.setdefault(ids[module_pk], []).append(ListenerRow(pk, module_pk, state, using))
    published: list[Published] = []
    for model in (Resource, Prompt):
        published.extend(model.objects.using(using).defer("content").order_by("pk"))
    for row in published:
        if row.module_id in ids:
            rows.published.setdefault(ids[row.module_id], []).append(row)
    for module_pk, text in ModuleReading.objects.using(using).values_list("module_id", "text"):
        if module_pk in ids:
            rows.readings[ids[module_pk]] = text
    tools = Tool.objects.using(using).order_by("pk").values_list("name", "pk", "listener_id", *_OF_TOOLS)
    for name, pk, listener, *values in tools:
        rows.tools[name] = ToolRow(pk, listener, dict(zip(_OF_TOOLS, values, strict=True)), using)
    return rows
