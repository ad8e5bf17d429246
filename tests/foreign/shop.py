"""The app of the foreign project: what its team wrote before, and the module's files beside it."""

from __future__ import annotations

from typing import Any

PROTECTED = {
    "event": "whoAmI",
    "title": "Who am I",
    "description": "Tells whose token this is and how many users the shop has.",
    "class": "shop.desk.Desk",
    "method": "who_am_i",
    "origin": ["mcp"],
    "right": "oauth2:scope mcp:tools",
    "schema": {
        "response": {
            "type": "object",
            "properties": {"user": {"type": "string"}, "users": {"type": "integer"}},
            "required": ["user", "users"],
            "additionalProperties": False,
        }
    },
}

HELLO = {
    "event": "hello",
    "title": "Hello",
    "description": "Greets by name.",
    "class": "\\Shop\\Desk",
    "method": "onHello",
    "origin": ["mcp"],
    "schema": {
        "request": "module://shop/schemas/helloRequest.json",
        "response": "module://shop/schemas/helloResponse.json",
    },
}

CODE = """
from django.contrib.auth import get_user_model

from mcp_gateway.events import CallEvent, Status


class Desk:
    def on_hello(self, event: CallEvent) -> None:
        event.response = {"greeting": f"Hello, {event.request.get('name', 'world')}!"}
        event.set_status(Status.OK, "OK")

    def who_am_i(self, event: CallEvent) -> dict:
        return {"user": event.user.get_username(), "users": get_user_model().objects.count()}
"""


def files(*listeners: dict[str, Any]) -> dict[str, Any]:
    """The app ``shop`` with a manifest that holds these listeners."""
    return {
        "shop/__init__.py": "",
        "shop/apps.py": (
            "from django.apps import AppConfig\n\n\n"
            "class ShopConfig(AppConfig):\n"
            '    name = "shop"\n'
            '    default_auto_field = "django.db.models.BigAutoField"\n'
        ),
        "shop/desk.py": CODE,
        "shop/zolinga.json": {"name": "Shop", "listen": list(listeners)},
        "shop/schemas/helloRequest.json": {
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 1}},
            "additionalProperties": False,
        },
        "shop/schemas/helloResponse.json": {
            "type": "object",
            "properties": {"greeting": {"type": "string"}},
            "required": ["greeting"],
            "additionalProperties": False,
        },
    }
