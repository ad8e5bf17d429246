"""What a module was made of when it was last read, and what came of it: where nothing changed it is not read again.

A reading holds every question that was asked while the module was read (`mcp_gateway.manifest.world`) with its answer:
files by the digest of their bytes, files that were not there, code by what looking it up gave, other modules by
whether they are known. All are asked again. Where each answer is the same, the same reader would say the same again,
and what it said is kept here; what it made is in the database, whose rows are held against the digests in the reading
as well. Nothing is trusted for its date, and a reading that is out of date costs time and is never believed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson

from mcp_gateway.manifest.digests import digest
from mcp_gateway.manifest.meta_files import PROMPT, RESOURCE, PublishedState
from mcp_gateway.manifest.publishing import published_state
from mcp_gateway.manifest.remarks import Remark
from mcp_gateway.manifest.rows import Rows
from mcp_gateway.manifest.states import ListenerState, ModuleState, Survey
from mcp_gateway.manifest.world import Asked
from mcp_gateway.models import Module, Prompt


def as_text(asked: Asked, made: Survey) -> str:
    """The reading of one module that is sound enough to have rows: a digest, and the JSON text that it is of."""
    (state,) = made.modules.values()
    content = json.dumps(
        {
            "reader": asked.reader,
            "asked": [[*question, answer] for question, answer in asked.answers.items()],
            "module": _digest_of(state),
            "dependencies": state.dependencies,
            "listeners": _listeners(state.listeners),
            "published": _published(state.published),
            "refused": [_plain(remark) for remark in made.refused],
            "warnings": [_plain(remark) for remark in made.warnings],
            "news": [_plain(remark) for remark in made.news],
            "rights": [[right, *_plain(remark)] for right, remark in made.rights],
            "scopes": [_plain(remark) for remark in made.scopes.values()],
        },
        separators=(",", ":"),
    )
    return f"{digest(content.encode())} {content}"


def unchanged(asked: Asked, module_id: str, rows: Rows) -> Survey | None:
    """What reading a module would give, None where it has to be read to know that."""
    row, text = rows.modules.get(module_id), rows.readings.get(module_id)
    if row is None or text is None or not row.present or row.problem:
        return None
    held = _parsed(text)
    if held.get("reader") != asked.reader:
        return None
    state = _from_rows(row, rows)
    state.dependencies = tuple(held["dependencies"])
    if (
        held["module"] != _digest_of(state)
        or held["listeners"] != _listeners(state.listeners)
        or held["published"] != _published(state.published)
        # In order, and no further than to the first that differs: later ones follow from earlier answers.
        or any(asked.gives(tuple(question)) != answer for *question, answer in held["asked"])
    ):
        return None
    scopes = _remarks(held["scopes"])
    return Survey(
        modules={module_id: state},
        scopes={remark.name: remark for remark in scopes},
        rights=[(right, Remark(*remark)) for right, *remark in held["rights"]],
        news=_remarks(held["news"]),
        refused=_remarks(held["refused"]),
        warnings=_remarks(held["warnings"]),
    )


def _parsed(text: str) -> dict[str, Any]:
    """What a reading holds, nothing where it is not whole: somebody wrote it, or a dump was restored in part."""
    told, _space, content = text.partition(" ")
    if told != digest(content.encode()):
        return {}
    try:
        held = orjson.loads(content)
    except ValueError:  # it holds a name that is no UTF-8
        return {}
    return held if isinstance(held, dict) else {}


def _from_rows(row: Module, rows: Rows) -> ModuleState:
    state = ModuleState(row.module_id, **{name: getattr(row, name) for name in ModuleState.COLUMNS})
    state.listeners = [held.state for held in rows.listeners.get(row.module_id, ())]
    # What is retired has no digest.
    files = [found for found in rows.published.get(row.module_id, ()) if found.digest]
    files.sort(key=lambda found: (isinstance(found, Prompt), found.file))
    state.published = [published_state(found) for found in files]
    return state


def _digest_of(state: ModuleState) -> str:
    return digest(*(getattr(state, name).encode() for name in ModuleState.COLUMNS))


def _listeners(states: Iterable[ListenerState]) -> list[list[str]]:
    return [[state.identity, state.digest] for state in states]


def _published(states: Iterable[PublishedState]) -> list[list[str]]:
    kinds = (RESOURCE, PROMPT)
    found = [[state.kind, state.file, state.columns()["digest"]] for state in states]
    return sorted(found, key=lambda entry: (kinds.index(entry[0]), entry[1]))


def _plain(remark: Remark) -> list[str]:
    return [remark.module, remark.kind, remark.name, remark.pointer, remark.message, remark.file]


def _remarks(plain: Iterable[list[str]]) -> list[Remark]:
    return [Remark(*values) for values in plain]
