"""Who answers for a right: Django's groups, permissions and staff here, and modules for all other words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from mcp_gateway.registry import ListenerEntry, Snapshot
from mcp_gateway.rights.grammar import AUTHENTICATED, MEMBER, PERMISSION, STAFF, Right
from mcp_gateway.rights.principal import Principal

#: The internal event by which a module answers for rights of its own.
AUTHORIZE = "system:authorize"

_INTERNAL = "internal"


class Answer(Enum):
    """What a provider says. UNKNOWN: nobody says anything, so the right is held by nobody at all."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


AskModules = Callable[[Right, Principal, tuple[ListenerEntry, ...]], Answer]


def _nobody(right: Right, principal: Principal, listeners: tuple[ListenerEntry, ...]) -> Answer:
    return Answer.UNKNOWN


_ask_modules: AskModules = _nobody


def set_ask_modules(ask: AskModules) -> None:
    """Say who takes a right to the modules that listen; events lie above this room, so they cannot be imported."""
    global _ask_modules
    _ask_modules = ask


def authorizers(snapshot: Snapshot) -> tuple[ListenerEntry, ...]:
    """The listeners that ``system:authorize`` reaches, in order."""
    return snapshot.derived(AUTHORIZE, lambda: snapshot.matching(AUTHORIZE, _INTERNAL))


def problem(right: Right, snapshot: Snapshot) -> str:
    """Why nobody can hold a right whoever they are; empty where somebody might."""
    return "" if right.foreign and authorizers(snapshot) else right.problem


def answer(right: Right, principal: Principal, snapshot: Snapshot) -> Answer:
    """What the right's provider says of a caller. Scopes have none: `decide` judges them together."""
    own = PROVIDERS.get(right.provider)
    if own is not None:
        return Answer.YES if not right.problem and own(right, principal) else Answer.NO
    if not right.foreign:
        return Answer.NO
    listeners = authorizers(snapshot)
    return _ask_modules(right, principal, listeners) if listeners else Answer.UNKNOWN


def _is_active(user: Any) -> bool:
    return user is not None and getattr(user, "is_authenticated", False) and getattr(user, "is_active", True)


def _member(right: Right, principal: Principal) -> bool:
    user = principal.user
    if not _is_active(user):
        return False
    # A project's own user model may have no groups.
    groups = getattr(user, "groups", None)
    names = set(groups.values_list("name", flat=True)) if groups is not None else set()
    return all(names.intersection(clause) for clause in right.clauses)


def _permission(right: Right, principal: Principal) -> bool:
    has_permission = getattr(principal.user, "has_perm", None)
    if has_permission is None or not _is_active(principal.user):
        return False
    return all(any(has_permission(word) for word in clause) for clause in right.clauses)


def _authenticated(right: Right, principal: Principal) -> bool:
    return principal.authenticated and (principal.user is None or _is_active(principal.user))


def _staff(right: Right, principal: Principal) -> bool:
    return _is_active(principal.user) and bool(getattr(principal.user, "is_staff", False))


PROVIDERS: Mapping[str, Callable[[Right, Principal], bool]] = {
    MEMBER: _member,
    PERMISSION: _permission,
    AUTHENTICATED: _authenticated,
    STAFF: _staff,
}
