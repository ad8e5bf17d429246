"""What an operator should know of: files against database, and tools that are sound and still wanting.

Nothing here blocks anything. Code of a module is loaded as a call would load it and not run, and nothing that the
process has loaded is dropped: the admin shows this inside a serving process.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from mcp_gateway.conf import gateway_settings
from mcp_gateway.manifest.handler_keys import keys_of
from mcp_gateway.manifest.holders import missing
from mcp_gateway.manifest.meta_files import PROMPT, RESOURCE
from mcp_gateway.manifest.names import name_warning
from mcp_gateway.manifest.states import ModuleState, Survey
from mcp_gateway.manifest.survey import survey
from mcp_gateway.models import Listener, Module, Offered, Prompt, Published, Resource, Scope, Tool
from mcp_gateway.registry import Snapshot, ToolEntry, snapshot
from mcp_gateway.resources.listeners import answer_event, is_unanswered
from mcp_gateway.rights import parse
from mcp_gateway.rights.providers import problem
from mcp_gateway.schemas.compile import own_dialect
from mcp_gateway.schemas.documents import Document
from mcp_gateway.schemas.faults import names, shown
from mcp_gateway.schemas.in_place import in_place
from mcp_gateway.schemas.portability import open_objects, portability


@dataclass(frozen=True, slots=True)
class Kind:
    """A sort of finding: the system check's number, what it means, and the cure."""

    number: int
    title: str | Promise
    cure: str | Promise


DIFFERENT = Kind(20, _("Files and database differ"), _("Run: manage.py import_manifests"))
REFUSED = Kind(21, _("Refused by the last import"), _("Mend the files and import again."))
SHADOWED = Kind(22, _("Shadowed by a listener that comes first"), _("Merge the entries, or set their priorities."))
NAMES = Kind(23, _("Names that some hosts refuse"), _("Rename the event."))
SCHEMAS = Kind(24, _("Schemas that known clients mishandle"), _("Change the schema as each remark says."))
OPEN_OBJECTS = Kind(
    25,
    _("Responses that may hold more than their schema says"),
    _('Write "additionalProperties": false, so that models and people can rely on what is there.'),
)
KEYS = Kind(26, _("Handlers that use keys their schema lacks"), _("Add the keys to the schema, or mend the handler."))
OPEN_TOOLS = Kind(
    27,
    _("Tools that anyone may call"),
    _('Give them a “right” or required scopes. ZOLINGA["REFUSE_OPEN_TOOLS"] = True leaves such tools out.'),
)
RIGHTS = Kind(28, _("Rights that nobody holds"), _("Mend the right, or make what it names in admin."))
SCOPES = Kind(
    29,
    _("Scopes that nothing needs"),
    _("Delete them in admin, or write a consent text for those that clients may still ask for."),
)
UNANSWERED = Kind(
    30,
    _("Resources, templates and prompts that nothing answers for"),
    _("Add a listener to the event, or take the file away."),
)

