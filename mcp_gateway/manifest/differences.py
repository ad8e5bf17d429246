"""What changed, in words: old → new, and inside JSON the place of each change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mcp_gateway.schemas.dialects import pointer
from mcp_gateway.schemas.faults import shown

JSON_COLUMNS = frozenset(
    {"request_schema", "response_schema", "input_schema", "output_schema", "extras", "autoload", "arguments", "schemes"}
)

MAX_PLACES = 10


def told(column: str, old: Any, new: Any) -> str:
    """One column's change. Of JSON text at most `MAX_PLACES` places are named, each with its pointer."""
    if column in JSON_COLUMNS and old and new:
        places = list(_places(json.loads(old), json.loads(new), ""))
        if not places:
            return f"{column}: the order of its keys"
        said = ", ".join(f"{at or 'the whole'}: {before} → {after}" for at, before, after in places[:MAX_PLACES])
        more = f" and {len(places) - MAX_PLACES} more" if len(places) > MAX_PLACES else ""
        return f"{column} ({said}{more})"
    return f"{column}: {shown(old)} → {shown(new)}"


def _places(old: Any, new: Any, at: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            here = at + pointer(name)
            if name not in new:
                yield here, shown(old[name]), "nothing"
            elif name not in old:
                yield here, "nothing", shown(new[name])
            else:
                yield from _places(old[name], new[name], here)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _places(before, after, at + pointer(index))
    elif old != new or isinstance(old, bool) is not isinstance(new, bool) or type(old) is not type(new):
        yield at, shown(old), shown(new)
