"""``resources/list``, ``resources/templates/list`` and ``prompts/list``: what files publish and what listeners add."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from mcp_gateway import encoding
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events import CallEvent
from mcp_gateway.models import Offered
from mcp_gateway.protocol import icons, pagination
from mcp_gateway.protocol.errors import method_not_found
from mcp_gateway.protocol.methods.answering import Answering, for_prompt, for_template, for_uri
from mcp_gateway.protocol.methods.call import Call
from mcp_gateway.protocol.methods.listing import page
from mcp_gateway.protocol.methods.providers import allowed, collect, schemes_of
from mcp_gateway.protocol.versions import has
from mcp_gateway.registry import ListenerEntry, Snapshot
from mcp_gateway.resources import providing
from mcp_gateway.resources.entries import PublishedEntry, ResourceEntry
from mcp_gateway.resources.listeners import providers, reached
from mcp_gateway.resources.members import member_faults
from mcp_gateway.resources.templates import template
from mcp_gateway.resources.uris import is_uri, may_leave

logger = logging.getLogger("mcp_gateway")

# Fields that only some versions have.
_GATED = {"title": "BaseMetadata.title", "icons": "Icons.icons", "_meta": "Resource._meta"}

# What an argument has beside these is for completion, and stays here.
_ARGUMENT_FIELDS = ("name", "title", "description", "required")


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the three lists.

    ``entries`` are a snapshot's own, ``event`` asks listeners for theirs, ``answering`` says what answers for one of
    them, by ``key``, the field that tells them apart.
    """

    method: str
    member: str
    key: str
    event: str
    entries: Callable[[Snapshot], Mapping[str, PublishedEntry]]
    answering: Callable[[Snapshot, str], Answering[Any]]


RESOURCES = Kind(
    "resources/list",
    "resources",
    "uri",
    providing.RESOURCES_LIST,
    lambda snapshot: snapshot.published.resources,
    for_uri,
)
TEMPLATES = Kind(
    "resources/templates/list",
    "resourceTemplates",
    "uriTemplate",
    providing.TEMPLATES_LIST,
    lambda snapshot: snapshot.published.templates,
    for_template,
)
PROMPTS = Kind(
    "prompts/list",
    "prompts",
    "name",
    providing.PROMPTS_LIST,
    lambda snapshot: snapshot.published.prompts,
    for_prompt,
)


def offers_resources(snapshot: Snapshot) -> bool:
    """Whether there is anything that the capability ``resources`` could stand for."""
    published = snapshot.published
    return bool(published.resources or published.templates) or _is_provided(snapshot, "mcp:resources/")


def offers_prompts(snapshot: Snapshot) -> bool:
    """Whether there is anything that the capability ``prompts`` could stand for."""
    return bool(snapshot.published.prompts) or _is_provided(snapshot, "mcp:prompts/")


def _is_provided(snapshot: Snapshot, beginning: str) -> bool:
    return any(listener.event.startswith(beginning) for listener in providers(snapshot))


def list_resources(call: Call) -> bytes:
    """``ListResourcesResult``: in the order of their URIs, a page at a time."""
    require(call, "resources/list", offered=offers_resources(call.snapshot))
    return _listed(call, RESOURCES)


def list_templates(call: Call) -> bytes:
    """``ListResourceTemplatesResult``."""
    require(call, "resources/templates/list", offered=offers_resources(call.snapshot))
    return _listed(call, TEMPLATES)


def list_prompts(call: Call) -> bytes:
    """``ListPromptsResult``: in the order of their names, without their messages."""
    require(call, "prompts/list", offered=offers_prompts(call.snapshot))
    return _listed(call, PROMPTS)


def visible(call: Call, kind: Kind) -> tuple[object, ...]:
    """What a list holds for the caller, to be compared with what it held; what listeners add is not asked for."""
    snapshot = call.snapshot
    entries = kind.entries(snapshot)
    listeners = reached(snapshot, kind.event)
    return (
        tuple(
            _own_definition(kind, entry, call.version) for entry in entries.values() if _is_listed(call, kind, entry)
        ),
        listeners,
        # What listeners add depends on what the files withhold.
        snapshot.published.claims.withheld() if listeners else None,
    )


def visible_resource(call: Call, uri: str) -> PublishedEntry | None:
    """What a file publishes under a URI, for a caller who may read it; its digest changes with its content."""
    found = for_uri(call.snapshot, uri)
    return found.entry if found.is_open(call) else None


def _is_listed(call: Call, kind: Kind, entry: PublishedEntry) -> bool:
    if entry.visibility == Offered.Visibility.AUTHORIZED:
        return kind.answering(call.snapshot, entry.key).is_open(call)
    return entry.visibility == Offered.Visibility.LISTED


def require(call: Call, method: str, *, offered: bool) -> None:
    """Refuse a method whose capability is not declared, because nothing is behind it: -32601."""
    if not offered:
        raise method_not_found(method, call.version)


