"""A new tool in a module: an entry in the manifest, two schemas, a handler and a test."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from mcp_gateway.authoring import modules, templates
from mcp_gateway.authoring.files import Changes, NotWritten
from mcp_gateway.authoring.manifest_text import add_entries
from mcp_gateway.authoring.modules import Place
from mcp_gateway.authoring.naming import ToolNames, tool_names
from mcp_gateway.events.handlers import camel_case
from mcp_gateway.events.status import Origin
from mcp_gateway.manifest.discovery import MANIFEST_NAME, find_modules, same_id
from mcp_gateway.manifest.document import read_manifest
from mcp_gateway.manifest.entries import Entry
from mcp_gateway.manifest.names import name_warning
from mcp_gateway.manifest.states import is_tool
from mcp_gateway.manifest.survey import survey
from mcp_gateway.manifest.world import answers_for_rights
from mcp_gateway.rights import parse
from mcp_gateway.rights.grammar import cure
from mcp_gateway.schemas.reading import Unreadable


@dataclass(slots=True)
class Written:
    """What was written: the module's id, the files that are new or changed, and what the author should know.

    ``guarded``: not everyone may call the tool.
    """

    module_id: str
    tool: str
    paths: list[str]
    notes: list[str] = field(default_factory=list)
    guarded: bool = False


def start_module(name: str, *, directory: str | None = None, tool: str | None = None) -> Written:
    """Make a module with one working tool.

    Parameters: ``directory``, one of ``MODULE_DIRS`` (default the first); ``tool``, its first tool (default
    ``<name>-hello``). Raises `NotWritten`.
    """
    place = modules.place_for_new_module(name, directory)
    changes = Changes(place.source.folder)
    changes.add("CHANGELOG.md", modules.changelog())
    return _add(place, changes, tool or f"{name}-hello")


def add_tool(module: str, tool: str, *, title: str = "", description: str = "", right: str = "") -> Written:
    """Add a tool that greets, for its author to change.

    Parameters: ``module``, a module's id or an installed app; ``title``, ``description`` and ``right`` as in the
    manifest. Raises `NotWritten`.
    """
    place = modules.find_place(module)
    return _add(place, Changes(place.source.folder), tool, title=title, description=description, right=right)


def _add(
    place: Place, changes: Changes, tool: str, *, title: str = "", description: str = "", right: str = ""
) -> Written:
    names = tool_names(tool)
    check_right(right)
    check_free(place, tool)
    class_name, file = _handler_place(place, names)
    entry: dict[str, Any] = {
        "event": tool,
        "title": title or title_of(names),
        "description": description or templates.DESCRIPTION,
        "class": class_name,
        "method": names.method,
        "origin": [Origin.MCP],
    }
    if right:
        entry["right"] = right
    entry["schema"] = add_schemas(
        place, changes, names, {"request": templates.REQUEST_SCHEMA, "response": templates.RESPONSE_SCHEMA}
    )
    changes.add_packages(file, templates.PACKAGE)
    changes.add(file, templates.handler(names))
    changes.add(test_path(place, names), templates.test(names, right))
    modules.write_manifest(place, changes, add_entries(place.data, [entry]))
    notes = write(place, changes, tool)
    if not right:
        notes.append('Anyone may call it. "right": "oauth2:scope mcp:tools" in its entry would change that.')
    return Written(place.source.module_id, tool, changes.paths, notes, guarded=bool(right))


def check_free(place: Place, tool: str, *, converted: str = "") -> None:
    """Raise `NotWritten` where a module has a tool of that name, or this one an event other than ``converted``."""
    for source in find_modules()[0]:
        own = same_id(source.module_id) == same_id(place.source.module_id)
        try:
            entries = place.manifest.entries if own else read_manifest(source).entries
        except Unreadable:
            continue
        for entry in entries:
            if entry.event == tool and _offered(entry):
                raise NotWritten(
                    f"The module {source.module_id} has a tool {tool!r} already ({MANIFEST_NAME}#{entry.pointer}), and "
                    "of two tools with one name a call would run both. Choose another name."
                )
            if own and entry.event == tool != converted:
                raise NotWritten(
                    f"The module {source.module_id} has an event {tool!r} already ({MANIFEST_NAME}#{entry.pointer}). "
                    f"Choose another name, or make a tool of it: mcp_add_tool {source.module_id} NAME --from {tool}."
                )


def check_right(right: str) -> None:
    """Raise `NotWritten` for a right that nobody could hold."""
    parsed = parse(right)
    if not right or not parsed.problem or (parsed.foreign and any(map(answers_for_rights, find_modules()[0]))):
        return
    raise NotWritten(f"The right {right!r} would be held by nobody: {parsed.problem}. {cure(parsed)}".rstrip())


def add_schemas(place: Place, changes: Changes, names: ToolNames, schemas: dict[str, Any]) -> dict[str, str]:
    """Plan the schemas' files; their URIs by role, as the manifest names them."""
    uris = {}
    for role, schema in schemas.items():
        changes.add(names.schema(role), json.dumps(schema, ensure_ascii=False, indent=2) + "\n")
        uris[role] = f"module://{place.source.module_id}/{names.schema(role)}"
    return uris


