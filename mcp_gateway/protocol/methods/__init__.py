"""What answers each MCP method, one file per family."""

from mcp_gateway.protocol.methods.call import Call, Work
from mcp_gateway.protocol.methods.table import method_for

__all__ = ["Call", "Work", "method_for"]
