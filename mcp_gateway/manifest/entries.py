"""One entry of ``listen``: from what was written to what it means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_gateway.events import capabilities
from mcp_gateway.events.status import Origin
from mcp_gateway.manifest.icons import icons_problem
from mcp_gateway.manifest.misspellings import meant, meant_guard, unknown_key
from mcp_gateway.manifest.unseen import unseen
from mcp_gateway.schemas.dialects import pointer as to_pointer
from mcp_gateway.schemas.faults import shown, type_name
from mcp_gateway.tasks import OPTIONAL, REQUIRED

KNOWN_KEYS = frozenset(
    {
        "event", "service", "request", "class", "method", "origin", "description", "priority", "right", "schema",
        "title", "annotations", "icons", "_meta", "visibility", "atomic", "needs", "single_use", "task",
    }
)  # fmt: skip
VISIBILITIES = ("listed", "authorized", "unlisted", "off")
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
TASKS = (OPTIONAL, REQUIRED)

DEFAULT_PRIORITY = 0.5
MAX_EVENT = 500
MAX_CLASS = 500
MAX_METHOD = 200
MAX_TITLE = 500


@dataclass(slots=True)
class Entry:
    """A listener as its manifest means it.

    ``faults`` and ``warnings`` are pairs of a pointer below the entry and a message; an entry with faults is
    refused. ``schemas`` holds ``request`` and ``response`` as written; a ``response`` of None was written as null.
    """

    position: int
    event: str = ""
    class_name: str = ""
    method: str = ""
    origins: tuple[str, ...] = ()
    description: str = ""
    title: str = ""
    priority: float = DEFAULT_PRIORITY
    right: str = ""
    visibility: str = "listed"
    atomic: bool | None = None
    needs: tuple[str, ...] = ()
    single_use: bool = False
    task: str = ""
    schemas: dict[str, Any] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)
    is_service: bool = False
    faults: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)

    @property
    def pointer(self) -> str:
        """Where the entry stands in its manifest."""
        return to_pointer("listen", self.position)

    def refuse(self, key: str, message: str) -> None:
        """Note a fault at a key of the entry."""
        self.faults.append((to_pointer(key) if key else "", message))

    def warn(self, key: str, message: str) -> None:
        """Note a warning at a key of the entry."""
        self.warnings.append((to_pointer(key) if key else "", message))


def read_entry(raw: Any, position: int) -> Entry:
    """Read one entry; never raises: what is wrong with it is in its ``faults``."""
    entry = Entry(position)
    if not isinstance(raw, Mapping):
        entry.refuse("", f"An entry of “listen” is an object, not {shown(raw)}.")
        return entry
    for key in raw:
        if key not in KNOWN_KEYS and not meant_guard(key, KNOWN_KEYS):
            entry.warn(key, unknown_key(key, KNOWN_KEYS))
    _event(entry, raw)
    entry.class_name = _text(entry, raw, "class", MAX_CLASS)
    if not entry.class_name and not any(where == "/class" for where, _message in entry.faults):
        entry.refuse("class", "A listener needs a “class”.")
    entry.method = _text(entry, raw, "method", MAX_METHOD)
    if not entry.method and not entry.is_service and not any(where == "/method" for where, _message in entry.faults):
        entry.refuse("method", "A listener needs a “method”; only a service may leave it out.")
    entry.description = _text(entry, raw, "description", None)
    entry.title = _text(entry, raw, "title", MAX_TITLE)
    for key, text in (("description", entry.description), ("title", entry.title)):
        hint = unseen(text)
        if hint:
            entry.warn(key, f"“{key}” {hint}")
    _priority(entry, raw)
    _right(entry, raw)
    _schema(entry, raw)
    _visibility(entry, raw)
    _running(entry, raw)
    _extras(entry, raw)
    return entry


def _text(entry: Entry, raw: Mapping[str, Any], key: str, limit: int | None) -> str:
    value = raw.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        entry.refuse(key, f"“{key}” must be text, not {type_name(value)}.")
        return ""
    if "\0" in value:
        entry.refuse(key, f"“{key}” holds a NUL character, which no database stores. Remove it.")
        return value.replace("\0", "")
    if limit is not None and len(value) > limit:
        entry.refuse(key, f"“{key}” has {len(value)} characters; at most {limit} are kept. Shorten it.")
        return value[:limit]
    return value


def _event(entry: Entry, raw: Mapping[str, Any]) -> None:
    given = [key for key in ("service", "request", "event") if raw.get(key) not in (None, "")]
    if not given:
        entry.refuse("event", "A listener needs an “event” (or a “service”, or a “request”).")
    else:
        key = given[0]
        if len(given) > 1:
            entry.warn(key, f"“{key}” counts, and “{'” and “'.join(given[1:])}” beside it do not. Keep one.")
        name = _text(entry, raw, key, MAX_EVENT - len("system:service:"))
        if key == "event":
            entry.event = name
        else:
            entry.event = f"system:{key}:{name}" if name else ""
            entry.is_service = key == "service"
            entry.origins = (Origin.INTERNAL,) if key == "service" else (Origin.REMOTE,)
            return
    _origins(entry, raw)


def _origins(entry: Entry, raw: Mapping[str, Any]) -> None:
    value = raw.get("origin")
    values = value if isinstance(value, list) else [] if value in (None, "") else [value]
    kept = []
    for origin in values:
        if not isinstance(origin, str) or origin not in Origin.KNOWN:
            entry.refuse(
                "origin", f"The origin {shown(origin)} is unknown. Known are {', '.join(sorted(Origin.KNOWN))}."
            )
        else:
            kept.append(origin)
    entry.origins = tuple(sorted(set(kept)))
    if not values:
        entry.warn("origin", "No “origin” is given, so the listener is never reached. Name where events come from.")


def _priority(entry: Entry, raw: Mapping[str, Any]) -> None:
    value = raw.get("priority")
    if value is None:
        return
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        entry.refuse("priority", f"“priority” must be a number between 0 and 1, not {shown(value)}.")
        return
    entry.priority = number
    if not 0 <= number <= 1:
        entry.warn("priority", f"The priority {shown(value)} lies outside 0 to 1.")


def _right(entry: Entry, raw: Mapping[str, Any]) -> None:
    """``right``. Where something was to be protected, what cannot be read is a right that nobody holds."""
    for key in raw:
        guard = meant_guard(key, KNOWN_KEYS)
        if guard:
            entry.refuse(key, f"The key {shown(key)} is unknown and guards nothing. Write “{guard}”.")
            entry.right = f"(unreadable) {shown(raw[key])}"
    value = raw.get("right")
    if entry.right or value is None or value is False:
        return
    if not isinstance(value, str):
        entry.refuse("right", f'“right” must be text (or "", false or null for none), not {shown(value)}.')
        entry.right = f"(unreadable) {shown(value)}"
        return
    entry.right = _text(entry, raw, "right", None).strip()


def _schema(entry: Entry, raw: Mapping[str, Any]) -> None:
    value = raw.get("schema")
    if value is None or value == []:
        return
    if not isinstance(value, Mapping):
        entry.refuse("schema", f"“schema” must be an object with “request” and “response”, not {shown(value)}.")
        return
    for key, schema in value.items():
        if key not in ("request", "response"):
            entry.warnings.append(
                (to_pointer("schema", key), f"The key {shown(key)} is unknown; “request” and “response” are known.")
            )
        elif schema is not None or key == "response":
            entry.schemas[key] = schema


def _visibility(entry: Entry, raw: Mapping[str, Any]) -> None:
    value = raw.get("visibility")
    if value is not None:
        if isinstance(value, str) and value in VISIBILITIES:
            entry.visibility = value
        else:
            entry.refuse("visibility", f"“visibility” must be one of {', '.join(VISIBILITIES)}, not {shown(value)}.")


def _running(entry: Entry, raw: Mapping[str, Any]) -> None:
    """How a call is run: in the background, in a transaction, for which clients, with answers that count once."""
    task = raw.get("task")
    if isinstance(task, str) and task in TASKS:
        entry.task = task
    elif task is not None:
        entry.refuse("task", f"“task” must be one of {', '.join(TASKS)}, not {shown(task)}.")
    entry.atomic = _switch(entry, raw, "atomic")
    entry.single_use = bool(_switch(entry, raw, "single_use"))
    value = raw.get("needs")
    names = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(name, str) for name in names):
        entry.refuse("needs", f"“needs” is a list of capabilities, such as elicitation, not {shown(value)}.")
        return
    unknown = [name for name in names if name not in capabilities.KNOWN]
    if unknown:
        known = ", ".join(sorted(capabilities.KNOWN))
        entry.warn("needs", f"Only clients that declare {shown(unknown[0])} are served. Known are {known}.")
    entry.needs = tuple(dict.fromkeys(names))


def _switch(entry: Entry, raw: Mapping[str, Any], key: str) -> bool | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, bool):
        entry.refuse(key, f"“{key}” must be true or false, not {shown(value)}.")
    return value if isinstance(value, bool) else None


def _extras(entry: Entry, raw: Mapping[str, Any]) -> None:
    """What the listing passes through: a wrong type there makes clients refuse the whole list."""
    for hint in raw["annotations"] if isinstance(raw.get("annotations"), Mapping) else ():
        close = "" if hint in ("title", *HINTS) else meant(hint, HINTS)
        if close:
            message = f"The key {shown(hint)} is unknown. Is {shown(close)} meant?"
            entry.warnings.append((to_pointer("annotations", hint), message))
    for key in _PROBLEMS:
        value = raw.get(key)
        if value is None or value == [] or value == {}:
            continue
        wrong = _PROBLEMS[key](value)
        if wrong:
            where, message = wrong
            entry.faults.append((to_pointer(key) + where, message))
        else:
            entry.extras[key] = value


def _object(value: Any) -> tuple[str, str] | None:
    return None if isinstance(value, Mapping) else ("", f"An object is needed here, not {shown(value)}.")


def _annotations(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, Mapping):
        return _object(value)
    if not isinstance(value.get("title", ""), str):
        return "/title", "The title of “annotations” must be text."
    for hint in HINTS:
        if not isinstance(value.get(hint, False), bool):
            return f"/{hint}", f"“{hint}” must be true or false, not {shown(value[hint])}."
    return None


_PROBLEMS: Mapping[str, Callable[[Any], tuple[str, str] | None]] = {
    "annotations": _annotations,
    "icons": icons_problem,
    "_meta": _object,
}
