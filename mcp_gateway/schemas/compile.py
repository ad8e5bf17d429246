"""Compiling a schema with the engine there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mcp_gateway.schemas.dialects import DRAFT_2020_12, Dialect, dialect_of
from mcp_gateway.schemas.faults import Violation

try:
    from mcp_gateway.schemas import rust as engine
except ImportError:  # no wheel of jsonschema-rs for this platform
    from mcp_gateway.schemas import pure as engine  # type: ignore[no-redef]


class Checker(Protocol):
    """One compiled schema of either library."""

    def is_valid(self, value: Any) -> bool:
        """Whether the value fits."""

    def first(self, value: Any) -> Violation:
        """What is found wrong first with a value that does not fit."""

    def violations(self, value: Any) -> Sequence[Violation]:
        """Everything that is wrong."""


def compile_schema(schema: Any, dialect: Dialect | None = None, *, backtracking: bool = False) -> Checker:
    """Compile a schema (an object or a boolean) with the dialect its ``$schema`` names, 2020-12 without one.

    ``backtracking``: patterns may use look-around from the start, which costs them the guarantee of linear time.

    Raises ``ValueError`` when it cannot be: unknown dialect, against its meta-schema, a pattern that does not
    compile, a reference that leads nowhere.
    """
    checker: Checker = engine.compile_checker(schema, dialect or own_dialect(schema), backtracking=backtracking)
    return checker


def own_dialect(schema: Any) -> Dialect:
    """The dialect that a schema's ``$schema`` names, 2020-12 without one. Raises ``ValueError`` for an unknown one."""
    named = schema.get("$schema") if isinstance(schema, dict) else None
    dialect = DRAFT_2020_12 if named is None else dialect_of(named) if isinstance(named, str) else None
    if dialect is None:
        raise ValueError(f"$schema names an unknown dialect, {named!r}")
    return dialect
