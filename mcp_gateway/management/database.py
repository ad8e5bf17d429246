"""A database that commands cannot use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError


@contextmanager
def usable_database() -> Iterator[None]:
    """Say in one sentence that the database is not there or has no tables. Raises ``CommandError``."""
    try:
        yield
    except (OperationalError, ProgrammingError) as error:
        raise CommandError(f"The database cannot be used: {error}. If it is new, run “migrate” first.") from error
