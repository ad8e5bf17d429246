"""What an import does to resources and prompts: the part of the plan that is about the files under ``mcp/``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from mcp_gateway.manifest.differences import told
from mcp_gateway.manifest.discovery import same_id
from mcp_gateway.manifest.meta_files import PROMPT, RESOURCE, PublishedState
from mcp_gateway.manifest.remarks import Remark
from mcp_gateway.manifest.rows import Rows
from mcp_gateway.manifest.states import Survey
from mcp_gateway.models import Prompt, Published, Resource

MODELS: Mapping[str, Any] = {RESOURCE: Resource, PROMPT: Prompt}

GONE = "No file publishes it at present."

STAYS_GUARDED = (
    "A listener answers in its place only if it needs the same rights: give it the right too, or delete the entry in "
    "admin."
)

_QUIET = frozenset({"digest"})


@dataclass(slots=True)
class PublishedChange:
    """One row to write: ``content`` only where ``writes_content``. Without a module the row keeps its own."""

    row: Published
    columns: dict[str, Any]
    module_id: str = ""
    content: bytes | None = None
    writes_content: bool = False


@dataclass(slots=True)
class PublishingPlan:
    """The rows to write, and what is to be said of them."""

    changes: list[PublishedChange]
    added: list[Remark]
    changed: list[Remark]
    removed: list[Remark]
    unchanged: list[Remark]
    refused: list[Remark]

    def modules(self) -> set[str]:
        """The modules with files that changed."""
        return {remark.module for remark in (*self.added, *self.changed)} - {""}


class _Planner:
    def __init__(self, survey: Survey, rows: Rows, held: Iterable[str]) -> None:
        self._survey = survey
        self._rows = rows
        self._modules = rows.modules
        self._held = set(held)
        self.plan = PublishingPlan([], [], [], [], [], [])

    def kind(self, kind: str) -> None:
        ids = {row.pk: module_id for module_id, row in self._modules.items()}
        rows: dict[str, Published] = {
            row.uri if isinstance(row, Resource) else str(row): row
            for found in self._rows.published.values()
            for row in found
            if isinstance(row, MODELS[kind])
        }
        wanted: dict[str, tuple[str, PublishedState]] = {}
        files = {(ids[row.module_id], row.file): key for key, row in rows.items()}
        states = list(self._states(kind))
        for module_id, state in states:
            if state.faults:
                # What cannot be read does not say its name either: it is what it was.
                state.key = files.get((module_id, state.file), state.key)
        held = {key: (ids[row.module_id], row.file) for key, row in rows.items() if row.available or row.problem}

        def is_held(module_id: str, state: PublishedState) -> bool:
            return held.get(state.key) == (module_id, state.file)

        # Sound or not, a file keeps what it publishes: another would bring its own right, or none.
        for module_id, state in sorted(states, key=lambda one: not is_held(*one)):
            first = wanted.get(state.key)
            if first is None or (first[1].faults and not state.faults and not is_held(*first)):
                wanted[state.key] = (module_id, state)
            elif not state.faults:
                self._taken(module_id, state, f"{first[0]}/{first[1].file}")
        for key, row in rows.items():
            module_id = ids[row.module_id]
            if not self._is_decided(module_id):
                if key in wanted and row.available:
                    # A module that is not being imported goes on publishing it.
                    other, state = wanted.pop(key)
                    self._taken(other, state, f"{module_id}/{row.file}")
            elif key not in wanted:
                self._retire(kind, module_id, key, row)
        for key, (module_id, state) in sorted(wanted.items()):
            self._compare(kind, module_id, state, rows.get(key))

    def _states(self, kind: str) -> Iterable[tuple[str, PublishedState]]:
        for module_id, state in sorted(self._survey.modules.items()):
            if self._is_decided(module_id):
                yield from ((module_id, found) for found in state.published if found.kind == kind)

    def _is_decided(self, module_id: str) -> bool:
        """Whether the files of a module decide now, and not what was imported before."""
        state = self._survey.modules.get(module_id)
        if state is not None:
            return not state.problem and module_id not in self._held
        row = self._modules.get(module_id)
        return row is not None and (
            not row.present or self._survey.only is None or same_id(module_id) == same_id(self._survey.only)
        )

    def _taken(self, module_id: str, state: PublishedState, holder: str) -> None:
        message = f"{holder} publishes the same. Give one of the two another name."
        self.plan.refused.append(Remark(module_id, state.kind, state.key, "", message, state.file))

    def _retire(self, kind: str, module_id: str, key: str, row: Published) -> None:
        if row.available:
            guarded = row.right or row.required_scopes.exists()
            message = f"{GONE} It is retired; its settings are kept.{f' {STAYS_GUARDED}' if guarded else ''}"
            self.plan.removed.append(Remark(module_id, kind, key, "", message, row.file))
        if row.available or row.problem:
            # What was refused and is gone has nothing left to mend; digest and content come back with the file.
            columns = {"available": False, "problem": "", "digest": ""}
            self.plan.changes.append(PublishedChange(row, columns))

    def _compare(self, kind: str, module_id: str, state: PublishedState, row: Published | None) -> None:
        columns = state.columns()
        remark = Remark(module_id, kind, state.key, "", "kept with its problem" if state.faults else "", state.file)
        if row is None:
            self.plan.added.append(remark)
            made = MODELS[kind]()
            self.plan.changes.append(PublishedChange(made, columns, module_id, state.content, writes_content=True))
            return
        moved = self._modules.get(module_id) is None or row.module_id != self._modules[module_id].pk
        if row.digest == columns["digest"] and not moved:
            self.plan.unchanged.append(remark)
            return
        if state.faults:
            # Nobody can see it now; what it was is kept for whoever looks for the reason.
            columns = {name: columns[name] for name in ("file", "available", "problem", "digest")}
        new = {name: value for name, value in columns.items() if getattr(row, name) != value}
        words = [told(name, getattr(row, name), value) for name, value in new.items() if name not in _QUIET]
        if moved:
            words.append("another module publishes it now")
        self.plan.changed.append(
            Remark(module_id, kind, state.key, "", "; ".join(words) or "it is published again", state.file)
        )
        self.plan.changes.append(
            PublishedChange(row, new, module_id, state.content, writes_content="content_digest" in new)
        )


def published_state(row: Published) -> PublishedState:
    """What an import wanted a row to hold, its content left out."""
    columns = ["title", "description", "visibility", "right", "content_digest"]
    if isinstance(row, Resource):
        state = PublishedState(RESOURCE, row.file, row.uri)
        columns += ["is_template", "name", "mime_type", "size"]
    else:
        state = PublishedState(PROMPT, row.file, str(row))
    for name in columns:
        setattr(state, name, getattr(row, name))
    state.arguments, state.extras = json.loads(row.arguments), json.loads(row.extras)
    if row.problem:
        state.refuse("", row.problem)
    return state


def plan_published(survey: Survey, rows: Rows, held: Iterable[str]) -> PublishingPlan:
    """Compare the meta files with the tables. ``held`` are the modules that are left as they are."""
    planner = _Planner(survey, rows, held)
    for kind in MODELS:
        planner.kind(kind)
    return planner.plan


def spoils(published: Iterable[PublishedState], rows: Iterable[Published]) -> bool:
    """Whether a fault in a module's files would take away what it publishes now."""
    broken = {(found.kind, found.file) for found in published if found.faults}
    return any(row.available and (PROMPT if isinstance(row, Prompt) else RESOURCE, row.file) in broken for row in rows)


def write_published(changes: Iterable[PublishedChange], modules: Mapping[str, int], using: str) -> None:
    """Write the planned rows, and of old ones only what changed. ``modules`` are primary keys by id."""
    for change in changes:
        columns = dict(change.columns)
        if change.module_id:
            columns["module_id"] = modules[change.module_id]
        if change.writes_content:
            columns["content"] = change.content
        for name, value in columns.items():
            setattr(change.row, name, value)
        row: Model = change.row
        row.save(using=using, update_fields=None if row.pk is None else [_field(name) for name in columns])


def _field(column: str) -> str:
    return "module" if column == "module_id" else column
