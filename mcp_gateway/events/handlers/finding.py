"""Where the code of a class is, and its import.

A class is written in one of two forms:

* a dotted Python path, which must lie in an installed app or under ``ZOLINGA["HANDLER_PACKAGES"]``;
* the manifest's own, with backslashes. The longest matching ``autoload`` prefix gives the folder inside the
  module (or, for a whole class name, the file); each further segment is a snake_case package or module
  (``FindISBN`` → ``find_isbn``); the last is the class, looked up there and then in a file named after it.
  Without a match the first segment is the CamelCase of the module id and stands for the module's folder.

An installed app is imported by its dotted name only, a module that is none as a package of its folder.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from django.apps import apps

from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.handlers.loaded import loaded_after, prepare_folder, remember
from mcp_gateway.events.handlers.names import camel_case, snake_case
from mcp_gateway.events.handlers.refusals import ClassNotFound, HandlerNotFound, named
from mcp_gateway.manifest.discovery import ModuleSource


def find_class(source: ModuleSource, autoload: Mapping[str, Any], class_name: str) -> type:
    """The class that a manifest means. Raises `HandlerNotFound` with every place that was looked into."""
    tried: list[str] = []
    for dotted, name in _candidates(source, autoload, class_name):
        tried.append(dotted)
        module = _import(source, dotted, class_name)
        found = getattr(module, name, None)
        if inspect.isclass(found):
            return found
    looked = " and then ".join(dict.fromkeys(tried))
    raise ClassNotFound(
        class_name, f"Looked in {looked}. Write it in one of these, or mend “class” or “autoload”.", tried
    )


def _candidates(source: ModuleSource, autoload: Mapping[str, Any], class_name: str) -> Iterator[tuple[str, str]]:
    """The dotted modules that may hold the class, in order, each with the name it has there."""
    if "\\" not in class_name and "." in class_name:
        package, _dot, name = class_name.rpartition(".")
        if not all(part.isidentifier() for part in class_name.split(".")):
            raise HandlerNotFound(f"{class_name!r} is no dotted Python path.")
        allowed = (*(config.name for config in apps.get_app_configs()), *gateway_settings.handler_packages)
        if not any(package == root or package.startswith(f"{root}.") for root in allowed):
            raise HandlerNotFound(
                f"The class {class_name} lies neither in an installed app nor under a package of "
                'ZOLINGA["HANDLER_PACKAGES"]. Add its package to that setting.'
            )
        yield package, name
        return

    bare = class_name.strip("\\")
    segments = bare.split("\\")
    if not all(segment.isidentifier() for segment in segments):
        raise HandlerNotFound(f"{class_name!r} is no class name: names joined by backslashes or dots are needed.")
    folder, rest = _base(source, autoload, segments, class_name)
    if rest is None:
        yield _dotted(source, folder, class_name), segments[-1]
        return
    *packages, name = rest
    base = _dotted(source, folder, class_name)
    where = ".".join((base, *(snake_case(package) for package in packages)))
    yield where, name
    yield f"{where}.{snake_case(name)}", name


def _base(
    source: ModuleSource, autoload: Mapping[str, Any], segments: list[str], class_name: str
) -> tuple[str, list[str] | None]:
    """The folder the class is counted from and the segments left, or the file and None."""
    best: tuple[int, str] | None = None
    for prefix, path in autoload.items():
        parts = prefix.strip("\\").split("\\") if prefix.strip("\\") else []
        if segments[: len(parts)] == parts and (best is None or len(parts) > best[0]) and isinstance(path, str):
            best = (len(parts), path)
    if best is not None:
        length, path = best
        if length == len(segments):
            if path.endswith((".py", ".php")):
                return path, None
            # A whole class name and a folder: the class is in the folder, or in a file named after it.
            return path, segments[-1:]
        return path.removesuffix(".py"), segments[length:]
    own = camel_case(source.module_id)
    if segments[0] != own or len(segments) == 1:
        raise ClassNotFound(
            class_name,
            f"No prefix of “autoload” matches it, and it does not begin with {own}\\, the name of the module "
            f"{source.module_id}. Add it to “autoload” or rename it.",
        )
    return "", segments[1:]


def _dotted(source: ModuleSource, path: str, class_name: str) -> str:
    """The dotted name of a folder or Python file inside the module."""
    if path.endswith(".php"):
        raise ClassNotFound(class_name, f"“autoload” names the PHP file {path}. Name a Python file.", [path])
    parts = [part for part in path.removesuffix(".py").replace("\\", "/").split("/") if part not in ("", ".")]
    if path.startswith("/") or any("." in part for part in parts):
        raise ClassNotFound(
            class_name, f"“autoload” names {path!r}, which is no folder or Python file inside the module."
        )
    return ".".join((source.package, *parts))


def _import(source: ModuleSource, dotted: str, class_name: str) -> Any:
    """Import a module; None where it does not exist. Whatever its code raises becomes `HandlerNotFound`."""
    try:
        if source.app_label:
            return importlib.import_module(dotted)
        loaded, last, began = len(sys.modules), next(reversed(sys.modules)), time.time_ns()
        try:
            prepare_folder(source)
            return importlib.import_module(dotted)
        finally:
            if len(sys.modules) != loaded:
                remember(source.package, loaded_after(last, len(sys.modules) - loaded), began)
    except ModuleNotFoundError as error:
        if error.name is not None and (dotted == error.name or dotted.startswith(f"{error.name}.")):
            return None
        raise _failed(source, class_name, dotted, error) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too: a module that leaves the interpreter breaks only itself
        raise _failed(source, class_name, dotted, error) from error


def _failed(source: ModuleSource, class_name: str, dotted: str, error: BaseException) -> HandlerNotFound:
    return HandlerNotFound(f"The class {class_name} failed to import: {dotted} raised {named(source, error)}", [dotted])
