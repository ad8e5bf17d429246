"""From the class and method of a manifest to the Python code that runs.

A class is written in one of two forms:

* a dotted Python path, which must lie in an installed app or under ``ZOLINGA["HANDLER_PACKAGES"]``;
* the manifest's own, with backslashes. The longest matching ``autoload`` prefix gives the folder inside the
  module (or, for a whole class name, the file); each further segment is a snake_case package or module
  (``FindISBN`` → ``find_isbn``); the last is the class, looked up there and then in a file named after it.
  Without a match the first segment is the CamelCase of the module id and stands for the module's folder.

An installed app is imported by its dotted name only. The folder of a module that is no app is the package
``mcp_gateway_modules.<id with _>``, made from its own module spec: nothing is ever put on ``sys.path``, where a
module's ``mcp.py`` would shadow the SDK's.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from importlib.util import cache_from_source, module_from_spec, spec_from_file_location
from itertools import takewhile
from pathlib import Path
from typing import Any

from django.apps import apps

from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.event import Event
from mcp_gateway.manifest import discovery
from mcp_gateway.manifest.discovery import FOLDER_PACKAGE, ModuleSource
from mcp_gateway.registry import ModuleEntry

# Characters of a foreign exception's text that are kept.
MAX_REASON = 300

# How far a file system's clock may be behind the time of day, in nanoseconds.
CLOCK_STEP = 20_000_000

RESTART = "The import found it; a process that was started before has the old code. Restart the server."

# From Python 3.14 on looking at a signature evaluates annotations, whose names may be there for a type checker only.
_UNEVALUATED: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    import annotationlib

    _UNEVALUATED["annotation_format"] = annotationlib.Format.STRING

Handler = Callable[[Event], Any]


class HandlerNotFound(Exception):
    """No code for a listener.

    The text is one sentence for logs and reports, without a path of the machine. ``tried`` are the dotted modules
    that were looked into, in order.
    """

    def __init__(self, message: str, tried: list[str] | None = None) -> None:
        super().__init__(message)
        self.tried = tried or []


class ClassNotFound(HandlerNotFound):
    """There is no such class at all, as when a manifest was written for the PHP original."""

    def __init__(self, class_name: str, reason: str, tried: list[str] | None = None) -> None:
        super().__init__(f"Class not found: {class_name}. {reason}", tried)


class MethodNotFound(HandlerNotFound):
    """The class is there; what the manifest calls its method is none that can take an event."""


def snake_case(name: str) -> str:
    """``FindISBN`` → ``find_isbn``, ``onMyTool`` → ``on_my_tool``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def camel_case(module_id: str) -> str:
    """``my-module`` → ``MyModule``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[-_]", module_id))


def load_handler(module: ModuleEntry, class_name: str, method: str) -> Handler:
    """The bound method of the one instance that a class has in this process.

    Raises `HandlerNotFound` where the code is missing, fails to import or cannot be instantiated.
    """
    source = _source(module)
    key = (source.folder, class_name, method)
    try:
        return _handlers[key]
    except KeyError:
        pass
    instance = load_instance(module, class_name)
    with _told(source, class_name):
        name = _method_name(type(instance), method)
        if name is None:
            raise HandlerNotFound(
                f"The class {class_name} of module {module.module_id} has no method {method!r} in this process. "
                f"{RESTART}"
            )
        handler: Handler = getattr(instance, name)
    with _loading:
        return _handlers.setdefault(key, handler)


def load_instance(module: ModuleEntry, class_name: str) -> Any:
    """The one instance of a class in this process, made at the first use. Raises `HandlerNotFound`."""
    source = _source(module)
    with _loading, _told(source, class_name):
        cls = _loaded_class(source, module, class_name)
        if cls not in _instances:
            try:
                _instances[cls] = cls()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                reason = _one_line(source, _named(error))
                raise HandlerNotFound(f"The class {class_name} cannot be instantiated: {reason}") from error
        return _instances[cls]


def _source(module: ModuleEntry) -> ModuleSource:
    source = discovery.locate(module.module_id)
    if source is None:
        raise HandlerNotFound(f"The module {module.module_id} is not on this server.")
    return source


def _loaded_class(source: ModuleSource, module: ModuleEntry, class_name: str) -> type:
    """The class as this process has it: the import that accepted it may have seen newer code than was loaded here."""
    try:
        return _find_class(source, module.autoload, class_name)
    except HandlerNotFound as missing:
        raise HandlerNotFound(f"{missing} {RESTART}", missing.tried) from missing.__cause__


def check_handler(source: ModuleSource, autoload: Mapping[str, Any], class_name: str, method: str) -> None:
    """Whether a listener's code is there and can take an event; ``method`` is empty for a service.

    Imports the class's module, instantiates nothing. Raises `HandlerNotFound` with reason and cure.
    """
    with _loading, _told(source, class_name):
        _check(_find_class(source, autoload, class_name), class_name, method)


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
    name = _method_name(cls, method)
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


def refresh() -> None:
    """Drop the code of folder modules whose files have changed since they were loaded, and its instances.

    Installed apps are Python packages like any other: their new code comes with a restart.
    """
    with _loading:
        importlib.invalidate_caches()
        stale = {name.split(".")[1] for name, (file, stamp) in _stamps.items() if _stamp(file) != stamp}
        for package in stale:
            _drop(f"{FOLDER_PACKAGE}.{package}")


def _drop(package: str) -> None:
    for name in [name for name in (*sys.modules, *_stamps) if f"{name}.".startswith(f"{package}.")]:
        sys.modules.pop(name, None)
        file, _old = _stamps.pop(name, ("", None))
        if file:
            # A compiled file counts as fresh for a second: an edit within it would not be seen.
            with suppress(OSError, NotImplementedError):
                Path(cache_from_source(file)).unlink()
    for cls in [cls for cls in _instances if f"{cls.__module__}.".startswith(f"{package}.")]:
        del _instances[cls]
    _handlers.clear()
    importlib.invalidate_caches()


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _after(last: str, added: int) -> list[str]:
    """The modules that were loaded after one of that name: at least so many, or all, where it is no longer in place."""
    found = list(takewhile(lambda name: name != last, reversed(sys.modules)))
    return found if len(found) >= added else list(sys.modules)


def _remember(package: str, names: Iterable[str], began: int) -> None:
    """Note the state of the files that were loaded. One that was written meanwhile may have been read half."""
    for name in names:
        if name in _stamps or not f"{name}.".startswith(f"{package}."):
            continue
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and isinstance(file, str):
            stamp = _stamp(file)
            settled = stamp is not None and stamp[0] < began - CLOCK_STEP
            _stamps[name] = (file, stamp if settled else None)


_handlers: dict[tuple[Path, str, str], Handler] = {}
_instances: dict[type, Any] = {}
_stamps: dict[str, tuple[str, tuple[int, int] | None]] = {}
_loading = threading.RLock()


def _method_name(cls: type, method: str) -> str | None:
    for name in (method, snake_case(method)):
        if name and not name.startswith("_") and hasattr(cls, name):
            return name
    return None


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


def _find_class(source: ModuleSource, autoload: Mapping[str, Any], class_name: str) -> type:
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
            _prepare_folder(source)
            return importlib.import_module(dotted)
        finally:
            if len(sys.modules) != loaded:
                _remember(source.package, _after(last, len(sys.modules) - loaded), began)
    except ModuleNotFoundError as error:
        if error.name is not None and (dotted == error.name or dotted.startswith(f"{error.name}.")):
            return None
        raise _failed(source, class_name, dotted, error) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too: a module that leaves the interpreter breaks only itself
        raise _failed(source, class_name, dotted, error) from error


def _failed(source: ModuleSource, class_name: str, dotted: str, error: BaseException) -> HandlerNotFound:
    reason = _one_line(source, _named(error))
    return HandlerNotFound(f"The class {class_name} failed to import: {dotted} raised {reason}", [dotted])


@contextmanager
def _told(source: ModuleSource, class_name: str) -> Iterator[None]:
    """Whatever else a module's code raises while it is looked at becomes `HandlerNotFound`.

    Code runs there, too: a module's ``__getattr__`` that imports on demand, a metaclass, a descriptor.
    """
    try:
        yield
    except (HandlerNotFound, KeyboardInterrupt):
        raise
    except BaseException as error:
        reason = _one_line(source, _named(error))
        raise HandlerNotFound(f"The class {class_name} cannot be looked at: its module raised {reason}") from error


def _named(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg}, line {error.lineno}"
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # it cannot even say what it is
        return type(error).__name__


def _one_line(source: ModuleSource, text: str) -> str:
    """An exception's text without the module's path, cut to what a log line and a database column can hold."""
    text = text.replace(str(source.folder), source.module_id).replace("\0", "")
    return " ".join(text.encode("utf-8", "replace").decode().split())[:MAX_REASON]


def _prepare_folder(source: ModuleSource) -> None:
    """Make the package of a folder that is no app, unless it is there already and still that folder's."""
    root = sys.modules.get(FOLDER_PACKAGE)
    if root is None:
        spec = ModuleSpec(FOLDER_PACKAGE, None, is_package=True)
        root = sys.modules[FOLDER_PACKAGE] = module_from_spec(spec)
    folder = str(source.folder)
    held = sys.modules.get(source.package)
    if held is not None:
        if list(held.__path__) == [folder]:
            return
        _drop(source.package)
    initial = source.folder / "__init__.py"
    if initial.is_file():
        package_spec = spec_from_file_location(source.package, initial, submodule_search_locations=[folder])
    else:
        package_spec = ModuleSpec(source.package, None, is_package=True)
        package_spec.submodule_search_locations = [folder]
    if package_spec is None:
        raise ImportError(f"{source.package} cannot be made")
    package = module_from_spec(package_spec)
    sys.modules[source.package] = package
    try:
        if package_spec.loader is not None:
            package_spec.loader.exec_module(package)
    except BaseException:
        sys.modules.pop(source.package, None)
        raise
    setattr(root, source.package.rpartition(".")[2], package)
