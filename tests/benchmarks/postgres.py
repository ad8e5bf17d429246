"""A PostgreSQL database of its own for one run."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql


@contextmanager
def scratch_database(server: str) -> Iterator[str]:
    """The URL of a new database on ``server`` (a ``postgres://`` URL), dropped afterwards; empty if none answers."""
    name = f"zolinga_benchmark_{secrets.token_hex(4)}"
    parts = urlsplit(server)
    maintenance = urlunsplit(parts._replace(path="/postgres"))
    try:
        connection = psycopg.connect(maintenance, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError:
        yield ""
        return
    with connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlunsplit(parts._replace(path=f"/{name}"))
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