KINDS = (DIFFERENT, REFUSED, SHADOWED, NAMES, SCHEMAS, OPEN_OBJECTS, KEYS, OPEN_TOOLS, RIGHTS, SCOPES, UNANSWERED)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know: its kind, what it is about (``module demo``, ``tool echo``) and why."""

    kind: Kind
    subject: str
    message: str


def findings() -> list[Finding]:
    """Everything there is to know now, by kind. Reads every manifest and every row; a second at a thousand tools."""
    held = snapshot()
    tools = list(Tool.objects.filter(available=True).select_related("listener__module").order_by("name"))
    listeners = _present()
    published = [
        row for model in (Resource, Prompt) for row in model.objects.filter(module__present=True).defer("content")
    ]
    guarded = [row for row in published if row.right and row.available and not row.problem]
    rights = [*_rights_of(listeners), *((_named(row), row.right) for row in guarded)]
    return [
        *_differences(survey(code=False)),
        *_unreadable(),
        *_refused(listeners),
        *_refused_files(published),
        *_shadowed(listeners),
        *(finding for tool in tools for finding in _of_tool(tool, held)),
        *_rights(rights, held),
        *_scopes({row.right for row in (*listeners, *published)}),
        *_unanswered(published, held),
    ]


def findings_of(tool: Tool) -> list[Finding]:
    """What there is to know of one tool: of its listeners, its name, its schemas, its handlers and its rights."""
    held = snapshot()
    listeners = _present(tool.name)
    of_tool = _of_tool(tool, held) if tool.available else ()
    return [*_refused(listeners), *_shadowed(listeners), *of_tool, *_rights(_rights_of(listeners), held)]


def _present(event: str | None = None) -> list[Listener]:
    """The listeners of the modules that are there, or those of one event."""
    rows = Listener.objects.filter(module__present=True).select_related("module")
    return list(rows if event is None else rows.filter(event=event))


def _of_tool(tool: Tool, held: Snapshot) -> Iterator[Finding]:
    subject = f"tool {tool.name}"
    hint = name_warning(tool.name)
    if hint:
        yield Finding(NAMES, subject, hint)
    yield from _schemas(tool)
    yield from _keys(tool, held.tools.get(tool.name))
    if is_open(tool, held):
        yield Finding(OPEN_TOOLS, subject, _why_open(held))


def is_open(tool: Tool, held: Snapshot) -> bool:
    """Whether anyone at all may call a tool, or might if a setting did not leave it out."""
    entry = held.tools.get(tool.name) or held.left_out.get(tool.name)
    return entry is not None and not entry.rights and any(not one.token_required for one in held.endpoints.values())


def _why_open(held: Snapshot) -> str:
    if gateway_settings.refuse_open_tools:
        return 'No right guards it, so ZOLINGA["REFUSE_OPEN_TOOLS"] leaves it out.'
    return "Neither the manifest nor an administrator names a right."


def _differences(found: Survey) -> Iterator[Finding]:
    rows = {row.module_id: row for row in Module.objects.prefetch_related("listeners")}
    for module_id, state in found.modules.items():
        row = rows.get(module_id)
        subject = f"module {module_id}"
        if row is None or not row.present:
            yield Finding(DIFFERENT, subject, "It is on disk and was not imported.")
        elif state.problem:
            if state.problem != row.problem:
                yield Finding(DIFFERENT, subject, state.problem)
        elif state.digest != row.digest:
            yield Finding(DIFFERENT, subject, "Its manifest changed since it was imported.")
        else:
            schemas = {each.identity: (each.request_schema, each.response_schema) for each in row.listeners.all()}
            changed = [
                each.event
                for each in state.listeners
                if schemas.get(each.identity) != (each.request_schema, each.response_schema)
            ]
            if changed:
                yield Finding(DIFFERENT, subject, f"Schemas changed since they were imported: {names(set(changed))}.")
            yield from _published_differences(state, row)
    for module_id, row in rows.items():
        if row.present and module_id not in found.modules:
            yield Finding(DIFFERENT, f"module {module_id}", "It is in the database, and its folder is gone.")


def _published_differences(state: ModuleState, row: Module) -> Iterator[Finding]:
    """Meta files, or content, that are not as they were imported."""
    held = {
        (kind, found.file): found.digest
        for kind, rows in ((RESOURCE, row.resources), (PROMPT, row.prompts))
        for found in rows.defer("content")
        if found.digest
    }
    # Of two files with one name only the first has a row.
    first = {(found.kind, found.key): found for found in reversed(state.published)}
    now = {(found.kind, found.file): found.columns()["digest"] for found in first.values()}
    changed = {file for kind, file in held.keys() | now.keys() if held.get((kind, file)) != now.get((kind, file))}
    if changed:
        yield Finding(DIFFERENT, f"module {state.module_id}", f"Files changed since their import: {names(changed)}.")


def _unreadable() -> Iterator[Finding]:
    for module in Module.objects.filter(present=True).exclude(problem=""):
        yield Finding(REFUSED, f"module {module.module_id}", module.problem)


def _refused_files(published: Iterable[Published]) -> Iterator[Finding]:
    for row in published:
        if row.problem:
            yield Finding(REFUSED, _named(row), row.problem)


def _unanswered(published: Iterable[Published], held: Snapshot) -> Iterator[Finding]:
    for row in published:
        if row.available and row.effective_visibility != Offered.Visibility.OFF and is_unanswered(row, held):
            yield Finding(UNANSWERED, _named(row), f"No listener answers to {answer_event(row)}; every read fails.")


def _refused(listeners: Iterable[Listener]) -> Iterator[Finding]:
    for listener in listeners:
        reason = listener.problem or listener.tool_problem
        if reason:
            yield Finding(REFUSED, _named(listener), reason)


def _shadowed(listeners: Iterable[Listener]) -> Iterator[Finding]:
    """Listeners of one tool after the first: their title, description and schemas are never seen."""
    events: dict[str, list[Listener]] = {}
    for listener in listeners:
        if listener.problem or listener.tool_problem or not listener.response_schema:
            continue
        if {"mcp", "*"} & set(listener.origins) and "*" not in listener.event and not listener.event.startswith("mcp:"):
            events.setdefault(listener.event, []).append(listener)
    for event, group in sorted(events.items()):
        group.sort(key=lambda one: (-one.priority, one.module.module_id, one.position))
        first = group[0]
        for listener in group[1:]:
            yield Finding(
                SHADOWED,
                f"listener {event} ({listener.module.module_id}, entry {listener.position})",
                f"{first.module.module_id}, entry {first.position}, with priority {first.priority:g} comes first: its "
                "title, description and schemas are the tool's, and it may stop the event.",
            )


def _schemas(tool: Tool) -> Iterator[Finding]:
    for role, text in (("request", tool.input_schema), ("response", tool.output_schema)):
        if not text:
            continue
        document = _document(text)
        for note in portability(document):
            yield Finding(SCHEMAS, f"tool {tool.name}", f"{role} schema, {note.pointer or 'root'}: {note.message}")
        if role == "response":
            found = list(open_objects(document))
            if found:
                where = ", ".join(at or "the root" for at in found[:5])
                yield Finding(OPEN_OBJECTS, f"tool {tool.name}", f"Open objects in the response schema: {where}.")


def _document(text: str) -> Document:
    schema = json.loads(text)
    document = Document("", "", schema, own_dialect(schema))
    document.index()
    return document


def _keys(tool: Tool, entry: ToolEntry | None) -> Iterator[Finding]:
    for listener in entry.listeners if entry is not None else ():
        used = keys_of(listener)
        if used is None:
            continue
        for role, text, keys in (
            ("request", tool.input_schema, used.read),
            ("response", tool.output_schema, used.written),
        ):
            lacking = keys - _properties(text) if text else frozenset()
            if lacking and _says_what_it_holds(text):
                verb = "reads" if role == "request" else "writes"
                handler = f"{listener.class_name}::{listener.method}"
                yield Finding(
                    KEYS, f"tool {tool.name}", f"{handler} {verb} {names(lacking)}, which the {role} schema lacks."
                )


def _properties(text: str) -> frozenset[str]:
    """The names that a schema's root gives, also through references and alternatives."""
    document = _document(text)
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [""]
    while waiting:
        at = waiting.pop()
        place = document.places.get(at)
        if at in seen or place is None or not isinstance(place.schema, dict):
            continue
        seen.add(at)
        found.update(place.schema.get("properties") or ())
        for step in in_place(document, place):
            document.reach(step)
            waiting.append(step)
    return frozenset(found)


