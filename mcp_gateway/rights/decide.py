"""The decision: may this principal, and if not, what would help."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import Any

from mcp_gateway.registry import Snapshot
from mcp_gateway.rights import reasons
from mcp_gateway.rights.grammar import Right, parse
from mcp_gateway.rights.granting import not_grantable
from mcp_gateway.rights.principal import Principal
from mcp_gateway.rights.providers import Answer, answer, problem

# Above so many combinations of alternatives the first written are taken instead of the fewest missing.
MAX_COMBINATIONS = 4096


class Outcome(Enum):
    """What a decision says."""

    ALLOWED = "allowed"
    UNAUTHENTICATED = "unauthenticated"
    INSUFFICIENT_SCOPE = "insufficient_scope"
    FIXED_SCOPES = "fixed_scopes"
    BEYOND_CLIENT = "beyond_client"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Decision:
    """Yes or no, and what would help.

    ``scopes``, sorted: for UNAUTHENTICATED what to log in with, for INSUFFICIENT_SCOPE all that the call needs
    (RFC 6750 section 3.1: an AND list, so one alternative). FIXED_SCOPES and BEYOND_CLIENT are refusals that a client
    cannot mend: for a token that nobody can ask more for, and for scopes that this client may not ask for; they
    name what is missing. DENIED means that no scope would help; ``why`` is then a sentence for the caller.
    """

    outcome: Outcome
    scopes: tuple[str, ...] = ()
    why: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the answer is yes."""
        return self.outcome is Outcome.ALLOWED


ALLOWED = Decision(Outcome.ALLOWED)


def _denied(why: str) -> Decision:
    return Decision(Outcome.DENIED, why=why)


def decide(
    rights: Iterable[str], principal: Principal, snapshot: Snapshot, *, baseline: Sequence[str] = ()
) -> Decision:
    """Judge right strings, all of which are needed, for a caller over MCP.

    A right that names no scope needs a token with the endpoint's ``baseline`` scopes besides: a token is never
    worth more than its owner consented to. No right at all: anyone may.
    """
    rights, baseline = tuple(rights), tuple(baseline)
    if not rights:
        return ALLOWED
    asked = snapshot.derived(("asked", rights, baseline), lambda: _asked(rights, baseline, snapshot))
    if asked.broken:
        return _denied(reasons.BROKEN)
    needed = asked.needed
    if not principal.authenticated:
        # Where no scope that exists would do, a client that logs in would only come back to be refused.
        alternative = _for_whom_nobody_knows(needed, snapshot)
        if alternative is None:
            return _denied(reasons.out_of_reach(needed, snapshot.scopes, snapshot, principal))
        if any(_is_unknown(right, principal, snapshot) for right in asked.others):
            return _denied(reasons.BROKEN)
        return Decision(Outcome.UNAUTHENTICATED, tuple(sorted({*_offered(baseline, snapshot), *alternative})))
    for right in asked.others:
        if answer(right, principal, snapshot) is not Answer.YES:
            return _denied(reasons.lacks(right, principal))
    held = snapshot.close(principal.scopes)
    if all(not held.isdisjoint(clause) for clause in needed):
        return ALLOWED
    return _what_would_help(principal, needed, held, _offered(baseline, snapshot), snapshot)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What right strings come to in a snapshot: clauses of scopes, rights of other kinds, whether one is broken."""

    needed: tuple[tuple[str, ...], ...]
    others: tuple[Right, ...]
    broken: bool


def _asked(rights: Iterable[str], baseline: Iterable[str], snapshot: Snapshot) -> _Asked:
    parsed = [parse(right) for right in rights]
    others = tuple(right for right in parsed if not right.names_scopes)
    needed = [clause for right in parsed if right.names_scopes for clause in right.clauses]
    if others:
        needed.extend((scope,) for scope in baseline)
    return _Asked(tuple(needed), others, any(problem(right, snapshot) for right in parsed))


def _offered(baseline: Iterable[str], snapshot: Snapshot) -> list[str]:
    return [scope for scope in baseline if scope in snapshot.scopes]


def holds_without_token(right: str, user: Any, snapshot: Snapshot) -> bool:
    """Whether a user with a session holds a right: there the right stands alone, and no scope is ever held.

    ``user`` is None, or Django's anonymous one, where nobody is logged in: no right is held then.
    """
    parsed = parse(right)
    if parsed.names_scopes or problem(parsed, snapshot) or not getattr(user, "is_authenticated", False):
        return False
    return answer(parsed, Principal(user=user, authenticated=True), snapshot) is Answer.YES


def _what_would_help(
    principal: Principal,
    needed: Sequence[tuple[str, ...]],
    held: frozenset[str],
    offered: list[str],
    snapshot: Snapshot,
) -> Decision:
    """The refusal of a caller who lacks scopes. What its user may not grant is no help."""
    refused = not_grantable(principal.user, (word for clause in needed for word in clause), snapshot)
    grantable = frozenset(snapshot.scopes) - refused
    if not principal.fixed_scopes:
        may = grantable if principal.may_request is None else grantable & principal.may_request
        alternative = _cheapest(needed, held, snapshot, may)
        if alternative is not None:
            return Decision(Outcome.INSUFFICIENT_SCOPE, tuple(sorted({*offered, *alternative})))
    beyond = _cheapest(needed, held, snapshot, grantable)
    if beyond is None:
        return _denied(reasons.out_of_reach(needed, held | grantable, snapshot, principal))
    outcome = Outcome.FIXED_SCOPES if principal.fixed_scopes else Outcome.BEYOND_CLIENT
    return Decision(outcome, tuple(sorted(beyond - held)))


def _for_whom_nobody_knows(needed: Sequence[tuple[str, ...]], snapshot: Snapshot) -> frozenset[str] | None:
    """What a caller without a token should log in with: scopes that any client may ask for, where those do.

    Else what the call needs all the same: the client may be one that an administrator lets ask for more.
    """
    anyone = frozenset(name for name, scope in snapshot.scopes.items() if scope.self_service)
    alternative = _cheapest(needed, frozenset(), snapshot, anyone)
    return _cheapest(needed, frozenset(), snapshot, None) if alternative is None else alternative


def _is_unknown(right: Right, principal: Principal, snapshot: Snapshot) -> bool:
    return right.foreign and answer(right, principal, snapshot) is Answer.UNKNOWN


def _cheapest(
    clauses: Sequence[tuple[str, ...]], held: frozenset[str], snapshot: Snapshot, may_request: frozenset[str] | None
) -> frozenset[str] | None:
    """The alternative with the fewest scopes still missing, first written wins; None where none can be had."""

    def obtainable(word: str) -> bool:
        return word in held or (word in snapshot.scopes and (may_request is None or word in may_request))

    options = [tuple(word for word in clause if obtainable(word)) for clause in clauses]
    if not all(options):
        return None
    count = 1
    for option in options:
        count *= len(option)
    if count > MAX_COMBINATIONS:
        return frozenset(next((word for word in option if word in held), option[0]) for option in options)
    return min(
        (frozenset(choice) for choice in product(*options)), key=lambda choice: (len(choice - held), len(choice))
    )
