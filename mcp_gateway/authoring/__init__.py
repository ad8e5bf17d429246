"""Writing modules for their authors: a new module, a new tool, a tool from an event that is already there.

Behind ``manage.py startmodule`` and ``manage.py mcp_add_tool``. Whatever is written imports and answers at once,
nothing that exists is overwritten, and where something stands in the way nothing is written at all.
"""

from mcp_gateway.authoring.files import NotWritten

__all__ = ["NotWritten"]
