"""What an import would do: the disk compared with the database, row by row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from django.db.models import Model

from mcp_gateway.conf import gateway_settings
from mcp_gateway.manifest.differences import told
from mcp_gateway.manifest.discovery import same_id
from mcp_gateway.manifest.holders import missing
from mcp_gateway.manifest.publishing import PublishedChange, plan_published, spoils
from mcp_gateway.manifest.releases import content, release_problem
from mcp_gateway.manifest.remarks import Remark
from mcp_gateway.manifest.rows import ListenerRow, Rows, ToolRow
from mcp_gateway.manifest.states import CONTENT_ONLY, ListenerState, ModuleState, Survey, in_order, is_tool
from mcp_gateway.models import Listener, Module, Scope, Tool
from mcp_gateway.models.scope import SCOPE_PATTERN
from mcp_gateway.schemas.faults import shown

_M = TypeVar("_M", bound=Model)

# The removal guard: of at least so many tools at most half may go without being asked for.
GUARDED_TOOLS = 10

# The sound listeners of each tool's event, with their modules' ids.
Groups = dict[str, list[tuple[str, ListenerState]]]

QUIET = frozenset({"digest", "identity", "manifest"})
UNPRESENT = "The module's folder is gone."


@dataclass(slots=True)
class Change(Generic[_M]):
    """One row to write: a new one (``row`` is not saved yet) or an ``old`` one with new columns."""

    row: _M
    columns: dict[str, Any]
    old: bool


@dataclass(slots=True)
class Plan:
    """What an import will write, and what it has to say about it.

    ``held`` are the modules that are left as they were, although their files say something else.
    """

    added: list[Remark] = field(default_factory=list)
    changed: list[Remark] = field(default_factory=list)
    removed: list[Remark] = field(default_factory=list)
    unchanged: list[Remark] = field(default_factory=list)
    refused: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    modules: list[Change[Module]] = field(default_factory=list)
    listeners: list[tuple[str, Change[Listener]]] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    tools: list[tuple[str, Change[Tool]]] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)
    published: list[PublishedChange] = field(default_factory=list)

    @property
    def writes(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.modules or self.listeners or self.deleted or self.tools or self.scopes or self.published)

    def as_dict(self) -> dict[str, list[dict[str, Any]]]:
        """The report as ``--json`` prints it."""
        names = ("added", "changed", "removed", "unchanged", "refused", "warnings")
        return {name: [remark.as_dict() for remark in getattr(self, name)] for name in names}


def make_plan(survey: Survey, rows: Rows, *, allow_removal: bool = False, hold: bool = False) -> Plan:
    """Compare a survey with what the database holds.

    ``hold`` leaves a module as it is where a fault in its files would take away what it serves; without it a fault
    costs the entry it is in. Where the removal guard strikes (a ``MODULE_DIRS`` folder is missing, or more than half
    of ten or more tools would go) the plan says so under ``refused`` and writes nothing, unless ``allow_removal``.
    """
    plan = Plan(refused=list(survey.refused), warnings=list(survey.warnings))
    selected = {
        module_id: row
        for module_id, row in rows.modules.items()
        if survey.only is None or same_id(module_id) == same_id(survey.only)
    }
    if hold:
        plan.held = [
            key
            for key, state in survey.modules.items()
            if _spoils(state, rows.listeners.get(key, ()), survey)
            or spoils(state.published, rows.published.get(key, ()))
        ]
    _modules(plan, survey, selected)
    after = _listeners(plan, survey, rows)
    publishing = _published(plan, survey, rows)
    _releases(plan, survey, selected, publishing)
    groups, refusals = _groups(after)
    _shared(plan, survey, groups)
    going = _tools(plan, rows, groups, refusals)
    _scopes(plan, survey)
    _rights(plan, survey)
    guard = _guard(survey, going, any(remark.kind == "module" for remark in plan.removed))
    if guard and allow_removal:
        plan.warnings.extend(guard)
    elif guard:
        return Plan(refused=[*plan.refused, *guard], warnings=plan.warnings)
    return plan


def _spoils(state: ModuleState, rows: Iterable[ListenerRow], survey: Survey) -> bool:
    """Whether a fault in a module's files would take away an event that it handles now."""
    broken = {found.event for found in state.listeners if found.problem or found.tool_problem}
    nameless = any(
        remark.module == state.module_id and remark.kind == "listener" and remark.name.startswith("listen[")
        for remark in survey.refused
    )
    sound = {found.event for found in state.listeners if not found.problem and not found.tool_problem}
    held = [row.state for row in rows]
    lost = {row.event for row in held if not row.problem and not row.tool_problem} - sound
    return not state.problem and bool(lost & broken or (lost and nameless))


