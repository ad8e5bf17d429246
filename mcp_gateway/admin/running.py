"""How a call of a tool runs, in an operator's words: in the background, in a transaction, with questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _

from mcp_gateway.models import Listener


def manner(listeners: Iterable[Listener]) -> Iterator[str]:
    """Sentences of the sound listeners of one tool, each once."""
    sound = [one for one in listeners if not one.problem and not one.tool_problem and one.module.present]
    yield from dict.fromkeys(sentence for listener in sound for sentence in _sentences(listener))


def _sentences(listener: Listener) -> Iterator[str]:
    yield _background(listener.task)
    if listener.needs:
        yield _("It needs a client that can do: %(needs)s.") % {"needs": ", ".join(listener.needs)}
    atomic = listener.atomic if listener.atomic is not None else not listener.task
    if atomic:
        yield _("It runs in one transaction: where it fails, the database is as before.")
    else:
        yield _("It runs without a transaction: what it wrote before it failed stays.")
    if listener.single_use:
        yield _("Answers to its questions count once.")


def _background(task: str) -> str:
    if task == "required":
        return _("It runs in the background as a task, and only for clients that know tasks.")
    if task == "optional":
        return _("It runs in the background as a task where the client knows tasks, else while the client waits.")
    return _("It runs while the client waits, unless its code asks for the background.")
