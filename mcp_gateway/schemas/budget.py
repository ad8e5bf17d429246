"""How much work a value can make for a schema, bounded before any of it is done.

An engine in native code cannot be stopped half-way, and holds the interpreter meanwhile. So the number of judgments
is bounded from above first: of schemas that apply several others to the same place, by the depth of the value. A
schema in which every place is judged once needs none of this, and costs nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from mcp_gateway.schemas.dialects import Dialect, pointer
from mcp_gateway.schemas.documents import Document, Place
from mcp_gateway.schemas.in_place import in_place

# Judgments that one validation may take: about 15 ns each, so less than half a second.
BUDGET = 10_000_000

# Judgments among which every fault is looked for: telling one costs up to 80 µs.
LISTED = 20_000

# Judgments of one member among which a fault is told. A fault of alternatives holds those of each alternative, and so
# on down: the library builds the whole tree of them, at up to 100 µs a leaf, also for the first fault alone.
TOLD = 4_000

# Up to so many judgments of each place are not counted at all: the largest body makes some seconds' half of them.
FREE = 16

# The deepest value that is looked at; deeper ones count as this deep.
DEEPEST = 64

# What judging a text by a pattern on the backtracking engine counts for.
BACKTRACKING = 2_000

# What comparing a member with one object or array of an `enum` counts for.
COMPARING = 4

# What comparing one integer beyond 64 bits with another counts for, besides its length: the engine takes it as text.
# Among things that are to be unique it compares each with each, where it tells all others apart by their hash.
COMPARING_TEXT = 130
COMPARING_UNSIGNED = 10

_SEVERAL = re.compile(
    r'"(?:allOf|anyOf|oneOf|if|not|\$ref|\$dynamicRef|\$recursiveRef|dependentSchemas|dependencies|patternProperties|'
    r'contains|enum|unevaluated(?:Items|Properties))"|\(\?|\\[1-9]'
)
_LOOKS_AROUND = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9]")


def weights(schema: Any, text: str, dialect: Dialect) -> tuple[int, ...] | None:
    """How often a member at each depth of a value can be judged, from depth 0 on; None where it is never often."""
    if not isinstance(schema, dict) or not _SEVERAL.search(text):
        return None
    document = Document("", "", schema, dialect)
    document.index()
    graph = _Graph(document)
    found = graph.weights()
    return found if max(found) > FREE else None


def judgments(value: Any, weights: tuple[int, ...], limit: int) -> int:
    """An upper bound of the judgments a value takes; counting ends where ``limit`` is passed."""
    total, level, depth = 0, [value], 0
    while level:
        total += len(level) * weights[min(depth, len(weights) - 1)]
        if total > limit:
            return total
        below: list[Any] = []
        for entry in level:
            if isinstance(entry, dict):
                below.extend(entry.values())
            elif isinstance(entry, (list, tuple)):
                below.extend(entry)
        level, depth = below, depth + 1
    return total


def heaviest(value: Any, weights: tuple[int, ...]) -> int:
    """How often one of a value's members can be judged, at most: the size of the tree that one fault can have."""
    level, depth = [value], 0
    heaviest = weights[0]
    while level and depth < len(weights):
        heaviest = max(heaviest, weights[depth])
        level = [
            inner
            for entry in level
            if isinstance(entry, (dict, list, tuple))
            for inner in (entry.values() if isinstance(entry, dict) else entry)
        ]
        depth += 1
    return heaviest


def comparisons(value: Any) -> int:
    """An upper bound of what it takes to find out that no two things in a value are equal."""
    waiting, count, cost = [value], 0, 0
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, dict):
            waiting.extend(entry.values())
        elif isinstance(entry, (list, tuple)):
            waiting.extend(entry)
        elif isinstance(entry, int) and (bits := entry.bit_length()) > 63:
            count += 1
            cost += COMPARING_UNSIGNED if bits == 64 and entry > 0 else COMPARING_TEXT + bits * bits // 2000
    return count * cost // 2


class _Graph:
    """Which places of a schema judge the same member, and which its children."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._same: dict[str, list[str]] = {}
        waiting = list(document.places)
        while waiting:
            at = waiting.pop()
            if at in self._same:
                continue
            place = document.places.get(at)
            steps = in_place(document, place) if place is not None and isinstance(place.schema, dict) else []
            self._same[at] = steps
            for step in steps:
                waiting.extend(new.pointer for new in document.reach(step))
        self._below = {
            at: _slots(place)
            for at, place in document.places.items()
            if isinstance(place.schema, dict) and at in self._same
        }

    def weights(self) -> tuple[int, ...]:
        here = self._summed({at: self._own(at) for at in self._same})
        found = [here.get("", 1)]
        level = here
        for _depth in range(DEEPEST):
            level = self._summed({at: self._children(at, level) for at in self._same})
            weight = level.get("", 0)
            found.append(min(weight, BUDGET + 1))
            if not weight or weight > BUDGET:
                break
        return tuple(found)

    def _own(self, at: str) -> int:
        place = self._document.places.get(at)
        schema = place.schema if place is not None and isinstance(place.schema, dict) else {}
        patterns = [schema.get("pattern"), *(schema.get("patternProperties") or ())]
        hard = sum(1 for text in patterns if isinstance(text, str) and _LOOKS_AROUND.search(text))
        options = schema.get("enum")
        compared = sum(isinstance(option, (dict, list)) for option in options) if isinstance(options, list) else 0
        return 1 + hard * BACKTRACKING + compared * COMPARING

    def _children(self, at: str, level: dict[str, int]) -> int:
        """How often one child of a member can be judged because of one place."""
        return max(
            (
                max((level.get(one, 0) for one in alone), default=0) + sum(level.get(one, 0) for one in together)
                for alone, together in self._below.get(at, ())
            ),
            default=0,
        )

    def _summed(self, own: dict[str, int]) -> dict[str, int]:
        """Each place's number together with those of all places that judge the same member."""
        made: dict[str, int] = {}
        for start in own:
            stack = [(start, False)]
            active: set[str] = set()
            while stack:
                at, ready = stack.pop()
                if ready:
                    active.discard(at)
                    total = own.get(at, 0) + sum(made.get(step, 0) for step in self._same.get(at, ()))
                    made[at] = min(total, BUDGET + 1)
                elif at not in made and at not in active:
                    active.add(at)
                    stack.append((at, True))
                    stack.extend((step, False) for step in self._same.get(at, ()) if step not in made)
        return made


def _slots(place: Place) -> list[tuple[list[str], list[str]]]:
    """For a child of an object and one of an array: places of which one judges it, and those that all do."""
    schema, here = place.schema, place.pointer

    def several(keyword: str) -> list[str]:
        value = schema.get(keyword)
        names: Iterable[Any] = (
            value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        )
        return [here + pointer(keyword, name) for name in names]

    def one(*keywords: str) -> list[str]:
        return [here + pointer(keyword) for keyword in keywords if isinstance(schema.get(keyword), dict)]

    listed = several("items") if isinstance(schema.get("items"), list) else one("items")
    return [
        (
            several("properties") + one("additionalProperties"),
            several("patternProperties") + one("unevaluatedProperties", "propertyNames"),
        ),
        (several("prefixItems") + listed + one("additionalItems"), one("contains", "unevaluatedItems")),
    ]
