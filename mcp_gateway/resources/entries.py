"""Resources and prompts as a snapshot holds them: all that lists and checks need, and never the content."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from django.db import router

from mcp_gateway.models import Prompt, Resource


class Standing(IntEnum):
    """Whether an entry is served. Of two files that spell one URI differently the higher counts.

    ``RETIRED``: no file publishes it any more; what answers in its place has to need its rights as well. ``CLOSED``: it
    is switched off or refused; nothing answers in its place.
    """

    RETIRED = 1
    SERVED = 2
    CLOSED = 3


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """What resources and prompts have in common.

    ``key`` is the URI, the template or the prompt's name; ``arguments`` and ``extras`` are JSON text. ``rights`` are
    right strings, all of which it needs, ``schemes`` those that its module declares. An empty ``content_digest``: a
    listener answers for it.
    """

    pk: int
    key: str
    name: str
    title: str
    description: str
    visibility: str
    extras: str
    arguments: str
    rights: tuple[str, ...]
    content_digest: str
    schemes: frozenset[str]
    standing: Standing


@dataclass(frozen=True, slots=True)
class ResourceEntry(PublishedEntry):
    """A resource, or a template where ``key`` is one. ``size`` is the content's, in bytes, None where unknown."""

    mime_type: str
    size: int | None


@dataclass(frozen=True, slots=True)
class PromptEntry(PublishedEntry):
    """A prompt."""


def content(entry: PublishedEntry, *, prompt: bool) -> bytes | None:
    """The content that an entry's digest names, or None where the table holds another by now.

    One statement, on the database that writes go to.
    """
    model: Any = Prompt if prompt else Resource
    rows = model.objects.using(router.db_for_write(model))
    found = rows.filter(pk=entry.pk, content_digest=entry.content_digest).values_list("content", flat=True).first()
    return None if found is None else bytes(found)