def _modules(plan: Plan, survey: Survey, rows: Mapping[str, Module]) -> None:
    for module_id, state in survey.modules.items():
        if module_id in plan.held:
            continue
        row = rows.get(module_id)
        columns = state.columns()
        if state.problem and row is not None:
            # It serves as it was: only the flag is new.
            columns = {"problem": state.problem}
        elif state.problem:
            columns = {"problem": state.problem, "app_label": state.app_label}
        remark = Remark(module_id, "module", module_id, "", "")
        _compare(plan, remark, row or Module(module_id=module_id), columns, plan.modules)
    for module_id, row in rows.items():
        if module_id not in survey.modules and row.present:
            plan.removed.append(Remark(module_id, "module", module_id, "", f"{UNPRESENT} Its tools are retired."))
            plan.modules.append(Change(row, {"present": False}, old=True))


def _listeners(plan: Plan, survey: Survey, rows: Rows) -> list[tuple[str, ListenerState]]:
    """Plan the listeners' rows; gives back the listeners there will be, of all modules that serve."""
    after: list[tuple[str, ListenerState]] = []
    for module_id, row in rows.modules.items():
        state = survey.modules.get(module_id)
        selected = survey.only is None or same_id(module_id) == same_id(survey.only)
        kept = state is not None and (state.problem or module_id in plan.held)
        if row.present and (not selected or kept):
            after.extend((module_id, listener.state) for listener in rows.listeners.get(module_id, ()))
    for module_id, state in survey.modules.items():
        if state.problem or module_id in plan.held:
            continue
        present = {listener.state.identity: listener for listener in rows.listeners.get(module_id, ())}
        for wanted in state.listeners:
            after.append((module_id, wanted))
            found = present.pop(wanted.identity, None)
            kept = "kept with its problem" if wanted.problem else ""
            remark = Remark(module_id, "listener", wanted.event, wanted.pointer, kept)
            changes: list[Change[Listener]] = []
            if found is not None and found.state.digest == wanted.digest:
                plan.unchanged.append(remark)
                continue
            _compare(plan, remark, found.row() if found else Listener(), wanted.columns(), changes)
            plan.listeners.extend((module_id, change) for change in changes)
        for gone in present.values():
            plan.removed.append(
                Remark(module_id, "listener", gone.state.event, "", "The manifest no longer has this listener.")
            )
            plan.deleted.append(gone.pk)
    return after


def _published(plan: Plan, survey: Survey, rows: Rows) -> set[str]:
    """Plan the rows of resources and prompts; gives back the modules whose files changed."""
    found = plan_published(survey, rows, plan.held)
    plan.published = found.changes
    for name in ("added", "changed", "removed", "unchanged", "refused"):
        getattr(plan, name).extend(getattr(found, name))
    return found.modules()


def _releases(plan: Plan, survey: Survey, rows: Mapping[str, Module], publishing: set[str]) -> None:
    """Point out modules whose content and version do not rise together, and versions without a word about them."""
    schemas = {"request_schema", "response_schema"}
    rewritten = publishing | {
        module_id for module_id, change in plan.listeners if change.old and schemas & change.columns.keys()
    }
    for module_id, state in survey.modules.items():
        row = rows.get(module_id)
        if row is None or not row.manifest or state.problem or module_id in plan.held:
            continue
        if row.digest == state.digest and module_id not in rewritten:
            continue
        changed = module_id in rewritten or content(row.manifest) != content(state.manifest)
        # The columns hold the new values only once the plan is carried out.
        message = release_problem(row.version, state.version, state.changelog, changed=changed)
        if message:
            plan.warnings.append(Remark(module_id, "module", module_id, "/version", message))


def _groups(after: Iterable[tuple[str, ListenerState]]) -> tuple[Groups, dict[str, str]]:
    """The listeners of each tool with their modules' ids, and why other names are no tools."""
    groups: Groups = {}
    refusals: dict[str, str] = {}
    for module_id, listener in after:
        if is_tool(listener):
            groups.setdefault(listener.event, []).append((module_id, listener))
        elif listener.tool_problem or listener.problem:
            refusals.setdefault(listener.event, listener.tool_problem or listener.problem)
    return groups, refusals


def _shared(plan: Plan, survey: Survey, groups: Groups) -> None:
    """Point out the tools that several modules offer, at each of those that are being imported."""
    for name, group in groups.items():
        # The first in the file speaks for its module.
        holders = dict(reversed(group))
        if len(holders) > 1:
            listed = " and ".join(sorted(holders))
            message = f"The modules {listed} all offer the tool {name}: a call runs the listeners of all of them."
            for module_id, listener in sorted(holders.items()):
                if module_id in survey.modules:
                    plan.warnings.append(Remark(module_id, "tool", name, f"{listener.pointer}/event", message))


