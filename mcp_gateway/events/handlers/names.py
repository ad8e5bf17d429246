"""What PHP calls a class, a method or a module, and what Python calls it."""

from __future__ import annotations

import re


def snake_case(name: str) -> str:
    """``FindISBN`` → ``find_isbn``, ``onMyTool`` → ``on_my_tool``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def camel_case(module_id: str) -> str:
    """``my-module`` → ``MyModule``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[-_]", module_id))


def method_name(cls: type, method: str) -> str | None:
    """The name that a class has for a manifest's method: that very one, else its snake_case form."""
    for name in (method, snake_case(method)):
        if name and not name.startswith("_") and hasattr(cls, name):
            return name
    return None
