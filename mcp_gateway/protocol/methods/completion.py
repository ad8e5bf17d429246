"""``completion/complete``: values for an argument of a prompt, or a variable of a resource template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_gateway import encoding
from mcp_gateway.events import CallEvent
from mcp_gateway.protocol.errors import ProtocolError, invalid_params, resource_not_found
from mcp_gateway.protocol.methods.answering import for_template
from mcp_gateway.protocol.methods.call import Call, members, result_fields
from mcp_gateway.protocol.methods.prompts import enter
from mcp_gateway.protocol.methods.providers import allowed, ask
from mcp_gateway.protocol.methods.published_lists import require
from mcp_gateway.registry import Snapshot
from mcp_gateway.resources.listeners import reached
from mcp_gateway.resources.providing import COMPLETE
from mcp_gateway.resources.templates import template

# “Completion Results”.
MAX_VALUES = 100


def offers_completions(snapshot: Snapshot) -> bool:
    """Whether there is anything that the capability ``completions`` could stand for."""
    published = snapshot.published
    return (
        bool(published.templates)
        or any(entry.arguments != "[]" for entry in published.prompts.values())
        or bool(reached(snapshot, COMPLETE))
    )


def complete(call: Call) -> bytes:
    """``CompleteResult``: what an argument's ``enum`` or ``values`` list, else what a listener proposes.

    Values that begin with what was typed come first, then those that hold it elsewhere. Raises `ProtocolError` -32602
    for a reference to nothing, an argument that it does not have, and params of another shape; `Refused` where the
    caller may not use what is referred to: a proposal tells as much as the thing itself.
    """
    require(call, "completion/complete", offered=offers_completions(call.snapshot))
    kind, key, name, typed, context = _params(call.params)
    known = _prompt(call, key) if kind == "ref/prompt" else _template(call, key)
    if known is not None:
        argument = next((one for one in known if one["name"] == name), None)
        if argument is None:
            raise invalid_params(f"There is no argument {name!r:.200} to complete.")
        listed = argument.get("enum") or argument.get("values")
        if listed:
            return _result(call, _fitting(listed, typed))
    request = {
        "ref": {"type": kind, "name" if kind == "ref/prompt" else "uri": key},
        "argument": {"name": name, "value": typed},
        "context": {"arguments": context},
    }
    for listener in reached(call.snapshot, COMPLETE):
        if listener.right and not allowed(call, (listener.right,)):
            continue
        event, found = ask(call, COMPLETE, request, [listener], _proposed)
        if found:
            return _result(call, *found)
        if event.propagation_stopped:
            break
    return _result(call, [])


def _params(params: dict[str, Any]) -> tuple[str, str, str, str, dict[str, str]]:
    reference, argument = params.get("ref"), params.get("argument")
    if not isinstance(reference, dict) or not isinstance(argument, dict):
        raise invalid_params('completion/complete needs the objects "ref" and "argument" in its params.')
    kind = reference.get("type")
    if kind not in ("ref/prompt", "ref/resource"):
        raise invalid_params('The "type" of "ref" is ref/prompt or ref/resource.')
    key = reference.get("name" if kind == "ref/prompt" else "uri")
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(key, str) or not isinstance(name, str) or not isinstance(value, str):
        raise invalid_params('"ref" needs a name (a prompt) or a uri (a template), "argument" a name and a value.')
    context = params.get("context")
    resolved = context.get("arguments", {}) if isinstance(context, dict) else {} if context is None else None
    if not isinstance(resolved, dict) or not all(isinstance(one, str) for one in resolved.values()):
        raise invalid_params('"context" is an object whose "arguments" are strings.')
    return kind, key, name, value, resolved


def _prompt(call: Call, name: str) -> list[dict[str, Any]] | None:
    """What is known of a prompt's arguments; None where its listener alone knows them."""
    entry = enter(call, name).entry
    return None if entry is None else json.loads(entry.arguments)


def _template(call: Call, uri: str) -> list[dict[str, Any]] | None:
    """The variables of a template with what is known of each; None for a template that only listeners know."""

    def missing() -> ProtocolError:
        return resource_not_found(uri, modern=True, message="There is no such resource template.")

    found = for_template(call.snapshot, uri)
    found.enter(call, missing)
    entry = found.entry
    if not found.exact or entry is None:
        if not found.listeners:
            raise missing()
        return None
    described = {argument["name"]: argument for argument in json.loads(entry.arguments)}
    return [described.get(name, {"name": name}) for name in template(entry.key).variables]


def _fitting(values: list[str], typed: str) -> list[str]:
    """The values that hold what was typed, those that begin with it first, each in the order they are listed."""
    sought = typed.casefold()
    holding = [value for value in values if sought in value.casefold()]
    return sorted(holding, key=lambda value: not value.casefold().startswith(sought))


def _proposed(event: CallEvent) -> tuple[list[str], int | None, bool] | None:
    """What a listener proposes: a list of texts, or the specification's ``completion`` object."""
    response = event.response
    if isinstance(response, Mapping):
        response = response.get("completion", response)
    if isinstance(response, Mapping):
        values, total, more = response.get("values"), response.get("total"), bool(response.get("hasMore"))
    else:
        values, total, more = response, None, False
    if values is None:
        return None
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) for value in values):
        raise ValueError("values are a list of texts")
    if total is not None and (not isinstance(total, int) or isinstance(total, bool)):
        raise ValueError("“total” is a number")
    # Raises for what is no text that JSON has; no more than can be sent are looked at.
    encoding.encode(values[:MAX_VALUES], max_depth=2)
    return list(values), total, more


def _result(call: Call, values: list[str], total: int | None = None, more: bool = False) -> bytes:
    completion = {
        "values": values[:MAX_VALUES],
        "total": max(len(values), total or 0),
        "hasMore": more or len(values) > MAX_VALUES,
    }
    return b'{%b"completion":%b}' % (members(result_fields(call)), encoding.encode(completion, max_depth=2).text)
