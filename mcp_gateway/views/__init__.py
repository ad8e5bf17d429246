"""HTTP around the protocol: what is admitted, who is asked in which order, how answers leave."""

from mcp_gateway.views.endpoint import McpView

__all__ = ["McpView"]
