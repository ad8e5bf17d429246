"""What the reading of a module may look at, and a note of everything it looked at.

A reader asks for bytes, names, code and nothing else, and always through `Asked`. What it makes of the answers depends
on them alone, so a module whose every answer is what it was need not be read again (`mcp_gateway.manifest.readings`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from typing import TypeVar

from mcp_gateway.events.handlers import HandlerNotFound, check_handler
from mcp_gateway.events.status import Origin
from mcp_gateway.manifest.digests import digest
from mcp_gateway.manifest.discovery import ModuleSource, same_id
from mcp_gateway.manifest.document import manifest_bytes, read_manifest
from mcp_gateway.manifest.meta_files import meta_files
from mcp_gateway.manifest.reader import reader_digest
from mcp_gateway.manifest.uris import ModuleFiles
from mcp_gateway.registry import is_matched
from mcp_gateway.rights.providers import AUTHORIZE
from mcp_gateway.schemas import Refused
from mcp_gateway.schemas.reading import Unreadable, to_text
from mcp_gateway.tasks import framework

_A = TypeVar("_A")

# A question is the name of a method of `Asked` and its arguments, all of them text.
Question = tuple[str, ...]


class World:
    """The modules that are there, and what all their readers share."""

    def __init__(self, found: Iterable[ModuleSource]) -> None:
        self._found = list(found)
        self.files = ModuleFiles(self._found)
        self.known = frozenset(same_id(source.module_id) for source in self._found)

    @cached_property
    def reader(self) -> str:
        """What stands for whoever reads the modules."""
        return reader_digest()

    @cached_property
    def answers_for_rights(self) -> bool:
        """Whether any module is asked about rights which the gateway does not know."""
        return any(map(answers_for_rights, self._found))


def answers_for_rights(source: ModuleSource) -> bool:
    """Whether a module has a listener that is asked about rights which the gateway does not know."""
    try:
        entries = read_manifest(source).entries
    except Unreadable:
        return False
    return any(
        not entry.faults
        and not {Origin.INTERNAL, Origin.ANY}.isdisjoint(entry.origins)
        and is_matched(entry.event, AUTHORIZE)
        for entry in entries
    )


class Asked:
    """Answers to what one module's reader asks.

    ``answers`` has what stands for each of them, in order; ``steady`` is False where a question that was asked twice
    was answered in two ways.
    """

    def __init__(self, source: ModuleSource, world: World) -> None:
        self._source = source
        self._world = world
        self.answers: dict[Question, str] = {}
        self.steady = True

    @property
    def reader(self) -> str:
        """What stands for whoever asks."""
        return self._world.reader

    def app_label(self) -> str:
        """The app whose root the module is, empty for a folder."""
        return self._note(("app_label",), lambda: self._source.app_label, Refused, str)

    def manifest(self) -> bytes:
        """The manifest's bytes. Raises `Unreadable`."""
        return self._note(("manifest",), lambda: manifest_bytes(self._source), Unreadable, digest)

    def read(self, uri: str) -> tuple[str, bytes]:
        """The canonical spelling of a ``module://`` URI, and the file's bytes. Raises `Refused`."""
        return self._note(("read", uri), lambda: self._world.files.read(uri), Refused, _digest_of_file)

    def has(self, uri: str) -> bool:
        """Whether there is a file, or anything else, at a ``module://`` URI."""
        return self._note(("has", uri), lambda: self._world.files.has(uri), Refused, str)

    def content(self, uri: str, *, module_id: str, limit: int) -> bytes:
        """The bytes of a file of one module; see `ModuleFiles.content`. Raises `Refused`."""
        return self._content(uri, module_id, str(limit))

    def _content(self, uri: str, module_id: str, limit: str) -> bytes:
        return self._note(
            ("_content", uri, module_id, limit),
            lambda: self._world.files.content(uri, module_id=module_id, limit=int(limit)),
            Refused,
            digest,
        )

    def meta_files(self, kind: str) -> list[str]:
        """The names of the module's meta files of a kind."""
        return self._note(
            ("meta_files", kind),
            lambda: meta_files(self._source.folder, kind),
            Refused,
            lambda names: digest(json.dumps(names).encode()),
        )

    def is_known(self, module_id: str) -> bool:
        """Whether there is a module of that id."""
        return self._note(("is_known", module_id), lambda: same_id(module_id) in self._world.known, Refused, str)

    def rights_are_answered(self) -> bool:
        """Whether some module is asked about rights which the gateway does not know."""
        return self._note(("rights_are_answered",), lambda: self._world.answers_for_rights, Refused, str)

    def tasks_are_offered(self) -> bool:
        """Whether the site runs work in the background."""
        return self._note(("tasks_are_offered",), framework.offered, Refused, str)

    def check_handler(self, autoload: dict[str, str], class_name: str, method: str) -> None:
        """Whether a listener's code is there and fits. Raises `HandlerNotFound`."""
        self._handler(to_text(autoload), class_name, method)

    def _handler(self, autoload: str, class_name: str, method: str) -> None:
        def check() -> None:
            check_handler(self._source, json.loads(autoload), class_name, method)

        self._note(("_handler", autoload, class_name, method), check, HandlerNotFound, str)

    def gives(self, question: Question) -> str:
        """What stands for the answer to a question now."""
        with suppress(Unreadable, Refused, HandlerNotFound):
            getattr(self, question[0])(*question[1:])
        return self.answers[question]

    def _note(
        self, question: Question, ask: Callable[[], _A], refusal: type[Exception], shorten: Callable[[_A], str]
    ) -> _A:
        try:
            answer = ask()
        except refusal as error:
            self._keep(question, f"{type(error).__name__}: {error}")
            raise
        self._keep(question, shorten(answer))
        return answer

    def _keep(self, question: Question, answer: str) -> None:
        # A file that changed while the module was read: what was made of it is no longer told by the answers.
        self.steady = self.steady and self.answers.setdefault(question, answer) == answer


def _digest_of_file(found: tuple[str, bytes]) -> str:
    return digest(found[0].encode(), found[1])
