"""``tools/list``: prebuilt bytes, one set per version, endpoint and page."""

from __future__ import annotations

import json
from typing import Any

import orjson

from mcp_gateway import encoding
from mcp_gateway.models import Tool
from mcp_gateway.protocol import pagination
from mcp_gateway.protocol.icons import published
from mcp_gateway.protocol.methods.call import Call
from mcp_gateway.protocol.methods.listing import page
from mcp_gateway.protocol.versions import has
from mcp_gateway.registry import Snapshot, ToolEntry
from mcp_gateway.rights import decide

METHOD = "tools/list"

# What a manifest may add to a tool beside the fields that have their own columns.
_EXTRAS = ("annotations", "icons", "_meta")

_ANY_OBJECT = '{"type":"object"}'


def list_tools(call: Call) -> bytes:
    """``ListToolsResult``: the tools in the order of their names, a page at a time.

    Tools that are listed to everyone are the same bytes for everyone. Where tools exist only for those who may
    call them the page is put together for the caller, and no page may be shared.
    """
    snapshot, slug = call.snapshot, call.endpoint.slug
    after = pagination.after(call.params, METHOD, slug)
    names = snapshot.derived("tools listed to everyone", lambda: _listed(snapshot))
    guarded = snapshot.derived("tools listed to those who may call", lambda: _guarded(snapshot))
    if not guarded:
        return snapshot.derived((METHOD, call.version, slug, after), lambda: _page(call, names, after, shared=True))
    seen = [name for name in guarded if may_call(call, snapshot.tools[name])]
    return _page(call, sorted([*names, *seen]), after, shared=False)


def visible_tools(call: Call) -> tuple[bytes, ...]:
    """What the list holds for the caller, to be compared with what it held."""
    snapshot = call.snapshot
    seen = (name for name in _guarded(snapshot) if may_call(call, snapshot.tools[name]))
    return tuple(_definition(snapshot, name, call.version) for name in sorted([*_listed(snapshot), *seen]))


def may_call(call: Call, tool: ToolEntry) -> bool:
    """Whether the caller's rights are enough for a tool."""
    return decide(tool.rights, call.principal, call.snapshot, baseline=call.endpoint.baseline).allowed


def _listed(snapshot: Snapshot) -> list[str]:
    return sorted(name for name, tool in snapshot.tools.items() if tool.visibility == Tool.Visibility.LISTED)


def _guarded(snapshot: Snapshot) -> list[str]:
    return sorted(name for name, tool in snapshot.tools.items() if tool.visibility == Tool.Visibility.AUTHORIZED)


def _page(call: Call, names: list[str], after: str | None, *, shared: bool) -> bytes:
    def one(name: str) -> bytes:
        return _definition(call.snapshot, name, call.version)

    return page(call, METHOD, "tools", names, one, after=after, shared=shared)


def _definition(snapshot: Snapshot, name: str, version: str) -> bytes:
    return snapshot.derived(("tool", name, version), lambda: definition(snapshot.tools[name], version))


def definition(tool: ToolEntry, version: str) -> bytes:
    """The ``Tool`` object of a version. Schemas are the manifest's own text, keyword for keyword."""
    fields: dict[str, str] = {"name": _text(tool.name)}
    if tool.title and has("Tool.title", version):
        fields["title"] = _text(tool.title)
    if tool.description:
        fields["description"] = _text(tool.description)
    modern = has("Result.resultType", version)
    schema = tool.input_schema or _ANY_OBJECT
    fields["inputSchema"] = schema if modern else _without_booleans(schema)
    if has_output_schema(tool, version):
        fields["outputSchema"] = tool.output_schema if modern else _without_booleans(tool.output_schema)
    extras = json.loads(tool.extras or "{}")
    if "icons" in extras:
        extras["icons"] = published(extras["icons"])
    for field in _EXTRAS:
        if field in extras and has(f"Tool.{field}", version):
            fields[field] = json.dumps(extras[field], ensure_ascii=False, separators=(",", ":"))
    return ("{" + ",".join(f'"{field}":{encoded}' for field, encoded in fields.items()) + "}").encode()


def has_output_schema(tool: ToolEntry, version: str) -> bool:
    """Whether a version lists the tool's ``outputSchema``, and so gets ``structuredContent`` from a call.

    The legacy era knows only schemas whose root says ``"type": "object"``, and structures that are objects.
    """
    if not tool.output_schema or not has("Tool.outputSchema", version):
        return False
    if has("Result.resultType", version):
        return True
    root: Any = orjson.loads(tool.output_schema)
    return isinstance(root, dict) and root.get("type") == "object"


def _without_booleans(schema: str) -> str:
    """A schema whose root's ``properties`` are all objects, as the legacy era's own schema demands."""
    root = json.loads(schema)
    properties = root.get("properties") if isinstance(root, dict) else None
    if not isinstance(properties, dict) or not any(isinstance(entry, bool) for entry in properties.values()):
        return schema
    objects: dict[bool, dict[str, Any]] = {True: {}, False: {"not": {}}}
    root["properties"] = {
        name: objects[entry] if isinstance(entry, bool) else entry for name, entry in properties.items()
    }
    return json.dumps(root, ensure_ascii=False, separators=(",", ":"))


def _text(value: str) -> str:
    return encoding.text(value).decode()
