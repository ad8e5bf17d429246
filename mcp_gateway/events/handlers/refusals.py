"""Why there is no code for a listener, in one sentence, whatever a module's code did when it was looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb

from mcp_gateway.manifest.discovery import ModuleSource

# Characters of a foreign exception's text that are kept.
MAX_REASON = 300


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


@contextmanager
def told(source: ModuleSource, class_name: str) -> Iterator[None]:
    """Whatever else a module's code raises while it is looked at becomes `HandlerNotFound`.

    Code runs there, too: a module's ``__getattr__`` that imports on demand, a metaclass, a descriptor.
    """
    try:
        yield
    except (HandlerNotFound, KeyboardInterrupt):
        raise
    except BaseException as error:
        reason = named(source, error)
        raise HandlerNotFound(f"The class {class_name} cannot be looked at: its module raised {reason}") from error


def named(source: ModuleSource, error: BaseException) -> str:
    """What an exception is, where in the module's files it was raised, and what it says: one line."""
    name, place = type(error).__name__, _place(source, error)
    try:
        text = f"{name}{place}: {error.msg if isinstance(error, SyntaxError) else error}"
    except Exception:  # it cannot even say what it is
        text = f"{name}{place}"
    return _one_line(source, text)


def _place(source: ModuleSource, error: BaseException) -> str:
    """The last line of the module that ran, or that could not be read; empty where it is none of its own."""
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        places.append((error.filename or "", error.lineno or 0))
    own = f"{source.folder}{os.sep}"
    return next((f" in {file}, line {line}" for file, line in reversed(places) if file.startswith(own)), "")


def _one_line(source: ModuleSource, text: str) -> str:
    """An exception's text without the module's path, cut to what a log line and a database column can hold."""
    text = text.replace(str(source.folder), source.module_id).replace("\0", "")
    return " ".join(text.encode("utf-8", "replace").decode().split())[:MAX_REASON]
