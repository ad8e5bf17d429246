"""The tool ``getServerTime``."""

from __future__ import annotations

import datetime
from typing import Any

from django.utils import timezone

from mcp_gateway.events import CallEvent


class ClockHandler:
    """Tells the time."""

    def on_server_time(self, event: CallEvent) -> dict[str, Any]:
        """What a handler returns is the response; the status is then OK."""
        now = timezone.now()
        return {
            "utc": now.astimezone(datetime.UTC),
            "local": timezone.localtime(now),
            "timeZone": timezone.get_current_timezone_name(),
        }
