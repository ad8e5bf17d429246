"""The resource template that the suite reads."""

from __future__ import annotations

import json

from mcp_gateway.events import CallEvent


class TemplateResource:
    """Data of any id."""

    def on_read(self, event: CallEvent) -> str | None:
        item = event.request["variables"].get("id")
        if item is None:
            return None
        return json.dumps({"id": item, "templateTest": True, "data": f"Data for ID: {item}"})
