"""Why there is no code for a listener, in one sentence, whatever a module's code did when it was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
        reason = one_line(source, named(error))
        raise HandlerNotFound(f"The class {class_name} cannot be looked at: its module raised {reason}") from error


def named(error: BaseException) -> str:
    """What an exception is and says."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg}, line {error.lineno}"
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # it cannot even say what it is
        return type(error).__name__


def one_line(source: ModuleSource, text: str) -> str:
    """An exception's text without the module's path, cut to what a log line and a database column can hold."""
    text = text.replace(str(source.folder), source.module_id).replace("\0", "")
    return " ".join(text.encode("utf-8", "replace").decode().split())[:MAX_REASON]
