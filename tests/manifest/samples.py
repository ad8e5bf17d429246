"""Pieces of modules that the tests write to disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

HANDLER = """
class Handler:
    def on(self, event):
        event.response = {"handled": event.type}
        event.set_status(200, "OK")

    def on_camel_case(self, event):
        event.set_status(200, "OK")
"""

FILES: dict[str, Any] = {"handler.py": HANDLER, "schema/o.json": {"type": "object"}}


def tool(event: str, /, **keys: Any) -> dict[str, Any]:
    """An entry of ``listen`` that makes a tool, with some keys set otherwise."""
    return {
        "event": event,
        "class": "\\Demo\\Handler",
        "method": "on",
        "origin": ["mcp"],
        "description": "x",
        "schema": {"response": "module://demo/schema/o.json"},
        **keys,
    }


def of(remarks: Iterable[dict[str, Any]], *, module: str = "demo", **keys: str) -> list[dict[str, Any]]:
    """The remarks of a report about one module that have these values."""
    return [
        remark
        for remark in remarks
        if remark["module"] == module and all(remark[key] == value for key, value in keys.items())
    ]


def messages(remarks: Iterable[dict[str, Any]], **keys: str) -> str:
    """The messages of such remarks, joined."""
    return "\n".join(remark["message"] for remark in of(remarks, **keys))
