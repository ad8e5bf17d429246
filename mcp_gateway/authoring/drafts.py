"""Drafts of an event's schemas, from the best there is to go by: declared types, records, the keys in the code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mcp_gateway import schemas
from mcp_gateway.authoring.handler_code import Findings, read_handler
from mcp_gateway.authoring.hints import Schema
from mcp_gateway.authoring.recorded import Recorded, schema_of_values
from mcp_gateway.authoring.templates import DIALECT
from mcp_gateway.schemas import Role, SchemaRefused
from mcp_gateway.schemas.faults import shown

OPEN = "nothing declares it, so it takes any object"


@dataclass(frozen=True, slots=True)
class Draft:
    """A schema to begin with, and one sentence on where it comes from and what it leaves to its author."""

    schema: Schema
    note: str


def draft(role: Role, handlers: Iterable[Callable[..., Any]], recorded: Recorded) -> Draft:
    """Draft the request or the response schema of an event from its handlers, in their order, and from records.

    What the first handler declares counts (a type, a TypedDict, a dataclass, a serializer); then the records; then
    the keys that the code reads or writes. Nothing is invented: where nothing is known, any object fits.
    """
    findings = [read_handler(handler) for handler in handlers]
    for schema, source in _candidates(role, findings, recorded):
        text = _judged(schema, role)
        if text:
            misfits = _misfits(text, recorded.of(role.value))
            return Draft(schema, f"The {role.value} schema: drafted from {source}.{misfits}")
    return Draft({"$schema": DIALECT, "type": "object"}, f"The {role.value} schema: {OPEN}. Write down what it holds.")


def _candidates(role: Role, findings: list[Findings], recorded: Recorded) -> Iterator[tuple[Schema, str]]:
    for found in findings:
        declared = getattr(found, role.value)
        if declared is not None and (role is Role.RESPONSE or declared.get("type") == "object"):
            source = getattr(found, f"{role.value}_from")
            yield _with_reads(declared, found) if role is Role.REQUEST else _headed(declared), source
    values = recorded.of(role.value)
    if values:
        count = f"{len(values)} recorded {role.value}{'s' if len(values) > 1 else ''}"
        yield _headed(schema_of_values(values)), f"{count}; it is open to what was not seen"
    for found in findings:
        if role is Role.REQUEST and found.reads:
            yield _object({name: {} for name in found.reads}, [name for name, needed in found.reads.items() if needed])
        elif role is Role.RESPONSE and found.writes:
            yield _object(found.writes, [])


def _object(properties: dict[str, Schema], required: list[str]) -> tuple[Schema, str]:
    schema: Schema = {"$schema": DIALECT, "type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema, "the keys in the handler's code; it is open, and the types that it lacks are yours to write"


def _headed(schema: Schema) -> Schema:
    return {"$schema": DIALECT, **schema}


def _with_reads(declared: Schema, found: Findings) -> Schema:
    """What is declared, and the keys that the handler reads beside it."""
    properties = declared.get("properties", {})
    beside: dict[str, Schema] = {name: {} for name in found.reads if name not in properties}
    return {**_headed(declared), "properties": {**properties, **beside}} if beside else _headed(declared)


def _judged(schema: Schema, role: Role) -> str:
    """The schema as an import keeps it; empty where it would be refused."""
    try:
        return schemas.prepare(schema, role, manifest="module://draft/zolinga.json", pointer="", read=_nothing).text
    except SchemaRefused:
        return ""


def _nothing(uri: str) -> tuple[str, bytes]:
    raise schemas.Refused(f"{uri} is not there.")


def _misfits(text: str, values: list[Any]) -> str:
    judge = schemas.validator(text)
    faults = [found for found in map(judge.faults, values) if found]
    if not faults:
        return ""
    first = faults[0][0]
    return (
        f" {len(faults)} of the {len(values)} recorded ones do not fit it; the first, at "
        f"{shown(first.pointer or '/')}: {first.message}"
    )
