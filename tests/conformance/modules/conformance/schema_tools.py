"""Tools that are about their request schema."""

from __future__ import annotations

from typing import Any

from mcp_gateway.events import CallEvent


class SchemaTools:
    """Tools that give back what came through the schema."""

    def on_contact(self, event: CallEvent) -> dict[str, Any]:
        """Give the contact data back."""
        return {"contact": event.request}

    def on_region(self, event: CallEvent) -> dict[str, str | None]:
        """Tell the region, None where none was given."""
        return {"region": event.request.get("region")}
