"""What the disk says: every module read, every schema judged, every handler looked up; no database."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from mcp_gateway.conf import gateway_settings
from mcp_gateway.events import handlers
from mcp_gateway.events.handlers import ClassNotFound, HandlerNotFound, MethodNotFound
from mcp_gateway.events.status import Origin
from mcp_gateway.manifest import discovery
from mcp_gateway.manifest.dependencies import in_dependency_order
from mcp_gateway.manifest.discovery import MANIFEST_NAME, ModuleSource, find_modules, same_id
from mcp_gateway.manifest.document import parse_manifest, point_out_twins
from mcp_gateway.manifest.entries import Entry
from mcp_gateway.manifest.icons import IconRefused, with_files
from mcp_gateway.manifest.meta_files import PROMPT, RESOURCE, ModuleContext, PublishedState
from mcp_gateway.manifest.names import name_problem, name_warning
from mcp_gateway.manifest.prompt_files import read_prompt
from mcp_gateway.manifest.readings import as_text, unchanged
from mcp_gateway.manifest.releases import read_changelog
from mcp_gateway.manifest.remarks import Remark
from mcp_gateway.manifest.resource_files import read_resource
from mcp_gateway.manifest.rows import Rows
from mcp_gateway.manifest.states import CONTENT_ONLY, ListenerState, ModuleState, Survey
from mcp_gateway.manifest.unseen import unseen
from mcp_gateway.manifest.uris import SCHEME
from mcp_gateway.manifest.world import Asked, World
from mcp_gateway.resources.providing import meant_event, provides, scheme_read
from mcp_gateway.resources.uris import NEVER
from mcp_gateway.rights import parse
from mcp_gateway.rights.grammar import cure, meant_provider
from mcp_gateway.rights.providers import AUTHORIZE
from mcp_gateway.schemas import Note, Role, SchemaRefused, prepare
from mcp_gateway.schemas.dialects import pointer
from mcp_gateway.schemas.faults import shown
from mcp_gateway.schemas.reading import Unreadable, to_text
from mcp_gateway.tasks import REQUIRED

NO_WORKER = (
    "The tool runs only in the background, and this site has no worker for that, so nobody can call it. "
    "Add a backend with a worker to TASKS, for example django-tasks-db, or let “task” be “optional”."
)


def survey(only: str | None = None, rows: Rows | None = None, *, code: bool = True) -> Survey:
    """Read every module, or the one with that id; those that others depend on come first.

    ``rows`` is what the database holds: a module that is still what it was when it was read is taken from there.

    ``code`` False looks at manifests and schemas alone: no Python of a module is imported, and nothing that this
    process has loaded is dropped. Never raises for what a module holds.
    """
    if code:
        discovery.forget()
        handlers.refresh()
    found, problems = find_modules()
    result = Survey(only=only)
    for problem in problems:
        if problem.folder is not None:
            result.missing_folders.append(problem)
        elif not problem.module_ids:
            result.refused.append(Remark("", "module", "", "", problem.message))
        for module_id in dict.fromkeys(problem.module_ids):
            if only is None or same_id(module_id) == same_id(only):
                result.refused.append(Remark(module_id, "module", module_id, "", problem.message))
                result.modules[module_id] = ModuleState(module_id, "", problem=problem.message)
    world = World(found)
    for source in found:
        if only is None or same_id(source.module_id) == same_id(only):
            result.take(_read(source, world, result, rows, code=code))
    _order(result)
    return result


def _order(result: Survey) -> None:
    """Put the modules in the order of their dependencies, and point out where that has no end."""
    order, circles = in_dependency_order({key: state.dependencies for key, state in result.modules.items()})
    for circle in circles:
        around = " → ".join([*circle, circle[0]])
        message = f"The modules depend on each other in a circle: {around}. Take one of the dependencies out."
        result.warnings.append(Remark(circle[0], "module", circle[0], "/dependencies", message))
    result.modules = {key: result.modules[key] for key in order}


def _read(source: ModuleSource, world: World, result: Survey, rows: Rows | None, *, code: bool) -> Survey:
    """What one module adds to a survey: read, or as it was read before."""
    asked = Asked(source, world)
    held = unchanged(asked, source.module_id, rows) if rows is not None and code else None
    if held is not None:
        return held
    # What was asked to see that it changed is not what it is made of now.
    asked = Asked(source, world)
    made = Survey()
    _Reader(source, asked, made, code).read()
    if code and asked.steady and not made.modules[source.module_id].problem:
        result.readings[source.module_id] = as_text(asked, made)
    return made


class _Reader:
    """Reads one module into a survey."""

    def __init__(self, source: ModuleSource, asked: Asked, result: Survey, code: bool) -> None:
        self._source = source
        self._id = source.module_id
        self._asked = asked
        self._result = result
        self._code = code
        self._taken: dict[str, int] = {}

    def read(self) -> None:
        """Read the manifest and every entry of it."""
        state = ModuleState(self._id, self._asked.app_label())
        self._result.modules[self._id] = state
        try:
            manifest = parse_manifest(self._asked.manifest(), self._id)
        except Unreadable as error:
            state.problem = f"The manifest cannot be read: {error}."
            self._refuse("module", self._id, "", f"{state.problem} Until then the module serves as it did.")
            return
        self._result.refused.extend(manifest.refused)
        self._result.warnings.extend(manifest.warnings)
        state.name, state.version, state.description = manifest.name, manifest.version, manifest.description
        state.manifest, state.digest, state.autoload = manifest.text, manifest.digest, to_text(manifest.autoload)
        state.changelog = read_changelog(self._source)
        state.dependencies = tuple(name for name, _where in manifest.dependencies)
        for name, where in manifest.dependencies:
            if not self._asked.is_known(name):
                message = f"The module {shown(name)} it depends on is not here. Add it, or take the dependency out."
                self._warn("module", self._id, where, message)
        point_out_twins(manifest.entries)
        for entry in manifest.entries:
            listener = self._listener(entry, manifest.autoload)
            if listener is not None:
                state.listeners.append(listener)
        schemes = {*manifest.schemes, *(scheme_read(found.event) for found in state.listeners)} - {"", *NEVER}
        state.schemes = to_text(sorted(schemes))
        self._published(state, frozenset(schemes))

    def _published(self, state: ModuleState, schemes: frozenset[str]) -> None:
        """Read the files under ``mcp/``, each on its own."""
        sound = (found for found in state.listeners if not found.problem and provides(found.event))
        context = ModuleContext(
            self._id,
            self._asked,
            schemes,
            tuple((found.event, found.right) for found in sound),
            gateway_settings.max_result_bytes,
        )
        for kind, read in ((RESOURCE, read_resource), (PROMPT, read_prompt)):
            for filename in self._asked.meta_files(kind):
                found = read(filename, context)
                state.published.append(found)
                for where, message in found.warnings:
                    self._warn(kind, found.key, where, message, found.file)
                for where, message in found.faults:
                    self._refuse(kind, found.key, where, message, found.file)
                self._right(found, kind, found.key, "/right", found.file)
                if not self._code:
                    # Whoever only compares needs the digest.
                    found.content = None

    def _refuse(self, kind: str, name: str, where: str, message: str, file: str = MANIFEST_NAME) -> None:
        self._result.refused.append(Remark(self._id, kind, name, where, message, file))

    def _warn(self, kind: str, name: str, where: str, message: str, file: str = MANIFEST_NAME) -> None:
        self._result.warnings.append(Remark(self._id, kind, name, where, message, file))

    def _listener(self, entry: Entry, autoload: dict[str, str]) -> ListenerState | None:
        name = entry.event or f"listen[{entry.position}]"
        for where, message in entry.warnings:
            self._warn("listener", name, entry.pointer + where, message)
        self._icons(entry)
        if entry.faults:
            for where, message in entry.faults:
                self._refuse("listener", name, entry.pointer + where, message)
            if not entry.event:
                return None
            listener = self._state(entry)
            listener.problem = " ".join(message for _where, message in entry.faults)
            return _sealed(listener)
        listener = self._state(entry)
        self._right(entry, "listener", entry.event, f"{entry.pointer}/right")
        if self._code:
            self._handler(entry, listener, autoload)
        self._schemas(entry, listener)
        return _sealed(listener)

    def _icons(self, entry: Entry) -> None:
        try:
            if "icons" in entry.extras:
                entry.extras["icons"] = with_files(entry.extras["icons"], self._asked)
        except IconRefused as error:
            entry.faults.append((pointer("icons") + error.where, str(error)))

    def _handler(self, entry: Entry, listener: ListenerState, autoload: dict[str, str]) -> None:
        try:
            self._asked.check_handler(autoload, entry.class_name, entry.method)
        except HandlerNotFound as missing:
            listener.problem = str(missing)
            # Manifests of the PHP original name classes that are not here; that spoils nothing but what would be a
            # tool. A dotted path was written for Python.
            foreign = isinstance(missing, ClassNotFound) and "\\" in entry.class_name and not _is_offered(entry)
            tell = self._warn if foreign else self._refuse
            key = "method" if isinstance(missing, MethodNotFound) else "class"
            tell("listener", entry.event, f"{entry.pointer}/{key}", str(missing))

    def _state(self, entry: Entry) -> ListenerState:
        origins = list(entry.origins)
        key = to_text([self._id, entry.event, entry.class_name, entry.method, origins])
        occurrence = self._taken.get(key, 0)
        self._taken[key] = occurrence + 1
        return ListenerState(
            event=entry.event,
            class_name=entry.class_name,
            method=entry.method,
            origins=origins,
            occurrence=occurrence,
            identity=hashlib.sha256(f"{key}#{occurrence}".encode()).hexdigest(),
            position=entry.position,
            priority=entry.priority,
            description=entry.description,
            title=entry.title,
            right=entry.right,
            visibility=entry.visibility,
            atomic=entry.atomic,
            task=entry.task,
            extras=to_text(entry.extras),
            needs=list(entry.needs),
            single_use=entry.single_use,
        )

    def _right(self, entry: Entry | PublishedState, kind: str, name: str, at: str, file: str = MANIFEST_NAME) -> None:
        if not entry.right:
            return
        right = parse(entry.right)
        here = Remark(self._id, kind, name, at, "", file)
        answered = right.foreign and self._asked.rights_are_answered()
        meant = meant_provider(right)
        hint = f" If {shown(meant)} is meant, write that." if meant else ""
        if right.problem and not answered:
            own = "A module answers for rights of its own by listening to system:authorize." if right.foreign else ""
            message = f"The right {shown(entry.right)} is held by nobody: {right.problem}."
            self._result.warnings.append(replace(here, message=" ".join(filter(None, (message, own, cure(right))))))
        elif answered:
            message = (
                f"The right {shown(entry.right)} is none of the gateway's: only a listener of {AUTHORIZE} can answer "
                f"for {shown(right.provider)}, and where none does nobody holds it.{hint}"
            )
            (self._result.warnings if meant else self._result.news).append(replace(here, message=message))
        self._result.rights.append((entry.right, here))
        for scope in sorted(right.scopes):
            if "," in scope:
                message = f"The scope {shown(scope)} has a comma in its name. Several scopes stand with spaces between."
                self._result.warnings.append(replace(here, message=message))
            self._result.scopes.setdefault(scope, replace(here, kind="scope", name=scope))

    def _schemas(self, entry: Entry, listener: ListenerState) -> None:
        """Prepare both schemas and decide whether the listener can be a tool."""
        is_tool = _is_offered(entry)
        if Origin.MCP in listener.origins and not is_tool and not provides(entry.event):
            self._warn(
                "listener",
                entry.event,
                f"{entry.pointer}/event",
                "An event with a “*” is no tool; the listener watches the calls it matches."
                if "*" in entry.event
                else "Events that begin with “mcp:” are the protocol's own and never tools; "
                f"they are dispatched with the origin internal.{_meant(entry.event)}",
            )
        problems: list[str] = []
        if is_tool:
            wrong = name_problem(entry.event)
            if wrong:
                problems.append(wrong)
                self._refuse("tool", entry.event, f"{entry.pointer}/event", wrong)
            elif "response" not in entry.schemas:
                problems.append(
                    "“schema.response” is missing. Name the schema of what the tool answers, or write null where its "
                    "answer is content alone."
                )
                self._refuse("tool", entry.event, f"{entry.pointer}/schema/response", problems[-1])
            if not entry.description:
                self._warn(
                    "tool",
                    entry.event,
                    f"{entry.pointer}/description",
                    "Without a “description” no model knows when to call it.",
                )
            if entry.task == REQUIRED and not self._asked.tasks_are_offered():
                self._warn("tool", entry.event, f"{entry.pointer}/task", NO_WORKER)
            hint = name_warning(entry.event)
            if hint and not wrong:
                self._warn("tool", entry.event, f"{entry.pointer}/event", hint)
        for role in Role:
            if role.value not in entry.schemas:
                continue
            problem = self._schema(entry, listener, role, refuse=is_tool)
            if problem:
                problems.append(problem)
        if problems:
            self._take_from_mcp(listener, " ".join(problems))

    def _schema(self, entry: Entry, listener: ListenerState, role: Role, *, refuse: bool) -> str:
        if entry.schemas[role.value] is None:
            listener.response_schema = CONTENT_ONLY
            return ""
        at = f"{entry.pointer}/schema/{role.value}"
        try:
            prepared = prepare(
                entry.schemas[role.value],
                role,
                manifest=f"{SCHEME}{self._id}/{MANIFEST_NAME}",
                pointer=at,
                read=self._asked.read,
            )
        except SchemaRefused as error:
            for note in error.problems:
                message = f"The {role.value} schema of {entry.event} is refused: {note.message}"
                if refuse:
                    self._refuse("tool", entry.event, note.pointer, message, self._file(note))
                else:
                    self._warn("schema", entry.event, note.pointer, message, self._file(note))
            return (
                ""
                if not refuse
                else " ".join(
                    f"{role.value} schema, {self._file(note)}#{note.pointer}: {note.message}" for note in error.problems
                )
            )
        for note in prepared.notes:
            self._warn("schema", entry.event, note.pointer, note.message, self._file(note))
        hint = unseen(prepared.text)
        if hint:
            self._warn("schema", entry.event, at, f"The {role.value} schema {hint}")
        setattr(listener, f"{role.value}_schema", prepared.text)
        return ""

    def _file(self, note: Note) -> str:
        return note.file.removeprefix(f"{SCHEME}{self._id}/")

    @staticmethod
    def _take_from_mcp(listener: ListenerState, problem: str) -> None:
        """Refuse a listener as a tool; it goes on serving its other origins, if it has any."""
        listener.tool_problem = problem
        if Origin.ANY in listener.origins:
            kept = Origin.KNOWN - {Origin.ANY, Origin.MCP}
        else:
            kept = frozenset(listener.origins) - {Origin.MCP}
        if kept:
            listener.origins = sorted(kept)
        elif not listener.problem:
            listener.problem = problem


def _meant(event: str) -> str:
    meant = meant_event(event)
    return f" Did you mean {shown(meant)}? That provides." if meant else ""


def _is_offered(entry: Entry) -> bool:
    """Whether an entry is meant as a tool."""
    named = Origin.MCP in entry.origins or (Origin.ANY in entry.origins and "response" in entry.schemas)
    return named and "*" not in entry.event and not entry.event.startswith("mcp:")


def _sealed(listener: ListenerState) -> ListenerState:
    columns = listener.columns()
    columns.pop("digest")
    listener.digest = hashlib.sha256(to_text(columns).encode()).hexdigest()
    return listener
