"""The tool ``getMyAccount``."""

from __future__ import annotations

from mcp_gateway.events import CallEvent, Status
from modules.example.models import PriceAlert


class AccountHandler:
    """Tells an agent whom it acts for."""

    def on_account(self, event: CallEvent) -> None:
        """Name, groups and the number of price alerts."""
        user = event.user
        event.response = {
            "username": user.get_username(),
            "fullName": user.get_full_name(),
            "groups": list(user.groups.order_by("name").values_list("name", flat=True)),
            "alerts": PriceAlert.objects.filter(user=user).count(),
        }
        event.set_status(Status.OK, "OK")
