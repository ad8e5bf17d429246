"""The fixture tools of the wire's tests: rows as an import makes them, and one handler whose part a test writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcp_gateway.events import CallEvent, Event
from mcp_gateway.models import Listener, Module, Tool

Script = Callable[[Any], Any]

_played: dict[str, Script] = {}
_calls: list[Event] = []


class Handler:
    """Plays what the test scripted for a tool."""

    def on(self, event: CallEvent) -> Any:
        """Note the call and answer it."""
        _calls.append(event)
        return _played[event.type](event)

    async def on_async(self, event: CallEvent) -> Any:
        """The same as a coroutine."""
        return self.on(event)


def closed(**properties: Any) -> dict[str, Any]:
    """The schema of an object that has these properties, all of them, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
OBJECT = {"type": "object"}

# name: request schema (None: none), response schema, what the handler does.
TOOLS: dict[str, tuple[Any, Any, Script]] = {
    "demo-echo": (closed(message=STRING), closed(echo=STRING), lambda event: {"echo": event.request["message"]}),
    "demo-ping": (None, OBJECT, lambda event: {"pong": True}),
    "demo-add": (
        closed(a=INTEGER, b=INTEGER),
        closed(sum=INTEGER),
        lambda event: {"sum": event.request["a"] + event.request["b"]},
    ),
    "demo-open": ({"type": "object", "properties": {"a": INTEGER}}, OBJECT, lambda event: {"got": event.request}),
    "demo-any": (None, {}, lambda event: {}),
    "demo-rows": (None, {"type": "array", "items": OBJECT}, lambda event: [{"id": 1}, {"id": 2}]),
    "demo-null": (None, {"type": ["object", "null"]}, lambda event: {}),
}


@dataclass
class Demo:
    """The tools, and what has been called."""

    module: Module
    calls: list[Event] = field(default_factory=lambda: _calls)

    def add(
        self,
        name: str,
        script: Script,
        *,
        request: Any = None,
        response: Any = OBJECT,
        right: str = "",
        origins: tuple[str, ...] = ("mcp",),
        method: str = "on",
        priority: float = 0.5,
        atomic: bool | None = None,
        task: str = "",
        tool: dict[str, Any] | None = None,
    ) -> Tool:
        """A listener and its tool, with further columns of the tool; ``response`` None: of content alone."""
        self.play(name, script)
        listener = self.listen(
            name, right=right, origins=origins, method=method, priority=priority, atomic=atomic, task=task
        )
        return Tool.objects.create(
            name=name,
            listener=listener,
            input_schema="" if request is None else json.dumps(request),
            output_schema="" if response is None else json.dumps(response),
            **(tool or {}),
        )

    def listen(self, event: str, **columns: Any) -> Listener:
        """A listener alone."""
        position = Listener.objects.count()
        values = {"right": "", "origins": ["mcp"], "method": "on", **columns}
        return Listener.objects.create(
            module=self.module,
            event=event,
            class_name="tests.demo.Handler",
            identity=f"{position:064}",
            position=position,
            **{**values, "origins": list(values["origins"])},
        )

    def play(self, name: str, script: Script) -> None:
        """What the handler does for an event from now on."""
        _played[name] = script


def make() -> Demo:
    """The demo module with the tools of the table."""
    _played.clear()
    _calls.clear()
    demo = Demo(Module.objects.create(module_id="demo", name="Demo"))
    for name, (request, response, script) in TOOLS.items():
        demo.add(name, script, request=request, response=response)
    return demo