def _tools(plan: Plan, held: Rows, groups: Groups, refusals: Mapping[str, str]) -> tuple[int, int]:
    """Plan the tools' rows; gives back how many are available now and how many of those would go."""
    rows = held.tools
    identities = {row.pk: row.state.identity for listeners in held.listeners.values() for row in listeners}
    for name, group in sorted(groups.items()):
        module_id, first = in_order(group)[0]
        row = rows.get(name)
        columns = {
            "title": first.title,
            "description": first.description,
            "visibility": first.visibility,
            "input_schema": first.request_schema,
            "output_schema": "" if first.response_schema == CONTENT_ONLY else first.response_schema,
            "extras": first.extras,
            "available": True,
            "problem": "",
        }
        bound = row is not None and row.listener is not None and identities.get(row.listener) == first.identity
        remark = Remark(module_id, "tool", name, first.pointer, "")
        if bound and row is not None and row.columns == columns:
            plan.unchanged.append(remark)
        else:
            changes: list[Change[Tool]] = []
            there = Tool(name=name) if row is None else row.row()
            _compare(plan, remark, there, columns, changes, also=None if bound else "listener")
            plan.tools.extend((first.identity, change) for change in changes)
        if gateway_settings.refuse_open_tools and not _guarded(row, group):
            message = (
                'It needs no right, and ZOLINGA["REFUSE_OPEN_TOOLS"] leaves such tools out. Write a “right”, or let an '
                "administrator require a scope."
            )
            plan.refused.append(Remark(module_id, "tool", name, f"{first.pointer}/right", message))
    going = 0
    for name, row in sorted(rows.items()):
        if name in groups:
            continue
        problem = refusals.get(name, "No manifest offers it at present.")
        if row.columns["available"]:
            going += 1
            plan.removed.append(Remark("", "tool", name, "", f"{problem} It is retired; its settings are kept."))
            plan.tools.append(("", Change(row.row(), {"available": False, "problem": problem}, old=True)))
        elif row.columns["problem"] != problem:
            before = row.columns["problem"]
            plan.changed.append(Remark("", "tool", name, "", f"problem: {shown(before)} → {shown(problem)}"))
            plan.tools.append(("", Change(row.row(), {"problem": problem}, old=True)))
    return sum(1 for row in rows.values() if row.columns["available"]), going


def _guarded(held: ToolRow | None, group: Iterable[tuple[str, ListenerState]]) -> bool:
    """Whether a call of a tool needs any right."""
    row = None if held is None else held.row()
    scopes = row.required_scopes.values_list("name", flat=True) if row is not None else ()
    return bool((row or Tool()).effective_right((listener.right for _module, listener in group), scopes))


def _scopes(plan: Plan, survey: Survey) -> None:
    """Scopes that rights name and nobody defined become rows; those without a consent text are pointed out."""
    described = dict(Scope.objects.values_list("name", "description"))
    for name, remark in sorted(survey.scopes.items()):
        if not re.fullmatch(SCOPE_PATTERN, name) or len(name) > 255:
            message = f"The right names {shown(name)}, which cannot be a scope (RFC 6749 section 3.3). Rename it."
            plan.warnings.append(Remark(remark.module, "scope", name, remark.pointer, message, remark.file))
            continue
        if name not in described:
            plan.scopes.append(name)
            message = "Enabled; clients that registered themselves may not ask for it."
            plan.added.append(Remark(remark.module, "scope", name, remark.pointer, message, remark.file))
        if not described.get(name):
            message = f"The scope {name} has no consent text. Write one in the admin: it is what people read."
            plan.warnings.append(Remark(remark.module, "scope", name, remark.pointer, message, remark.file))


def _rights(plan: Plan, survey: Survey) -> None:
    """Point out the groups and permissions that do not exist, and what is to be known of entries that are new."""
    absent = missing(right for right, _at in survey.rights)
    for right, at in survey.rights:
        plan.warnings.extend(replace(at, message=message) for message in absent.get(right, ()))
    fresh = {(remark.module, remark.pointer) for remark in (*plan.added, *plan.changed) if remark.kind == "listener"}
    plan.warnings.extend(
        remark for remark in survey.news if (remark.module, remark.pointer.removesuffix("/right")) in fresh
    )


def _guard(survey: Survey, counts: tuple[int, int], retires: bool) -> list[Remark]:
    available, going = counts
    found = []
    if survey.only is None or retires:
        found = [Remark("", "import", "MODULE_DIRS", "", problem.message, "") for problem in survey.missing_folders]
    if available >= GUARDED_TOOLS and going * 2 > available:
        found.append(
            Remark(
                "",
                "import",
                "tools",
                "",
                f"{going} of {available} tools would go. If that is meant, import with --allow-removal.",
                "",
            )
        )
    return found


def _compare(
    plan: Plan, remark: Remark, row: _M, columns: dict[str, Any], changes: list[Change[_M]], also: str | None = None
) -> None:
    """Sort one row under added, changed or unchanged, and plan its write."""

    def said(message: str) -> Remark:
        return Remark(remark.module, remark.kind, remark.name, remark.pointer, message, remark.file)

    if row.pk is None:
        plan.added.append(remark)
        changes.append(Change(row, columns, old=False))
        return
    new = {name: value for name, value in columns.items() if getattr(row, name) != value}
    if not new and also is None:
        plan.unchanged.append(remark)
        return
    changes_told = [told(name, getattr(row, name), value) for name, value in new.items() if name not in QUIET]
    if also is not None:
        changes_told.append(f"{also}: another one decides now")
    plan.changed.append(said("; ".join(changes_told) or "the manifest's text"))
    changes.append(Change(row, new, old=True))
