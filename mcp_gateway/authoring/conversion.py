"""A tool from a remote event that is already there: the same class and method, one entry more."""

from __future__ import annotations

from typing import Any

from mcp_gateway.authoring import modules, templates
from mcp_gateway.authoring.drafts import draft
from mcp_gateway.authoring.files import Changes, NotWritten
from mcp_gateway.authoring.manifest_text import add_entries
from mcp_gateway.authoring.modules import Place
from mcp_gateway.authoring.naming import tool_names
from mcp_gateway.authoring.recorded import Recorded, read_recorded
from mcp_gateway.authoring.tools import Written, add_schemas, check_free, check_right, test_path, title_of, write
from mcp_gateway.events.handlers import HandlerNotFound, load_handler
from mcp_gateway.events.status import Origin
from mcp_gateway.manifest.discovery import MANIFEST_NAME
from mcp_gateway.manifest.entries import DEFAULT_PRIORITY, Entry
from mcp_gateway.registry import ModuleEntry
from mcp_gateway.schemas import Role


def convert(
    module: str,
    tool: str,
    event: str,
    *,
    recorded: str | None = None,
    title: str = "",
    description: str = "",
    right: str = "",
) -> Written:
    """Make a tool of a remote event.

    Every remote listener of the event gets one entry more, with its class, method, priority and right, so that a call
    runs what a page's request runs. Schemas that the event has are named again; others are drafted.

    Parameters: ``event``, as the manifest names it; ``recorded``, a file of recorded requests and responses;
    ``title``, ``description`` and ``right`` replace the event's. Raises `NotWritten`.
    """
    place = modules.find_place(module)
    names = tool_names(tool)
    check_right(right)
    entries = _remote(place, event)
    check_free(place, tool, converted=entries[0].event)
    records = read_recorded(recorded, event) if recorded is not None else Recorded()
    handlers = [_handler(place, entry) for entry in entries]

    changes = Changes(place.source.folder)
    uris: dict[str, Any] = {}
    notes = []
    drafts = {}
    for role in Role:
        own = next((entry.schemas[role.value] for entry in entries if role.value in entry.schemas), None)
        if own is not None:
            uris[role.value] = own
        else:
            drafted = draft(role, handlers, records)
            drafts[role.value] = drafted.schema
            notes.append(drafted.note)
    uris |= add_schemas(place, changes, names, drafts)
    schema = {role.value: uris[role.value] for role in Role}
    rights = list(dict.fromkeys(right or entry.right for entry in entries))
    added = [
        _entry(
            entry,
            tool=tool,
            title=title or entry.title or title_of(names),
            description=description or entry.description,
            right=right or entry.right,
            schema=schema,
        )
        for entry in entries
    ]
    changes.add(test_path(place, names), templates.listing_test(names))
    modules.write_manifest(place, changes, add_entries(place.data, added))
    notes.extend(write(place, changes, tool))
    if "description" not in added[0]:
        notes.append("It has no description, and without one no model knows when to call it: write it in the entry.")
    if rights == [""]:
        notes.append(
            'Anyone may call it, as anyone may send the event. A "right" in the entry changes that, for example '
            '"oauth2:scope mcp:tools".'
        )
    return Written(place.source.module_id, tool, changes.paths, notes, guarded=rights != [""])


def _remote(place: Place, event: str) -> list[Entry]:
    """The sound listeners of the event that pages reach, in the order in which they run."""
    named = [entry for entry in place.manifest.entries if entry.event in (event, f"system:request:{event}")]
    remote = [entry for entry in named if {Origin.REMOTE, Origin.ANY} & set(entry.origins) and not entry.faults]
    if remote:
        return sorted(remote, key=lambda entry: (-entry.priority, entry.position))
    where = f"{place.source.module_id}/{MANIFEST_NAME}"
    for entry in named:
        if entry.faults:
            raise NotWritten(f"{where}#{entry.pointer} is refused itself: {entry.faults[0][1]} Mend the entry first.")
        origins = ", ".join(entry.origins) or "none"
        raise NotWritten(
            f"The event {event!r} is not a remote one: its origins are {origins} ({where}#{entry.pointer}). "
            'Add "remote" to them, or make a new tool without --from.'
        )
    known = dict.fromkeys(entry.event for entry in place.manifest.entries if Origin.REMOTE in entry.origins)
    raise NotWritten(
        f"{where} has no event {event!r}. Its remote events are: {', '.join(known) or 'none'}. "
        "Mend the name, or make a new tool without --from."
    )


def _handler(place: Place, entry: Entry) -> Any:
    source = place.source
    module = ModuleEntry(source.module_id, source.app_label, place.manifest.autoload)
    try:
        return load_handler(module, entry.class_name, entry.method)
    except HandlerNotFound as missing:
        raise NotWritten(
            f"The code of {entry.event} ({MANIFEST_NAME}#{entry.pointer}) cannot be used, so no tool can be made of "
            f"it: {missing}"
        ) from None


def _entry(
    entry: Entry, *, tool: str, title: str, description: str, right: str, schema: dict[str, Any]
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "event": tool,
        "title": title,
        "description": description,
        "class": entry.class_name,
        "method": entry.method,
        "origin": [Origin.MCP],
    }
    if not description:
        del made["description"]
    if entry.priority != DEFAULT_PRIORITY:
        made["priority"] = entry.priority
    if right:
        made["right"] = right
    if entry.atomic is not None:
        made["atomic"] = entry.atomic
    return {**made, **entry.extras, "schema": schema}
