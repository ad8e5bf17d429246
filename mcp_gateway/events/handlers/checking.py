"""What an import asks of a listener's code, without running any of it that need not run."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from mcp_gateway.events.handlers.finding import find_class
from mcp_gateway.events.handlers.loaded import loading
from mcp_gateway.events.handlers.names import method_name, snake_case
from mcp_gateway.events.handlers.refusals import HandlerNotFound, MethodNotFound, told
from mcp_gateway.manifest.discovery import ModuleSource

# From Python 3.14 on looking at a signature evaluates annotations, whose names may be there for a type checker only.
_UNEVALUATED: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    import annotationlib

    _UNEVALUATED["annotation_format"] = annotationlib.Format.STRING


def check_handler(source: ModuleSource, autoload: Mapping[str, Any], class_name: str, method: str) -> None:
    """Whether a listener's code is there and can take an event; ``method`` is empty for a service.

    Imports the class's module, instantiates nothing. Raises `HandlerNotFound` with reason and cure.
    """
    with loading, told(source, class_name):
        _check(find_class(source, autoload, class_name), class_name, method)


def _check(cls: type, class_name: str, method: str) -> None:
    if not _is_plain(cls) and not _accepts(cls, ()):
        raise HandlerNotFound(
            f"The class {class_name} needs arguments to be instantiated. "
            "One instance is made without any: give the parameters of __init__ defaults."
        )
    if not method:
        return
    if method.startswith("_"):
        raise MethodNotFound(f"The method {method!r} is private. Name a method without a leading underscore.")
    name = method_name(cls, method)
    if name is None:
        forms = " or ".join(dict.fromkeys((f"{method}()", f"{snake_case(method)}()")))
        raise MethodNotFound(f"The class {class_name} has no method {forms}. Add it, or mend “method”.")
    static = inspect.getattr_static(cls, name)
    bound = isinstance(static, (staticmethod, classmethod))
    if not callable(getattr(cls, name)) or isinstance(static, (type, property)):
        raise MethodNotFound(f"“{name}” of the class {class_name} is no method.")
    if not _accepts(getattr(cls, name), (None,) if bound else (None, None)):
        raise MethodNotFound(
            f"The method {name}() of the class {class_name} cannot take one argument, the event. "
            f"Declare it as def {name}(self, event)."
        )


def _is_plain(cls: type) -> bool:
    """Whether a class is made as ``object`` is: then nothing has to be asked about its parameters."""
    makers: tuple[Any, Any] = (getattr(cls, "__init__"), getattr(cls, "__new__"))  # noqa: B009
    return type(cls) is type and makers == (object.__init__, object.__new__)


def _accepts(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bool:
    try:
        signature = inspect.signature(function, **_UNEVALUATED)
    except (TypeError, ValueError):  # some builtins have none: the call will tell
        return True
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True
