"""From the stored text of a schema to a validator that says everything that is wrong with a value."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from mcp_gateway.schemas import budget
from mcp_gateway.schemas.compile import Checker, compile_schema, own_dialect
from mcp_gateway.schemas.dialects import pointer
from mcp_gateway.schemas.faults import Fault, describe, order

# Looking for every fault costs about 10 µs for each: in a value with more members than this the first is told. The
# engine gives each fault a copy of what it was found in, so this many characters count as one member more.
MAX_MEMBERS = 10_000
CHARACTERS = 100

# Each fault of an `enum` or a `const` has a copy of all that it allows: so many characters of them at most.
MAX_ALLOWED = 20_000_000

# The first float that the engine writes out in all its digits, and what the longest counts for.
_LONG_FLOAT, _LONG_FLOAT_COUNTS = 1e16, 3


class Validator:
    """A compiled schema.

    Formats are asserted, patterns run in linear time where they can, no reference ever leaves the schema and the
    bundled meta-schemas. Raises ``ValueError`` with the reason when the text is no schema.
    """

    __slots__ = ("_alternatives", "_checker", "_most_members", "_unique", "_weights", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._checker: Checker | None = None
        self._weights: tuple[int, ...] | None = None
        self._most_members = MAX_MEMBERS
        self._unique = '"uniqueItems"' in text
        self._alternatives = '"anyOf"' in text or '"oneOf"' in text
        if text.strip():
            schema = json.loads(text)
            self._checker = compile_schema(schema)
            self._weights = budget.weights(schema, text, own_dialect(schema))
            self._most_members = min(MAX_MEMBERS, MAX_ALLOWED // longest_allowed(schema))

    def faults(self, value: Any) -> list[Fault]:
        """Everything that is wrong with a JSON value, in the order a reader meets it; empty if it fits.

        Of a value with more than `MAX_MEMBERS` members (fewer where the schema's lists are long) only the first fault
        is looked for, and a last one says so; where alternatives nest so deep that telling why none fits would take
        long, only that is told. A value whose check would take more than its budget is not checked, which is a fault
        of its own.
        Nothing is coerced: ``"5"`` is no integer, ``5.0`` is one, ``true`` is not.
        """
        if self._checker is None:
            return []
        work = budget.judgments(value, self._weights, budget.BUDGET) if self._weights is not None else 0
        if self._unique:
            work += budget.comparisons(value)
        if work > budget.BUDGET:
            return [Fault("", "is too large or too deep to be checked against this schema; send less")]
        try:
            if self._checker.is_valid(value):
                return []
            if self._weights and self._alternatives and budget.heaviest(value, self._weights) > budget.TOLD:
                return [Fault("", "does not fit the schema; it nests too deep to tell in which of the alternatives")]
            if work > budget.LISTED or larger_than(value, self._most_members):
                first = self._checker.first(value)
                return [
                    Fault(pointer(*first.path), describe(first)),
                    Fault("", "further faults were not looked for, because the value is large"),
                ]
            violations = self._checker.violations(value)
        except (UnicodeEncodeError, ValueError) as error:
            return [_unencodable(value, error)]
        found = {(order(violation.path), describe(violation)): violation for violation in violations}
        return [Fault(pointer(*found[key].path), key[1]) for key in sorted(found)]


@lru_cache(maxsize=4096)
def validator(text: str) -> Validator:
    """The compiled validator of a schema's JSON text; an empty text accepts everything."""
    return Validator(text)


def longest_allowed(schema: Any) -> int:
    """Characters of the longest `enum` or `const` of a schema, at least one."""
    waiting, longest = [schema], 1
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, dict):
            for keyword in ("enum", "const"):
                if keyword in entry:
                    longest = max(longest, len(json.dumps(entry[keyword])))
            waiting.extend(entry.values())
        elif isinstance(entry, list):
            waiting.extend(entry)
    return longest


def larger_than(value: Any, limit: int) -> bool:
    """Whether a JSON value has more than so many members, long ones counted by length, without recursion."""
    waiting, count = [value], 0
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, (dict, list)):
            count += len(entry)
            if isinstance(entry, dict):
                count += sum(map(len, entry)) // CHARACTERS
                waiting.extend(entry.values())
            else:
                waiting.extend(entry)
        elif isinstance(entry, str):
            count += len(entry) // CHARACTERS
        elif isinstance(entry, float) and abs(entry) >= _LONG_FLOAT:
            count += _LONG_FLOAT_COUNTS
        if count > limit:
            return True
    return False


def _unencodable(value: Any, error: Exception) -> Fault:
    """Where a value holds what JSON text cannot: lone surrogates, names that are no text, foreign types."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        path, entry = waiting.pop()
        if isinstance(entry, str):
            try:
                entry.encode()
            except UnicodeEncodeError:
                return Fault(pointer(*path), "holds half of a surrogate pair, which is no valid text")
        elif isinstance(entry, dict):
            for key in entry:
                if not isinstance(key, str):
                    return Fault(pointer(*path), "has a property whose name is no text")
                try:
                    key.encode()
                except UnicodeEncodeError:
                    return Fault(pointer(*path), "has a property whose name is no valid text")
            waiting.extend(reversed([((*path, key), inner) for key, inner in entry.items()]))
        elif isinstance(entry, list):
            waiting.extend(reversed([((*path, index), inner) for index, inner in enumerate(entry)]))
        elif entry is not None and not isinstance(entry, (bool, int, float)):
            return Fault(pointer(*path), "holds something that JSON does not have")
    return Fault("", "cannot be checked: it holds something that JSON does not have")
