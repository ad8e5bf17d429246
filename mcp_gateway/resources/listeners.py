"""The listeners of a snapshot that provide resources, prompts and completions."""

from __future__ import annotations

from mcp_gateway.models import Offered, Prompt, Published, Resource
from mcp_gateway.registry import ListenerEntry, Snapshot, is_matched
from mcp_gateway.resources.providing import ORIGINS, get_event, provides, read_event
from mcp_gateway.resources.uris import is_of_the_web


def providers(snapshot: Snapshot) -> tuple[ListenerEntry, ...]:
    """All listeners that provide something, in order."""
    return snapshot.derived("providers", lambda: _providers(snapshot))


def _providers(snapshot: Snapshot) -> tuple[ListenerEntry, ...]:
    return tuple(
        listener
        for listener in snapshot.listeners
        if provides(listener.event)
        and not ORIGINS.isdisjoint(listener.origins)
        and listener.visibility != Offered.Visibility.OFF
    )


def reached(snapshot: Snapshot, event_type: str) -> tuple[ListenerEntry, ...]:
    """The providers of one event, in order; its type is literal."""
    return tuple(listener for listener in providers(snapshot) if is_matched(listener.event, event_type))


def guarding(snapshot: Snapshot, event_type: str) -> tuple[ListenerEntry, ...]:
    """The providers whose rights an event needs: also those that are refused or off.

    A fault in a listener, or its switch, must not open what another listener of the same event goes on answering.
    """
    known = snapshot.derived("guarding", lambda: _guarding(snapshot))
    return tuple(listener for listener in known if is_matched(listener.event, event_type))


def _guarding(snapshot: Snapshot) -> tuple[ListenerEntry, ...]:
    return tuple(
        listener
        for listener in (*snapshot.listeners, *snapshot.refused)
        if provides(listener.event) and not ORIGINS.isdisjoint(listener.origins)
    )


def answer_event(row: Published) -> str:
    """The event by which listeners answer for a resource, a template or a prompt; empty where its file has it all."""
    if row.content_digest:
        return ""
    return get_event(row.name) if isinstance(row, Prompt) else read_event(row.uri) if isinstance(row, Resource) else ""


def is_unanswered(row: Published, snapshot: Snapshot) -> bool:
    """Whether clients are told of it and nothing answers: it has no content, and there is no listener for it."""
    event = answer_event(row)
    of_the_web = isinstance(row, Resource) and is_of_the_web(row.uri)
    return bool(event) and not of_the_web and not reached(snapshot, event)
