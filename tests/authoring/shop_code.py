"""Handlers as teams have them: each says in another way what goes in and out. Copied into modules by the tests."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NotRequired, TypedDict, cast
from uuid import UUID

from rest_framework import serializers

from mcp_gateway.events import RequestResponseEvent, Status


class Unit(Enum):
    """A unit."""

    PIECE = "piece"
    KILO = "kilo"


class Search(TypedDict):
    """A search."""

    text: str
    limit: NotRequired[int]


@dataclass
class Order:
    """An order."""

    number: int
    unit: Unit = Unit.PIECE
    kind: Literal["retail", "trade"] = "retail"


class Line(TypedDict):
    """A line of the list."""

    id: UUID
    price: Decimal
    since: datetime.date | None
    seen: datetime.datetime
    tags: list[str]
    notes: dict[str, str]
    extra: Any


class Page(TypedDict):
    """The list."""

    lines: list[Line]
    total: int


class LineSerializer(serializers.Serializer[Any]):
    """A line, as the API has it."""

    code = serializers.CharField(max_length=8, help_text="The code.")
    price = serializers.DecimalField(max_digits=6, decimal_places=2)
    note = serializers.CharField(allow_null=True, required=False)
    unit = serializers.ChoiceField(choices=["piece", "kilo"], allow_null=True)
    raw = serializers.JSONField()
    added = serializers.DateTimeField(read_only=True)
    secret = serializers.CharField(write_only=True)
    shown_as = serializers.SerializerMethodField()
    stock = serializers.SerializerMethodField()

    def get_shown_as(self, line: Any) -> Any:
        """Nothing is known of it."""

    def get_stock(self, line: Any) -> int:
        """How many there are."""
        return 1


class Shop:
    """The shop's handlers."""

    def on_typed(self, event: RequestResponseEvent) -> Page:
        """Types for both."""
        search: Search = cast("Search", event.request)
        return {"lines": [], "total": len(search["text"])}

    def on_local(self, event: RequestResponseEvent) -> None:
        """Types on local names."""
        order = Order(**event.request)
        page: Page = {"lines": [], "total": order.number}
        event.response = page
        event.set_status(Status.OK)

    def on_serialized(self, event: RequestResponseEvent) -> None:
        """Serializers for both."""
        serializer = LineSerializer(data=event.request)
        serializer.is_valid(raise_exception=True)
        event.response = {"count": 1, "lines": LineSerializer([], many=True).data}
        event.set_status(Status.OK)

    def on_saved(self, event: RequestResponseEvent) -> None:
        """A serializer's data is the response."""
        event.response = LineSerializer({}).data
        event.set_status(Status.OK)

    def on_plain(self, event: RequestResponseEvent) -> None:
        """Nothing is declared."""
        data = event.request
        page = data.get("page", 1)
        if "only" in data:
            page = data["only"]
        event.response = {"title": f"Shelf {data['shelf']}", "page": page, "ok": True, "size": len(data["shelf"])}
        event.response["more"] = {"next": 2}
        event.set_status(Status.OK)

    def on_opaque(self, event: RequestResponseEvent) -> None:
        """Nothing can be told."""
        event.response = dict(event.request)
        event.set_status(Status.OK)