def write(place: Place, changes: Changes, tool: str) -> list[str]:
    """Write the files, and see that an import takes the tool; else take everything back and raise `NotWritten`.

    Gives back what the author should know.
    """
    changes.write()
    try:
        problem = _problem(place, tool)
    except BaseException:
        changes.undo()
        raise
    if problem:
        changes.undo()
        raise NotWritten(f"The tool {tool} would be refused, so nothing was written. {problem}")
    notes = [name_warning(tool)] if name_warning(tool) else []
    if not place.is_new and place.manifest.version:
        notes.append(f"The module's version is still {place.manifest.version}: raise it with what you release.")
    return notes


def test_path(place: Place, names: ToolNames) -> str:
    """The test's file: in ``tests/``, or beside a ``tests.py`` that takes that name."""
    beside = (place.source.folder / "tests.py").exists()
    return f"{'' if beside else 'tests/'}test_{names.snake}.py"


def title_of(names: ToolNames) -> str:
    """A title that people can read: ``my-tool`` is “My tool”."""
    return names.snake.replace("_", " ").capitalize()


def _offered(entry: Entry) -> bool:
    return Origin.MCP in entry.origins or (Origin.ANY in entry.origins and "response" in entry.schemas)


def _problem(place: Place, tool: str) -> str:
    found = survey(only=place.source.module_id)
    state = found.modules.get(place.source.module_id)
    if state is None or state.problem:
        return state.problem if state else "The module was not found."
    offered = [listener for listener in state.listeners if listener.event == tool and Origin.MCP in listener.origins]
    if offered and all(map(is_tool, offered)):
        return ""
    reasons = dict.fromkeys(
        reason
        for listener in state.listeners
        if listener.event == tool
        for reason in (listener.problem, listener.tool_problem)
    )
    return " ".join(filter(None, reasons)) or "The manifest does not offer it."


def _handler_place(place: Place, names: ToolNames) -> tuple[str, str]:
    """The class as the manifest names it, and its file: where ``autoload`` puts the module's code, in ``mcp/``."""
    prefix, folder = camel_case(place.source.module_id), ""
    for written, path in place.manifest.autoload.items():
        if written.strip("\\") and not path.endswith((".py", ".php")):
            prefix, folder = written.strip("\\"), path.strip("/")
            break
    base = f"{folder}/" if folder else ""
    if (place.source.folder / f"{base}mcp.py").exists():
        # A package beside it would hide that file from every import.
        return f"\\{prefix}\\{names.class_name}", f"{base}{names.file}.py"
    return f"\\{prefix}\\Mcp\\{names.class_name}", f"{base}mcp/{names.file}.py"
