"""Which scopes a person may grant, where an administrator keeps some to members of Django groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_gateway.registry import Snapshot


def not_grantable(user: Any, scopes: Iterable[str], snapshot: Snapshot) -> frozenset[str]:
    """Of scopes, those the user may not grant; nobody (None) may grant any that is kept to groups.

    To grant a scope is to grant what it implies, so the groups of those count too. No statement where none of the
    scopes is kept to groups, else one.
    """
    if not snapshot.restricted:
        return frozenset()
    kept = snapshot.restricted.intersection(scopes)
    if not kept:
        return kept
    # A project's own user model may have no groups.
    own = getattr(user, "groups", None)
    groups = frozenset(own.values_list("pk", flat=True)) if own is not None else frozenset()
    return frozenset(
        name for name in kept if any(groups.isdisjoint(allowed) for allowed in snapshot.scopes[name].groups)
    )
