"""A row as one JSON array, where the driver takes longer over its columns than the database does over the row.

Python's ``sqlite3`` describes each column anew for every statement and asks which converter it wants: more than half of
the time of a row of two dozen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import orjson
from django.db.backends.base.base import BaseDatabaseWrapper

# Types of columns, as Django declares them, in which SQLite keeps text or integers: JSON says both exactly. It rounds
# floats, and bytes it has none. A field of a project's own may name another type, whatever kind of field it is.
_EXACT = re.compile(r"(integer|bigint|smallint)( unsigned)?|bool|(var)?char(\(\d+\))?|text|datetime|date|time")


class Packing:
    """Which columns of a statement are sent as one, and how they are taken apart."""

    def __init__(self, expressions: Sequence[Any], connection: BaseDatabaseWrapper) -> None:
        self._width = len(expressions)
        self._exact = [
            position
            for position, expression in enumerate(expressions)
            if _EXACT.fullmatch(expression.output_field.db_type(connection) or "")
        ]
        self._others = [position for position in range(self._width) if position not in self._exact]

    @property
    def pays(self) -> bool:
        """Whether there is more than one column to pack."""
        return len(self._exact) > 1

    def sql(self, plain: str) -> str:
        """The statement around ``plain`` that gives the packed columns, and then the others."""
        names = ", ".join(f"c{position}" for position in range(self._width))
        exact = ", ".join(f"c{position}" for position in self._exact)
        others = "".join(f", c{position}" for position in self._others)
        return f"WITH found({names}) AS ({plain}) SELECT JSON_ARRAY({exact}){others} FROM found"  # noqa: S608 - names of ours around Django's text

    def columns(self, row: Sequence[Any]) -> list[Any]:
        """A row's columns in their own order, whether it came packed or plain."""
        if len(row) == self._width:
            return list(row)
        columns: list[Any] = [None] * self._width
        for positions, values in ((self._exact, orjson.loads(row[0])), (self._others, row[1:])):
            for position, value in zip(positions, values, strict=True):
                columns[position] = value
        return columns
