"""On SQLite somebody who writes for long holds up those who write, and nobody else."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.live import Site

pytestmark = pytest.mark.once


def call(site: Site, tool: str) -> dict[str, object]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
    with site.client() as client:
        result: dict[str, object] = client.post("/mcp", json=message).json()["result"]
        return result


def test_a_tool_that_uses_no_database_waits_for_nobody_who_writes(site: Site) -> None:
    if site.environment.get("DATABASE_URL"):
        pytest.skip("PostgreSQL lets several write")
    with site.up():
        with closing(sqlite3.connect(site.data / "db.sqlite3", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert call(site, "getServerTime")["isError"] is False
            other.execute("ROLLBACK")
        assert call(site, "getServerTime")["isError"] is False
