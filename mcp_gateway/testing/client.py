"""A small MCP client over Django's test client, with full control of headers and bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.conf import settings
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import reverse

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26")
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_META = {
    PROTOCOL_VERSION: MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
ACCEPT = "application/json, text/event-stream"

_Client = TypeVar("_Client", bound="McpClient")


@dataclass
class Answer:
    """An HTTP answer of the endpoint.

    What a test asks for and the answer does not hold raises ``AssertionError`` with the answer in its text.
    """

    response: HttpResponseBase
    body: bytes = b""

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code

    @property
    def messages(self) -> list[Any]:
        """All messages in their order: one where the answer is JSON, where it is a stream its events'."""
        kind = self.response["Content-Type"]
        if kind == "text/event-stream":
            events = self.body.decode().split("\n\n")
            return [_message(event) for event in events if event and not event.startswith(":")]
        self._need(kind == "application/json", f"JSON was expected, not {kind}")
        return [json.loads(self.body)]

    @property
    def json(self) -> Any:
        """The response itself, the last of the messages."""
        return self.messages[-1]

    @property
    def notifications(self) -> list[Any]:
        """What a tool said while it ran: the messages before the response."""
        return self.messages[:-1]

    @property
    def result(self) -> Any:
        """The JSON-RPC result; fails where there is an error."""
        self._need(self.status == 200 and "error" not in self.json, "A result was expected")
        return self.json["result"]

    @property
    def error(self) -> Any:
        """The JSON-RPC error; fails where there is a result."""
        self._need("result" not in self.json, "An error was expected")
        return self.json["error"]

    @property
    def code(self) -> int:
        """The error's code."""
        code: int = self.error["code"]
        return code

    @property
    def text(self) -> str:
        """The text of a tool's only content block."""
        (block,) = self.result["content"]
        self._need(block["type"] == "text", "A text was expected")
        text: str = block["text"]
        return text

    @property
    def structured(self) -> Any:
        """What the tool answered; fails where the tool said no."""
        result = self.result
        self._need(not result["isError"], "The tool said no")
        return result["structuredContent"]

    @property
    def content(self) -> Any:
        """The content blocks of a tool's result; fails where the tool said no."""
        result = self.result
        self._need(not result["isError"], "The tool said no")
        return result["content"]

    @property
    def failure(self) -> str:
        """The message of a tool that said no; fails where it succeeded."""
        result = self.result
        self._need(result["isError"], "The tool was expected to say no")
        text: str = result["content"][0]["text"]
        return text

    @property
    def challenge(self) -> str:
        """``WWW-Authenticate``; empty where there is none."""
        return str(self.response.get("WWW-Authenticate", ""))

    def _need(self, holds: bool, expectation: str) -> None:
        if not holds:
            raise AssertionError(f"{expectation}: {self.status} {self.body.decode(errors='replace')}")


def _message(event: str) -> Any:
    lines = event.splitlines()
    if lines[0] != "event: message":
        raise AssertionError(f"An event with a message was expected: {event}")
    return json.loads("\n".join(line.removeprefix("data: ") for line in lines[1:]))


@dataclass
class McpClient:
    """An MCP client. ``token`` goes into the Authorization header where it is set; ``path`` is the endpoint's."""

    client: Client = field(default_factory=Client)
    path: str = "/mcp"
    token: str = ""

    @classmethod
    def of_project(cls: type[_Client]) -> _Client:
        """A client of the default endpoint, wherever the project includes it.

        Raises ``NoReverseMatch`` where it is not included.
        """
        scheme: dict[str, Any] = {"wsgi.url_scheme": "https"} if settings.SECURE_SSL_REDIRECT else {}
        return cls(Client(**scheme), reverse("mcp_gateway:endpoint"))

    def call_tool(self, name: str, arguments: dict[str, Any] | None = None, *, era: str = "modern") -> Answer:
        """``tools/call``: ``.structured`` of the answer is what the tool answered, ``.failure`` why it said no."""
        return self.request(era, "tools/call", {"name": name, "arguments": arguments or {}})

    def list_tools(self, *, era: str = "modern") -> dict[str, Any]:
        """All that ``tools/list`` gives, page after page, by name and in its order."""
        tools: dict[str, Any] = {}
        cursor: str | None = None
        while True:
            page = self.request(era, "tools/list", {} if cursor is None else {"cursor": cursor}).result
            tools.update((tool["name"], tool) for tool in page["tools"])
            cursor = page.get("nextCursor")
            if cursor is None:
                return tools

    def post(self, body: Any = b"", headers: dict[str, Any] | None = None, method: str = "POST") -> Answer:
        """Send a body: bytes and text as they are, else as JSON. A header that is None is left out."""
        if not isinstance(body, bytes):
            body = (body if isinstance(body, str) else json.dumps(body)).encode()
        sent: dict[str, Any] = {"Content-Type": "application/json", "Accept": ACCEPT}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        sent.update(headers or {})
        sent = {name: value for name, value in sent.items() if value is not None}
        response = self.client.generic(method, self.path, body, content_type="", headers=sent)
        if not isinstance(response, HttpResponseBase):
            raise AssertionError(f"{self.path} answered with a {type(response).__name__}, not with a response.")
        # A stream is read to its end, so that the call is over when the test looks at what it did.
        return Answer(response, b"".join(response))

    def modern(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        id: Any = 1,
        headers: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Answer:
        """A request of 2026-07-28: ``_meta`` and the headers that mirror the body."""
        params = {**(params or {}), "_meta": CLIENT_META if meta is None else meta}
        sent: dict[str, Any] = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        name = params.get(NAMED_BY.get(method, ""))
        if isinstance(name, str):
            sent["Mcp-Name"] = name
        return self.post({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, {**sent, **(headers or {})})

    def legacy(
        self,
        method: str,
        params: Any = None,
        *,
        id: Any = 1,
        version: str | None = LEGACY[0],
        headers: dict[str, Any] | None = None,
    ) -> Answer:
        """A request of an earlier version; without a ``version`` there is no header."""
        sent: dict[str, Any] = {} if version is None else {"MCP-Protocol-Version": version}
        return self.post(
            {"jsonrpc": "2.0", "id": id, "method": method, "params": {} if params is None else params},
            {**sent, **(headers or {})},
        )

    def request(self, era: str, method: str, params: dict[str, Any] | None = None, **options: Any) -> Answer:
        """A request in the era named ``modern`` or ``legacy``."""
        answer: Answer = (self.modern if era == "modern" else self.legacy)(method, params, **options)
        return answer
