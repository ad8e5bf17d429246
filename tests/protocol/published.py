"""A module that publishes by files and by listeners, for the tests of what clients see of it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from tests.wire import issue_token

HANDLERS = """
from mcp_gateway.events import CallEvent, Image, ResourceLink, Status, Text


class Handler:
    def list_resources(self, event: CallEvent) -> object:
        return [
            {"uri": "shop:b", "name": "b", "icons": [{"src": "/static/b.png"}], "vendor": 1},
            {"uri": "shop:a", "name": "a"},
            {"uri": "file:///etc/passwd", "name": "leak"},
            {"uri": "other:x", "name": "undeclared"},
            {"name": "no uri"},
            "no object",
            {"uri": "shop:half", "name": "\\ud800"},
        ]

    def list_original(self, event: CallEvent) -> None:
        event.response = {"resources": [{"uri": "mcp-shop:late", "name": "late"}]}
        event.set_status(Status.OK, "OK")

    def list_templates(self, event: CallEvent) -> object:
        return {"resourceTemplates": [{"uriTemplate": "shop:items/{id}", "name": "item"}]}

    def list_prompts(self, event: CallEvent) -> object:
        return [{"name": "daily", "arguments": [{"name": "day", "required": True}]}, {"name": 5}]

    def fail(self, event: CallEvent) -> object:
        raise RuntimeError("secret path /srv/x")

    def read(self, event: CallEvent) -> object:
        uri = event.request["uri"]
        if uri == "shop:text":
            return "words"
        if uri == "shop:bytes":
            return b"\\xff"
        if uri == "shop:who":
            return {"contents": [{"text": event.user.username if event.user else "nobody"}]}
        if uri == "shop:many":
            event.response = {
                "contents": [
                    {"uri": "shop:many/1", "mimeType": "text/plain", "text": "1"},
                    {"uri": "shop:many/2", "mimeType": "image/png", "blob": b"2"},
                ]
            }
            event.set_status(Status.OK, "OK")
        if uri == "shop:leak":
            return {"contents": [{"uri": "file:///etc/passwd", "text": "x"}]}
        if uri == "shop:empty":
            return {"contents": []}
        if uri == "shop:none":
            event.set_status(404, "No such thing.")
        if uri == "shop:bad":
            event.set_status(400, "Not like that.")
        if uri == "shop:forbidden":
            event.set_status(403, "Not you.")
        if uri == "shop:null":
            event.response = None
            event.set_status(200, "OK")
            return None
        if uri == "shop:number":
            return 5
        if uri == "shop:half":
            return "\\ud800"
        if uri == "shop:no-base64":
            return {"blob": "no base64!"}
        if uri == "shop:both":
            return {"text": "x", "blob": "eA=="}
        if uri == "shop:meta":
            return {"text": "x", "blob": None, "_meta": {"k": 1}}
        if uri == "shop:object":
            return object()
        if uri == "shop:crash":
            raise RuntimeError("secret path /srv/x")
        variables = event.request["variables"]
        if "id" in variables:
            return {"contents": [{"mimeType": "application/json", "text": '{"id": "%s"}' % variables["id"]}]}
        return None

    def get(self, event: CallEvent) -> object:
        return [f"Day {event.request['arguments'].get('day')}", {"role": "assistant", "content": Text("Yes?")}]

    def get_blocks(self, event: CallEvent) -> object:
        return {
            "description": "Blocks",
            "messages": [
                Image(b"x", "image/png"),
                {"role": "user", "content": ResourceLink("shop:a", "a", meta={"k": 1})},
            ],
        }

    def get_bad(self, event: CallEvent) -> object:
        resource = {"uri": "shop:a", "text": "x"}
        blocks = {
            "data": {"type": "image", "data": "no base64!", "mimeType": "image/png"},
            "blob": {"type": "resource", "resource": {"uri": "shop:a", "blob": "no base64!"}},
            "both": {"type": "resource", "resource": {**resource, "blob": "eA=="}},
            "type": {"type": "resource", "resource": {**resource, "mimeType": 7}},
            "title": {"type": "resource_link", "uri": "shop:a", "name": "a", "title": 5},
            "icons": {"type": "resource_link", "uri": "shop:a", "name": "a", "icons": "b"},
            "meta": {"type": "text", "text": "x", "_meta": 7},
        }
        return [{"role": "user", "content": blocks[event.request["name"].partition(":")[2]]}]

    def get_leak(self, event: CallEvent) -> object:
        return [ResourceLink("file:///etc/passwd", "p")]

    def complete(self, event: CallEvent) -> object:
        context = event.request["context"]["arguments"]
        typed = event.request["argument"]["value"]
        return {"values": [f"{typed}-{context.get('day', 'none')}"], "total": 7, "hasMore": True}

    def complete_badly(self, event: CallEvent) -> object:
        if event.request["argument"]["value"] == "half":
            return ["\\ud800"]
        return {"values": ["a"], "total": 10**30}

    def complete_many(self, event: CallEvent) -> object:
        return [f"v{index}" for index in range(150)]
"""


def listener(event: str, method: str, **keys: Any) -> dict[str, Any]:
    """An entry of ``listen`` that provides."""
    return {
        "event": event, "class": "\\Demo\\Handler", "method": method, "origin": ["mcp"], "description": "x", **keys,
    }  # fmt: skip


def says(text: str) -> list[dict[str, Any]]:
    """The messages of a prompt: one text of the user."""
    return [{"role": "user", "content": {"type": "text", "text": text}}]


def token_of(scopes: str, name: str = "ada") -> str:
    """An access token of a user who is there for it."""
    return issue_token(User.objects.get_or_create(username=name)[0], scopes)
