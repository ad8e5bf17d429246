"""The tables: what imports write, what administrators own, and the number that tells workers to look again."""

from mcp_gateway.models.client import Client
from mcp_gateway.models.endpoint import Endpoint
from mcp_gateway.models.generation import Generation, Versioned
from mcp_gateway.models.import_run import ImportRun
from mcp_gateway.models.module import Listener, Module
from mcp_gateway.models.note import Note
from mcp_gateway.models.oauth_event import OAuthEvent
from mcp_gateway.models.offered import Offered, Published
from mcp_gateway.models.page_question import PageQuestion
from mcp_gateway.models.personal_token import PersonalToken
from mcp_gateway.models.prompt import Prompt
from mcp_gateway.models.reading import ModuleReading
from mcp_gateway.models.resource import Resource
from mcp_gateway.models.scope import DEFAULT_SCOPE, Scope, ScopeGroup
from mcp_gateway.models.tally import Tally
from mcp_gateway.models.tool import Tool
from mcp_gateway.models.tool_task import ToolTask

__all__ = [
    "DEFAULT_SCOPE",
    "Client",
    "Endpoint",
    "Generation",
    "ImportRun",
    "Listener",
    "Module",
    "ModuleReading",
    "Note",
    "OAuthEvent",
    "Offered",
    "PageQuestion",
    "PersonalToken",
    "Prompt",
    "Published",
    "Resource",
    "Scope",
    "ScopeGroup",
    "Tally",
    "Tool",
    "ToolTask",
    "Versioned",
]
