"""Whose a URI or a prompt's name is, as the files of modules say it: also those that are not served.

A listener answers for a whole scheme. What a file guards must not become open when it is switched off, refused or taken
away, so such entries go on claiming what is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from mcp_gateway.resources.entries import PromptEntry, PublishedEntry, ResourceEntry, Standing
from mcp_gateway.resources.templates import Template, sample, template
from mcp_gateway.resources.uris import loose, normal, with_small_host

_E = TypeVar("_E", bound=PublishedEntry)


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Claim(Generic[_E]):
    """Whose something is.

    ``entry`` is None where no file publishes it; ``exact``: under that very URI or name, and not by a template, of
    which ``variables`` are the values. ``closed``: whose it is is not served, and nothing answers in its place.
    ``retired`` are the rights of entries that are gone.
    """

    entry: _E | None = None
    variables: Mapping[str, str] = field(default_factory=_nothing)
    exact: bool = False
    closed: bool = False
    retired: frozenset[str] = frozenset()

    def forbids(self, rights: Iterable[str]) -> bool:
        """Whether what needs only these rights must not answer."""
        return self.closed or not self.retired.issubset(rights)


@dataclass(frozen=True, slots=True)
class Claims:
    """Every entry, whatever its standing: resources by normal URI, templates by their text, prompts by name.

    ``loosely`` are the resources by what their URI asks for (`mcp_gateway.resources.uris.loose`): listeners take URIs
    apart, and what a file guards must not be open under another spelling.
    """

    resources: Mapping[str, ResourceEntry] = field(default_factory=_nothing)
    templates: Mapping[str, ResourceEntry] = field(default_factory=_nothing)
    prompts: Mapping[str, PromptEntry] = field(default_factory=_nothing)
    loosely: Mapping[str, ResourceEntry] = field(default_factory=_nothing)

    def of_uri(self, uri: str) -> Claim[ResourceEntry]:
        """Whose a URI is: its own entry's, else the most literal template's; of equals a served, guarded one."""
        key = normal(uri)
        asked = loose(key)
        made: list[tuple[Template, ResourceEntry, dict[str, str]]] = []
        for text, entry in self.templates.items():
            known = template(normal(text))
            values = known.match(key)
            if values is None:
                values = template(with_small_host(known.text)).match(asked)
            if values is not None:
                made.append((known, entry, values))
        made.sort(
            key=lambda one: (-one[0].literal, one[1].standing is not Standing.SERVED, not one[1].rights, one[1].key)
        )
        own = [*_own(self.resources, key), *_own(self.loosely, asked, exact=False)]
        return _first([*own, *(Claim(entry, values) for _template, entry, values in made)])

    def of_template(self, text: str) -> Claim[ResourceEntry]:
        """Whose a template is: its own entry's, else that of a URI of its shape, as clients may rename a variable."""
        own = _own(self.templates, text)
        if own and own[0].entry is not None and own[0].entry.standing is not Standing.RETIRED:
            return _first(own)
        return replace(self.of_uri(sample(text)), exact=False)

    def of_prompt(self, name: str) -> Claim[PromptEntry]:
        """Whose a prompt's name is."""
        return _first(_own(self.prompts, name))

    def withheld(self) -> frozenset[str]:
        """The keys of all that is not served."""
        return frozenset(
            entry.key
            for entries in (self.resources, self.templates, self.prompts)
            for entry in entries.values()
            if entry.standing is not Standing.SERVED
        )


def _own(entries: Mapping[str, _E], key: str, *, exact: bool = True) -> list[Claim[_E]]:
    return [Claim(entries[key], exact=exact)] if key in entries else []


def _first(claims: Iterable[Claim[_E]]) -> Claim[_E]:
    """The first of these whose entry is there; those that are gone before it leave their rights."""
    retired: frozenset[str] = frozenset()
    for claim in claims:
        entry = claim.entry
        if entry is None or entry.standing is Standing.CLOSED:
            return Claim(closed=True)
        if entry.standing is Standing.SERVED:
            return Claim(entry, claim.variables, claim.exact, retired=retired)
        retired = retired.union(entry.rights)
    return Claim(retired=retired)