def _says_what_it_holds(text: str) -> bool:
    """Whether a schema's root names properties at all, and does not describe the others by pattern or schema."""
    schema = json.loads(text)
    others = schema.get("additionalProperties")
    return bool(_properties(text)) and "patternProperties" not in schema and not (isinstance(others, dict) and others)


def _named(row: Listener | Published) -> str:
    if isinstance(row, Listener):
        return f"listener {row.event} ({row.module.module_id})"
    return f"{row._meta.verbose_name} {row}"


def _rights_of(listeners: Iterable[Listener]) -> list[tuple[str, str]]:
    """What has a right and is not refused, with the right."""
    return [(_named(listener), listener.right) for listener in listeners if listener.right and not listener.problem]


def _rights(rights: Iterable[tuple[str, str]], held: Snapshot) -> Iterator[Finding]:
    pairs = list(rights)
    absent = missing(right for _subject, right in pairs)
    for subject, right in pairs:
        reason = problem(parse(right), held)
        if reason:
            yield Finding(RIGHTS, subject, f"The right {shown(right)} is held by nobody: {reason}.")
        for message in absent.get(right, ()):
            yield Finding(RIGHTS, subject, message)


def _scopes(rights: Iterable[str]) -> Iterator[Finding]:
    """Scopes that look as an import made them, and that no right and no other row names."""
    named = {scope for right in rights for scope in parse(right).scopes}
    unused = Scope.objects.filter(
        description="", enabled=True, is_default=False, advertised=True, self_service=False, implies=None
    )
    for relation in Scope._meta.related_objects:
        unused = unused.filter(**{relation.name: None})
    for name in unused.exclude(name__in=named).order_by("name").values_list("name", flat=True):
        yield Finding(SCOPES, f"scope {name}", "No right names it any more, and nobody wrote its consent text.")


def by_kind(found: Iterable[Finding]) -> list[tuple[Kind, list[Finding]]]:
    """Findings in groups, in the order of the kinds; empty kinds left out."""
    groups: dict[int, list[Finding]] = {}
    for finding in found:
        groups.setdefault(finding.kind.number, []).append(finding)
    return [(kind, groups[kind.number]) for kind in KINDS if kind.number in groups]
