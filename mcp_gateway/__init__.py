"""Django event handlers as MCP tools: the reusable app.

Put ``"mcp_gateway"`` into ``INSTALLED_APPS`` (after ``rest_framework`` and ``oauth2_provider``) and
``path("", include("mcp_gateway.urls"))`` into the URLs.
"""

__version__ = "0.1.0"
