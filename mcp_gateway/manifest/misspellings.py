"""Keys that nobody knows, and which known one is meant."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from mcp_gateway.schemas.faults import shown

# What is written under a misspelling of these would be served to people it was to be kept from.
GUARDS = ("right", "visibility")
_SAID_OTHERWISE = {"scope": "right", "scopes": "right", "permission": "right", "permissions": "right"}


def meant(key: str, known: Collection[str]) -> str:
    """The known key that an unknown one looks like; empty where it looks like none."""
    lower = {name.lower(): name for name in known}
    close = get_close_matches(key.lower(), lower, n=1, cutoff=0.8)
    return lower[close[0]] if close else ""


def unknown_key(key: str, known: Collection[str]) -> str:
    """What to say of a key that does nothing because nobody knows it."""
    close = meant(key, known)
    hint = f" Is {shown(close)} meant?" if close else ""
    return f"The key {shown(key)} is unknown and does nothing.{hint}"


def meant_guard(key: str, known: Collection[str]) -> str:
    """The guard among the known keys that an unknown one is meant for; empty where it is meant for none."""
    if key in known:
        return ""
    found = _SAID_OTHERWISE.get(key.lower()) or meant(key, known)
    return found if found in GUARDS else ""
