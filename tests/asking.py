"""Asking over the wire: what a client declares, what it answers, and the retry of a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.wire import CLIENT_META, Answer, Wire

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
EVERYTHING: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
AGE = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 18}}, "required": ["age"]}


def accept(**content: Any) -> dict[str, Any]:
    """``ElicitResult`` of a person who sent the form."""
    return {"action": "accept", "content": content}


@dataclass
class Round:
    """One request of a call in several rounds, and what came back."""

    wire: Wire
    params: dict[str, Any]
    capabilities: dict[str, Any]
    method: str = "tools/call"
    answer: Answer = field(init=False)

    def __post_init__(self) -> None:
        meta = {**CLIENT_META, CAPABILITIES: self.capabilities}
        self.answer = self.wire.modern(self.method, self.params, meta=meta)

    @property
    def asked(self) -> dict[str, Any]:
        """``inputRequests``."""
        result = self.answer.result
        assert result["resultType"] == "input_required", result
        requests: dict[str, Any] = result["inputRequests"]
        return requests

    @property
    def state(self) -> str:
        """``requestState``."""
        state: str = self.answer.result["requestState"]
        return state

    def retry(self, responses: Any, **changed: Any) -> Round:
        """The same request with answers, and the state unless ``changed`` says otherwise."""
        params = {**self.params, "requestState": self.state, "inputResponses": responses, **changed}
        return Round(self.wire, params, self.capabilities, self.method)


def call(wire: Wire, name: str, arguments: Any = None, capabilities: Any = None) -> Round:
    """The first round of a tool call by a client that can be asked everything, unless it says otherwise."""
    return Round(
        wire, {"name": name, "arguments": arguments or {}}, EVERYTHING if capabilities is None else capabilities
    )
