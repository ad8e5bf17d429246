"""What is sound in a meta file and still worth a remark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from mcp_gateway.manifest.discovery import MANIFEST_NAME
from mcp_gateway.manifest.meta_files import ModuleContext, PublishedState
from mcp_gateway.manifest.misspellings import meant, meant_guard
from mcp_gateway.rights.grammar import is_covered
from mcp_gateway.schemas.dialects import pointer
from mcp_gateway.schemas.faults import shown

_PASSED_ON = frozenset({"annotations", "icons", "_meta"})
_OF_AN_ARGUMENT = frozenset({"name", "title", "description", "required", "enum", "values"})


def remark_rest(state: PublishedState, context: ModuleContext, event: str, rest: str) -> None:
    """Point out a listener that answers for more than the file guards, and needs less. ``rest`` says for what."""
    if state.content is not None or not state.right or not context.answered(event):
        return
    if not is_covered(state.right, context.rights(event)):
        state.warn(
            "/right",
            f"It guards {shown(state.key)} alone. The listener of {event} needs less, and answers for {rest} too: put "
            f'"right": {shown(state.right)} on that listener in {MANIFEST_NAME} as well.',
        )


def remark_keys(state: PublishedState, raw: Mapping[str, Any], known: Collection[str]) -> None:
    """Point out keys that are passed on, or do nothing, and look like known ones."""
    _keys(state, "", raw, {*known, *_PASSED_ON})
    for index, argument in enumerate(state.arguments):
        _keys(state, pointer("arguments", index), argument, _OF_AN_ARGUMENT)


def _keys(state: PublishedState, where: str, keys: Iterable[str], known: Collection[str]) -> None:
    for key in keys:
        close = "" if key in known or meant_guard(key, known) else meant(key, known)
        if close:
            state.warn(where + pointer(key), f"The key {shown(key)} is unknown. Is {shown(close)} meant?")
