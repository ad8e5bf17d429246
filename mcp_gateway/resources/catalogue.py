"""The resources and prompts of a snapshot, read from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from mcp_gateway.models import Offered, Prompt, Published, Resource
from mcp_gateway.resources.claims import Claims
from mcp_gateway.resources.entries import PromptEntry, PublishedEntry, ResourceEntry, Standing
from mcp_gateway.resources.templates import template
from mcp_gateway.resources.uris import loose, normal

_E = TypeVar("_E", bound=PublishedEntry)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What files of modules publish and what is switched on; ``claims`` also know all that is not.

    ``resources`` by URI in its normal form, ``templates`` by their text, ``prompts`` by name.
    """

    resources: Mapping[str, ResourceEntry]
    templates: Mapping[str, ResourceEntry]
    prompts: Mapping[str, PromptEntry]
    claims: Claims


EMPTY = Catalogue(MappingProxyType({}), MappingProxyType({}), MappingProxyType({}), Claims())


def read_catalogue(using: str, modules: Mapping[int, frozenset[str]]) -> Catalogue:
    """Read the tables. ``modules`` are the schemes that each module that is there declares, by primary key."""
    resources: dict[str, ResourceEntry] = {}
    templates: dict[str, ResourceEntry] = {}
    prompts: dict[str, PromptEntry] = {}
    loosely: dict[str, ResourceEntry] = {}
    for row in _rows(Resource, using):
        entry = ResourceEntry(**_common(row, modules, row.uri, row.name), mime_type=row.mime_type, size=row.size)
        if row.is_template and _is_template(row.uri):
            _put(templates, row.uri, entry)
        else:
            _put(resources, normal(row.uri), entry)
            _put(loosely, loose(normal(row.uri)), entry)
    for row in _rows(Prompt, using):
        _put(prompts, row.name, PromptEntry(**_common(row, modules, row.name, row.name)))
    return Catalogue(
        _served(resources),
        _served(templates),
        _served(prompts),
        Claims(
            MappingProxyType(resources),
            MappingProxyType(templates),
            MappingProxyType(prompts),
            MappingProxyType(loosely),
        ),
    )


def _rows(model: Any, using: str) -> Iterator[Any]:
    yield from model.objects.using(using).defer("content").prefetch_related("required_scopes").order_by("pk")


def _is_template(uri: str) -> bool:
    """Whether the row of a template has one: a refused one may have been cut."""
    try:
        template(uri)
    except ValueError:
        return False
    return True


def _put(entries: dict[str, _E], key: str, entry: _E) -> None:
    known = entries.get(key)
    if known is None or known.standing <= entry.standing:
        entries[key] = entry


def _served(entries: Mapping[str, _E]) -> Mapping[str, _E]:
    return MappingProxyType({key: entry for key, entry in entries.items() if entry.standing is Standing.SERVED})


def _common(row: Published, modules: Mapping[int, frozenset[str]], key: str, name: str) -> dict[str, Any]:
    return {
        "pk": row.pk,
        "key": key,
        "name": name,
        "title": row.effective_title,
        "description": row.effective_description,
        "visibility": row.effective_visibility,
        "extras": row.extras,
        "arguments": row.arguments,
        "rights": row.effective_right([row.right], (scope.name for scope in row.required_scopes.all())),
        "content_digest": row.content_digest,
        "schemes": modules.get(row.module_id, frozenset()),
        "standing": _standing(row, row.module_id in modules),
    }


def _standing(row: Published, module_is_there: bool) -> Standing:
    if row.problem or row.effective_visibility == Offered.Visibility.OFF:
        return Standing.CLOSED
    return Standing.SERVED if row.available and module_is_there else Standing.RETIRED
