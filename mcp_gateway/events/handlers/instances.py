"""The one instance that each class of handlers has in this process, and its methods."""

from __future__ import annotations

from typing import Any

from mcp_gateway.events.handlers.finding import find_class
from mcp_gateway.events.handlers.loaded import Handler, bound, instances, loading
from mcp_gateway.events.handlers.names import method_name
from mcp_gateway.events.handlers.refusals import HandlerNotFound, named, told
from mcp_gateway.manifest import discovery
from mcp_gateway.manifest.discovery import ModuleSource
from mcp_gateway.registry import ModuleEntry

RESTART = "The import found it; a process that was started before has the old code. Restart the server."


def load_handler(module: ModuleEntry, class_name: str, method: str) -> Handler:
    """The bound method of the one instance that a class has in this process.

    Raises `HandlerNotFound` where the code is missing, fails to import or cannot be instantiated.
    """
    source = _source(module)
    key = (source.folder, class_name, method)
    try:
        return bound[key]
    except KeyError:
        pass
    instance = load_instance(module, class_name)
    with told(source, class_name):
        name = method_name(type(instance), method)
        if name is None:
            raise HandlerNotFound(
                f"The class {class_name} of module {module.module_id} has no method {method!r} in this process. "
                f"{RESTART}"
            )
        handler: Handler = getattr(instance, name)
    with loading:
        return bound.setdefault(key, handler)


def load_instance(module: ModuleEntry, class_name: str) -> Any:
    """The one instance of a class in this process, made at the first use. Raises `HandlerNotFound`."""
    source = _source(module)
    with loading, told(source, class_name):
        cls = _loaded_class(source, module, class_name)
        if cls not in instances:
            try:
                instances[cls] = cls()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                reason = named(source, error)
                raise HandlerNotFound(f"The class {class_name} cannot be instantiated: {reason}") from error
        return instances[cls]


def _source(module: ModuleEntry) -> ModuleSource:
    source = discovery.locate(module.module_id)
    if source is None:
        raise HandlerNotFound(f"The module {module.module_id} is not on this server.")
    return source


def _loaded_class(source: ModuleSource, module: ModuleEntry, class_name: str) -> type:
    """The class as this process has it: the import that accepted it may have seen newer code than was loaded here."""
    try:
        return find_class(source, module.autoload, class_name)
    except HandlerNotFound as missing:
        raise HandlerNotFound(f"{missing} {RESTART}", missing.tried) from missing.__cause__
