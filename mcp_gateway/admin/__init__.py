"""Django admin: what manifests say, read-only, and beside it what administrators decide."""

from mcp_gateway.admin.clients import ClientAdmin
from mcp_gateway.admin.endpoints import EndpointAdmin
from mcp_gateway.admin.events import OAuthEventAdmin
from mcp_gateway.admin.imports import ImportRunAdmin
from mcp_gateway.admin.modules import ListenerAdmin, ModuleAdmin
from mcp_gateway.admin.personal_tokens import PersonalTokenAdmin
from mcp_gateway.admin.published import PromptAdmin, ResourceAdmin
from mcp_gateway.admin.scopes import ScopeAdmin
from mcp_gateway.admin.tasks import ToolTaskAdmin
from mcp_gateway.admin.tools import ToolAdmin

__all__ = [
    "ClientAdmin",
    "EndpointAdmin",
    "ImportRunAdmin",
    "ListenerAdmin",
    "ModuleAdmin",
    "OAuthEventAdmin",
    "PersonalTokenAdmin",
    "PromptAdmin",
    "ResourceAdmin",
    "ScopeAdmin",
    "ToolAdmin",
    "ToolTaskAdmin",
]
