"""Which methods each era has."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_gateway.protocol.methods.call import Method, Opening
from mcp_gateway.protocol.methods.completion import complete
from mcp_gateway.protocol.methods.lifecycle import discover, initialize, ping, set_level
from mcp_gateway.protocol.methods.prompts import get_prompt
from mcp_gateway.protocol.methods.published_lists import list_prompts, list_resources, list_templates
from mcp_gateway.protocol.methods.resource_reads import read_resource, subscribe
from mcp_gateway.protocol.methods.subscriptions import listen
from mcp_gateway.protocol.methods.tasks import cancel_task, get_task, update_task
from mcp_gateway.protocol.methods.tool_calls import call_tool
from mcp_gateway.protocol.methods.tool_lists import list_tools
from mcp_gateway.tasks import framework

_BOTH: Mapping[str, Method] = {
    "tools/list": list_tools,
    "tools/call": call_tool,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "completion/complete": complete,
}
_MODERN: Mapping[str, Method | Opening] = {**_BOTH, "server/discover": discover, "subscriptions/listen": listen}
_LEGACY: Mapping[str, Method | Opening] = {
    **_BOTH,
    "initialize": initialize,
    "ping": ping,
    "logging/setLevel": set_level,
    "resources/subscribe": subscribe,
    "resources/unsubscribe": subscribe,
}

# Where the site has a worker for them.
_TASKS: Mapping[str, Method] = {"tasks/get": get_task, "tasks/update": update_task, "tasks/cancel": cancel_task}


def method_for(name: str, *, modern: bool) -> Method | Opening | None:
    """What answers a method in an era, or None where the era, as served here, does not have it."""
    method = (_MODERN if modern else _LEGACY).get(name)
    if method is None and modern and name in _TASKS and framework.offered():
        return _TASKS[name]
    return method
