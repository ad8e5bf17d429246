"""Who answers for a URI or for a prompt's name, and what that needs: a file, a listener, or both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from mcp_gateway.models import Offered
from mcp_gateway.protocol.errors import ProtocolError
from mcp_gateway.protocol.methods.call import Call
from mcp_gateway.protocol.methods.providers import allowed, demand, is_hidden
from mcp_gateway.registry import ListenerEntry, Snapshot
from mcp_gateway.resources.claims import Claim
from mcp_gateway.resources.entries import PromptEntry, PublishedEntry, ResourceEntry
from mcp_gateway.resources.listeners import guarding, reached
from mcp_gateway.resources.providing import get_event, read_event

_E = TypeVar("_E", bound=PublishedEntry)


@dataclass(frozen=True, slots=True)
class Answering(Generic[_E]):
    """What answers, and for whom.

    ``entry`` is a file's, None where listeners alone know of it, ``variables`` the values that its template gives;
    ``exact``: it is that of the URI or name itself.
    ``listeners`` are those to ask, none where the content is a file's. ``rights`` are needed, all of them; it does not
    exist for those who lack them where it is ``hidden``, and for nobody where the files have it ``withheld``.
    """

    entry: _E | None
    variables: Mapping[str, str]
    exact: bool
    listeners: tuple[ListenerEntry, ...]
    rights: tuple[str, ...]
    hidden: bool
    withheld: bool

    @property
    def exists(self) -> bool:
        """Whether anything answers for anybody."""
        return not self.withheld and (self.entry is not None or bool(self.listeners))

    def enter(self, call: Call, missing: Callable[[], ProtocolError]) -> None:
        """Refuse a caller for whom it does not exist (``missing`` makes the error), or whose rights do not suffice."""
        if not self.exists:
            raise missing()
        demand(call, self.rights, hidden=self.hidden, missing=missing)

    def is_open(self, call: Call) -> bool:
        """Whether it exists and the caller holds the rights."""
        return self.exists and allowed(call, self.rights)


def for_uri(snapshot: Snapshot, uri: str) -> Answering[ResourceEntry]:
    """What answers for a URI."""
    return _answering(snapshot, snapshot.published.claims.of_uri(uri), read_event(uri))


def for_template(snapshot: Snapshot, text: str) -> Answering[ResourceEntry]:
    """What answers for the URIs of a template."""
    return _answering(snapshot, snapshot.published.claims.of_template(text), read_event(text))


def for_prompt(snapshot: Snapshot, name: str) -> Answering[PromptEntry]:
    """What answers for a prompt."""
    return _answering(snapshot, snapshot.published.claims.of_prompt(name), get_event(name))


def _answering(snapshot: Snapshot, claim: Claim[_E], event_type: str) -> Answering[_E]:
    entry = claim.entry
    is_whole = entry is not None and bool(entry.content_digest)
    listeners = () if is_whole else reached(snapshot, event_type)
    guards = () if is_whole else guarding(snapshot, event_type)
    rights = (*(entry.rights if entry else ()), *(guard.right for guard in guards if guard.right))
    return Answering(
        entry,
        claim.variables,
        claim.exact,
        listeners,
        tuple(dict.fromkeys(rights)),
        is_hidden(guards) or (entry is not None and entry.visibility == Offered.Visibility.AUTHORIZED),
        claim.forbids(rights),
    )