def _listed(call: Call, kind: Kind) -> bytes:
    snapshot, slug = call.snapshot, call.endpoint.slug
    after = pagination.after(call.params, kind.method, slug)
    entries = kind.entries(snapshot)
    own = snapshot.derived((kind.method, "listed"), lambda: _keys(entries, Offered.Visibility.LISTED))
    guarded = snapshot.derived((kind.method, "guarded"), lambda: _keys(entries, Offered.Visibility.AUTHORIZED))

    def definition(key: str) -> bytes:
        return snapshot.derived(
            (kind.method, "entry", key, call.version), lambda: _own_definition(kind, entries[key], call.version)
        )

    def shared() -> bytes:
        return page(call, kind.method, kind.member, own, definition, after=after, shared=True)

    if not guarded and not reached(snapshot, kind.event):
        return snapshot.derived((kind.method, call.version, slug, after), shared)
    seen = [key for key in guarded if kind.answering(snapshot, key).is_open(call)]
    provided = {
        key: fields
        for key, fields in reversed(collect(call, kind.event, lambda event, one: _taken(call, kind, event, one)))
        if _may_add(call, kind, key)
    }

    def either(key: str) -> bytes:
        return _encoded(shaped(provided[key], call.version)) if key in provided else definition(key)

    keys = sorted([*own, *seen, *provided])
    is_told = not reached(snapshot, kind.event)
    return page(call, kind.method, kind.member, keys, either, after=after, shared=False, is_told=is_told)


def _keys(entries: Mapping[str, PublishedEntry], visibility: Offered.Visibility) -> list[str]:
    return sorted(key for key, entry in entries.items() if entry.visibility == visibility)


def _own_definition(kind: Kind, entry: PublishedEntry, version: str) -> bytes:
    fields: dict[str, Any] = {kind.key: entry.key, "name": entry.name}
    if entry.title:
        fields["title"] = entry.title
    if entry.description:
        fields["description"] = entry.description
    if isinstance(entry, ResourceEntry):
        if entry.mime_type:
            fields["mimeType"] = entry.mime_type
        if entry.size is not None and kind is RESOURCES:
            fields["size"] = entry.size
    elif entry.arguments != "[]":
        fields["arguments"] = json.loads(entry.arguments)
    extras = {name: value for name, value in json.loads(entry.extras).items() if name not in fields}
    return _encoded(shaped(fields | extras, version))


def shaped(fields: Mapping[str, Any], version: str) -> dict[str, Any]:
    """An entry without what a version does not have."""
    kept = {name: value for name, value in fields.items() if name not in _GATED or has(_GATED[name], version)}
    if "icons" in kept:
        kept["icons"] = icons.published(kept["icons"])
    if not has("Annotations.lastModified", version) and "lastModified" in kept.get("annotations", ()):
        kept["annotations"] = {name: value for name, value in kept["annotations"].items() if name != "lastModified"}
    if isinstance(kept.get("arguments"), list):
        known = [name for name in _ARGUMENT_FIELDS if name not in _GATED or has(_GATED[name], version)]
        kept["arguments"] = [
            {name: argument[name] for name in known if name in argument} for argument in kept["arguments"]
        ]
    return kept


def _encoded(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields)


# What listeners add


def _may_add(call: Call, kind: Kind, key: str) -> bool:
    """Whether a listener may list this: no file does, and none of them hides it from the caller."""
    found = kind.answering(call.snapshot, key)
    if found.exact or found.withheld:
        return False
    entry = found.entry
    return entry is None or entry.visibility != Offered.Visibility.AUTHORIZED or allowed(call, found.rights)


def _taken(call: Call, kind: Kind, event: CallEvent, listener: ListenerEntry) -> list[tuple[str, dict[str, Any]]]:
    """The sound entries of a response: a list, or an object that holds it. The log tells of the others."""
    response = event.response
    given = response.get(kind.member, ()) if isinstance(response, Mapping) else response
    if not isinstance(given, Iterable):
        raise ValueError(f"“{kind.member}” is a list, and no {type(given).__name__}")
    schemes = schemes_of([listener])
    found = []
    for one in given:
        try:
            entry = encoding.encode(one, max_depth=gateway_settings.max_json_depth).value
            problem = _problem(kind, entry, schemes)
        except encoding.EncodingError as error:
            problem = str(error)
        if problem:
            logger.error("An entry that %s gave to %s is left out: %s", listener.module.module_id, kind.event, problem)
        else:
            found.append((entry[kind.key], {"name": entry[kind.key], **entry}))
    return found


def _problem(kind: Kind, entry: Any, schemes: frozenset[str]) -> str:
    """Why an entry cannot be listed; a client would refuse the whole list for one of them."""
    if not isinstance(entry, dict) or not isinstance(entry.get(kind.key), str) or not entry[kind.key]:
        return f"it needs a text “{kind.key}”"
    for _where, fault in member_faults(entry):
        return fault
    if kind is PROMPTS:
        arguments = entry.get("arguments", [])
        if not isinstance(arguments, list) or not all(_is_argument(argument) for argument in arguments):
            return "its “arguments” are no list of objects with a “name”"
        return ""
    return _uri_problem(kind, entry[kind.key], schemes)


def _uri_problem(kind: Kind, uri: str, schemes: frozenset[str]) -> str:
    if kind is TEMPLATES:
        try:
            uri = "x".join(template(uri).literals)
        except ValueError as error:
            return str(error)
    if not is_uri(uri):
        return f"{uri!r:.200} is no URI"
    if not may_leave(uri, schemes):
        return f"its module does not declare the scheme of {uri!r:.200}"
    return ""


def _is_argument(argument: Any) -> bool:
    return (
        isinstance(argument, dict)
        and isinstance(argument.get("name"), str)
        and all(isinstance(argument.get(name, ""), str) for name in ("title", "description"))
        and isinstance(argument.get("required", False), bool)
    )
