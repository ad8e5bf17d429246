"""The price list."""

from __future__ import annotations

from typing import Any

from mcp_gateway.events import RequestResponseEvent, Status
from modules.example.models import Country

CURRENCY = "EUR"


class AlertApi:
    """Prices of text-message alerts. It serves pages and AI agents alike and knows of neither."""

    def on_countries(self, event: RequestResponseEvent) -> None:
        """All countries with their prices, or those that ``search`` finds."""
        wanted = str(event.request.get("search") or "").strip().lower()
        event.response = {
            "currency": CURRENCY,
            "countries": [
                {**_priced(country), "search": country.search}
                for country in Country.objects.all()
                if wanted in country.search
            ],
        }
        event.set_status(Status.OK, "OK")

    def on_price_range(self, event: RequestResponseEvent) -> None:
        """How many countries there are, the cheapest one and the dearest."""
        by_price = Country.objects.order_by("price", "name")
        lowest, highest = by_price.first(), by_price.last()
        if lowest is None or highest is None:
            event.set_status(Status.NOT_FOUND, "The price list is empty.")
            return
        event.response = {
            "currency": CURRENCY,
            "count": by_price.count(),
            "lowest": _priced(lowest),
            "highest": _priced(highest),
        }
        event.set_status(Status.OK, "OK")


def _priced(country: Country) -> dict[str, Any]:
    # A Decimal would go out as text; a price with four decimal places is exact as a JSON number too.
    return {"code": country.code, "name": country.name, "price": float(country.price)}
