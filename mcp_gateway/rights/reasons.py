"""Why a caller is refused whom no scope helps: what the caller may learn, and all of it for the shell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from django.contrib.auth.models import Group

from mcp_gateway.registry import Snapshot
from mcp_gateway.rights.grammar import Right, parse
from mcp_gateway.rights.granting import not_grantable
from mcp_gateway.rights.principal import Principal
from mcp_gateway.rights.providers import PROVIDERS, Answer, answer, problem

Clauses = Sequence[tuple[str, ...]]

BROKEN = "Nobody may: an administrator finds what is wrong with the right in admin, under Drift."


def lacks(right: Right, principal: Principal) -> str:
    """That a caller lacks a right, in its own words; a right that a module answers for may say more than it should."""
    who = "The service user of this client lacks" if principal.acts_for_itself else "You lack"
    return f"{who} “{right.text}”." if right.provider in PROVIDERS else f"{who} a right that a module answers for."


def out_of_reach(needed: Clauses, may: Collection[str], snapshot: Snapshot, principal: Principal) -> str:
    """That scopes cannot be had, whoever asks: those of the first clause of which the caller may have none.

    Parameters: the clauses of which one word each is needed; what exists and the caller holds or may grant.
    """
    for clause in needed:
        if not any(word in may for word in clause):
            return " ".join(_scope(word, snapshot, principal) for word in clause)
    return ""


def in_full(rights: Iterable[str], principal: Principal, snapshot: Snapshot, baseline: Sequence[str]) -> str:
    """Everything that keeps a caller out, with the groups that scopes are kept to; one statement for these."""
    parsed = [parse(right) for right in rights]
    needed = [clause for right in parsed if right.names_scopes for clause in right.clauses]
    needed.extend((scope,) for scope in baseline if any(not right.names_scopes for right in parsed))
    told = [
        f"The right “{right.text}” is nobody's: {fault}." for right in parsed if (fault := problem(right, snapshot))
    ]
    told += [
        lacks(right, principal) if right.provider in PROVIDERS else f"You lack “{right.text}”."
        for right in parsed
        if not right.names_scopes
        and not problem(right, snapshot)
        and answer(right, principal, snapshot) is not Answer.YES
    ]
    words = [word for clause in needed for word in clause]
    kept = not_grantable(principal.user, words, snapshot) if principal.authenticated else frozenset()
    for clause in needed:
        if all(word in kept or word not in snapshot.scopes for word in clause):
            told += [_in_full(word, snapshot, principal) for word in clause]
    return " ".join(dict.fromkeys(told))


def _scope(name: str, snapshot: Snapshot, principal: Principal) -> str:
    if name not in snapshot.scopes:
        return f"The scope {name} does not exist or is disabled."
    who = "the service user of this client is" if principal.acts_for_itself else "you are"
    return f"The scope {name} is kept to groups that {who} not in."


def _in_full(name: str, snapshot: Snapshot, principal: Principal) -> str:
    text = _scope(name, snapshot, principal)
    if name not in snapshot.scopes:
        return text
    # A scope is kept to its own groups, and to those of each scope that it implies.
    keys = {key for groups in snapshot.scopes[name].groups for key in groups}
    names = ", ".join(Group.objects.filter(pk__in=keys).order_by("name").values_list("name", flat=True))
    return f"{text[:-1]}: {names}."
