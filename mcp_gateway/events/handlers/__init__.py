"""From the class and method of a manifest to the Python code that runs.

`names` and `finding` say where a class lies, `loaded` holds what this process has of it, `instances` gives what
runs, `checking` is what an import asks, `refusals` what it is told.
"""

from mcp_gateway.events.handlers.checking import check_handler
from mcp_gateway.events.handlers.instances import load_handler, load_instance
from mcp_gateway.events.handlers.loaded import refresh
from mcp_gateway.events.handlers.names import camel_case, snake_case
from mcp_gateway.events.handlers.refusals import ClassNotFound, HandlerNotFound, MethodNotFound

__all__ = [
    "ClassNotFound",
    "HandlerNotFound",
    "MethodNotFound",
    "camel_case",
    "check_handler",
    "load_handler",
    "load_instance",
    "refresh",
    "snake_case",
]
