"""The tools ``listPriceAlerts`` and ``setPriceAlert``."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from mcp_gateway.events import CallEvent, Status
from modules.example.models import Country, PriceAlert


class PriceAlertHandler:
    """A user's price alerts. The gateway has checked the token's scopes before it comes here."""

    def on_list(self, event: CallEvent) -> None:
        """The alerts of the token's user, newest first."""
        if event.user is None:
            event.set_status(Status.FORBIDDEN, "Price alerts belong to a user, and this token has none.")
            return
        wanted = event.request.get("reached")
        alerts = PriceAlert.objects.filter(user=event.user).select_related("country")
        event.response = {
            "currency": "EUR",
            "alerts": [_shown(alert) for alert in alerts if wanted is None or alert.reached is wanted],
        }
        event.set_status(Status.OK, "OK")

    def on_set(self, event: CallEvent) -> None:
        """Set a limit, or replace the one there is."""
        if event.user is None:
            event.set_status(Status.FORBIDDEN, "Price alerts belong to a user, and this token has none.")
            return
        code = event.request["country"]
        country = Country.objects.filter(pk=code).first()
        if country is None:
            event.set_status(Status.NOT_FOUND, f"There is no price for {code}: getPricingList has the codes.")
            return
        # By way of its text a JSON number keeps the digits that were sent. The column has four decimal places.
        limit = Decimal(str(event.request["limit"])).quantize(Decimal("0.0001"))
        if not limit:
            event.set_status(Status.BAD_REQUEST, "The limit is below 0.0001 euro.")
            return
        alert, created = PriceAlert.objects.update_or_create(
            user=event.user, country=country, defaults={"limit": limit}
        )
        event.response = {"created": created, "alert": _shown(alert)}
        event.set_status(Status.OK, "OK")


def _shown(alert: PriceAlert) -> dict[str, Any]:
    return {
        "country": alert.country.code,
        "name": alert.country.name,
        "limit": float(alert.limit),
        "price": float(alert.country.price),
        "reached": alert.reached,
        "setAt": alert.set_at,
    }
