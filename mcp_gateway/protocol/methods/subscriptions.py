"""``subscriptions/listen`` (2026-07-28, “Subscriptions”): a stream that tells what changes, until its client leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mcp_gateway.conf import gateway_settings
from mcp_gateway.protocol import jsonrpc
from mcp_gateway.protocol.errors import invalid_params, method_not_found
from mcp_gateway.protocol.jsonrpc import RequestId
from mcp_gateway.protocol.methods.call import Call, result_fields
from mcp_gateway.protocol.methods.published_lists import PROMPTS, RESOURCES, TEMPLATES, visible, visible_resource
from mcp_gateway.protocol.methods.task_creation import declares_tasks, tasks_needed
from mcp_gateway.protocol.methods.tool_lists import visible_tools
from mcp_gateway.registry import Snapshot
from mcp_gateway.resources.uris import is_uri
from mcp_gateway.rights import Principal
from mcp_gateway.streams import changes
from mcp_gateway.tasks import framework

METHOD = "subscriptions/listen"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"

# Resources that one stream may name.
MAX_URIS = 100

# Member of the filter → the notification, and what it is told about.
_LISTS: dict[str, tuple[str, Callable[[Call], object]]] = {
    "toolsListChanged": ("notifications/tools/list_changed", visible_tools),
    "promptsListChanged": ("notifications/prompts/list_changed", lambda call: visible(call, PROMPTS)),
    "resourcesListChanged": (
        "notifications/resources/list_changed",
        lambda call: (visible(call, RESOURCES), visible(call, TEMPLATES)),
    ),
}
_RESOURCES = "resourceSubscriptions"


@dataclass(frozen=True, slots=True)
class Filter:
    """What a client wants to hear of: members of `_LISTS`, and URIs as it wrote them."""

    lists: tuple[str, ...]
    uris: tuple[str, ...]

    def acknowledged(self) -> dict[str, Any]:
        """The filter as the acknowledgment repeats it."""
        return {**dict.fromkeys(self.lists, True), **({_RESOURCES: list(self.uris)} if self.uris else {})}


class Subscription(changes.Listening):
    """One stream.

    ``identify`` says who the caller is by now, and raises where the token does not count any more. Only what the
    caller may see is told of.
    """

    def __init__(self, call: Call, wanted: Filter) -> None:
        principal = call.principal
        who = (getattr(principal.user, "pk", None), principal.application_id, principal.client_id)
        super().__init__(
            (call.endpoint.slug, who, wanted) if principal.authenticated else None, call.snapshot.generation
        )
        self._call = call
        self._wanted = wanted
        self._meta: dict[str, Any] = {}
        self._id: RequestId = 0
        self._seen = self._look_at(call)
        self._identify: Callable[[], Principal] = lambda: principal

    @property
    def principal(self) -> Principal:
        """Who listens."""
        return self._call.principal

    def begin(self, request_id: RequestId, identify: Callable[[], Principal]) -> None:
        """Acknowledge it, and end it at once where it is one too many."""
        self._id, self._identify = request_id, identify
        self._tell("notifications/subscriptions/acknowledged", notifications=self._wanted.acknowledged())
        if not changes.admit(self, gateway_settings.max_subscriptions):
            self.finish()

    def look(self, snapshot: Snapshot) -> None:
        """Tell what has changed for this caller; end it where the endpoint or the caller is no longer there."""
        endpoint = snapshot.endpoints.get(self._call.endpoint.slug)
        try:
            principal = self._identify()
        except Exception:
            endpoint = None
        if endpoint is None or (endpoint.token_required and not principal.authenticated):
            self.finish()
            return
        self._call = replace(self._call, snapshot=snapshot.at(endpoint.slug), endpoint=endpoint, principal=principal)
        before, self._seen = self._seen, self._look_at(self._call)
        for name in self._wanted.lists:
            if before[name] != self._seen[name]:
                self._tell(_LISTS[name][0])
        for uri in self._wanted.uris:
            if before[uri] != self._seen[uri]:
                self._tell("notifications/resources/updated", uri=uri)

    def finish(self) -> None:
        """“Graceful Closure”: the response to the request, and the end of the stream."""
        fields = result_fields(self._call)
        fields["_meta"] = {**fields.get("_meta", {}), SUBSCRIPTION_ID: self._id}
        self.outlet.put(jsonrpc.result(self._id, _encoded(fields)))
        self.outlet.end()

    def _tell(self, method: str, **params: Any) -> None:
        params = {"_meta": {SUBSCRIPTION_ID: self._id}, **params}
        self.outlet.put(jsonrpc.notification(method, _encoded(params)[1:-1]))

    def _look_at(self, call: Call) -> dict[str, object]:
        seen: dict[str, object] = {name: _LISTS[name][1](call) for name in self._wanted.lists}
        for uri in self._wanted.uris:
            seen[uri] = visible_resource(call, uri)
        return seen


def _encoded(value: Any) -> bytes:
    # Ids have more digits here than orjson takes.
    return json.dumps(value, separators=(",", ":")).encode()


def listen(call: Call) -> Subscription:
    """The stream, not begun.

    Raises `ProtocolError` -32601 where changes are not announced, -32602 for a filter that is none, -32021 for a
    client that asks for tasks and does not declare them. Of tasks nothing is told: a client that does polls them.
    """
    if not gateway_settings.announces_changes:
        raise method_not_found(METHOD, call.version)
    given = call.params.get("notifications")
    if not isinstance(given, dict):
        raise invalid_params(f'{METHOD} needs the object "notifications" in its params.')
    if given.get("taskIds") and framework.offered() and not declares_tasks(call):
        raise tasks_needed("Tasks are for clients that declare the extension for them in the request's _meta.")
    for name in _LISTS:
        if not isinstance(given.get(name, False), bool):
            raise invalid_params(f'The member "{name}" of the filter must be true or false.')
    uris = given.get(_RESOURCES, [])
    if not isinstance(uris, list) or len(uris) > MAX_URIS or not all(isinstance(uri, str) for uri in uris):
        raise invalid_params(f'The member "{_RESOURCES}" of the filter must be a list of at most {MAX_URIS} URIs.')
    return Subscription(
        call,
        Filter(
            tuple(name for name in _LISTS if given.get(name)),
            # What is no URI can never change.
            tuple(dict.fromkeys(uri for uri in uris if is_uri(uri))),
        ),
    )
