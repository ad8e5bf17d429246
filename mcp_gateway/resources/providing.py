"""Events by which listeners provide resources, prompts and completions, and do not only watch what was asked.

====================================  ===========================================================
``mcp:resources/list``                entries for ``resources/list``
``mcp:resources/templates/list``      entries for ``resources/templates/list``
``mcp:resources/read:<scheme>``       the contents of a URI of that scheme
``mcp:prompts/list``                  entries for ``prompts/list``
``mcp:prompts/get:<scheme>``          the messages of a prompt: what stands before the first colon of its name, or
                                      the whole name where there is none
``mcp:completion/complete``           values for an argument of a prompt or a variable of a template
====================================  ===========================================================

A listener provides where its event is one of these to the letter, or begins with ``mcp:resources/read:`` or
``mcp:prompts/get:``. One on ``mcp:*`` or ``mcp:resources/*`` watches, after the answer.
"""

from __future__ import annotations

from difflib import get_close_matches

from mcp_gateway.resources.uris import scheme_of

RESOURCES_LIST = "mcp:resources/list"
TEMPLATES_LIST = "mcp:resources/templates/list"
RESOURCES_READ = "mcp:resources/read:"
PROMPTS_LIST = "mcp:prompts/list"
PROMPTS_GET = "mcp:prompts/get:"
COMPLETE = "mcp:completion/complete"

_TO_THE_LETTER = frozenset({RESOURCES_LIST, TEMPLATES_LIST, PROMPTS_LIST, COMPLETE})
_BEGINNINGS = (RESOURCES_READ, PROMPTS_GET)

#: Where such an event comes from: a listener may say either.
ORIGINS = frozenset({"mcp", "internal", "*"})


def provides(pattern: str) -> bool:
    """Whether a listener to this event provides something."""
    return pattern in _TO_THE_LETTER or pattern.startswith(_BEGINNINGS)


def read_event(uri: str) -> str:
    """The event that asks for a URI's contents."""
    return RESOURCES_READ + scheme_of(uri)


def get_event(name: str) -> str:
    """The event that asks for a prompt's messages."""
    return PROMPTS_GET + name.partition(":")[0]


def meant_event(event: str) -> str:
    """The event of a provider that another looks like a misspelling of; empty where it looks like none."""
    known = {one.rstrip(":"): one for one in (*_TO_THE_LETTER, *_BEGINNINGS)}
    method, scheme = event, ""
    if event.count(":") > 1:
        method, _colon, scheme = event.rpartition(":")
    close = get_close_matches(method, known, n=1, cutoff=0.85)
    meant = known[close[0]] if close else ""
    return meant + (scheme or "<scheme>") if meant in _BEGINNINGS else meant


def scheme_read(pattern: str) -> str:
    """The scheme that a listener reads, and so declares; empty where it names none to the letter."""
    scheme = pattern.removeprefix(RESOURCES_READ) if pattern.startswith(RESOURCES_READ) else ""
    return "" if "*" in scheme else scheme.lower()
