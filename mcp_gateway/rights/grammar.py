"""The grammar of a right, the string in a manifest.

::

    right    = provider [ words ]
    provider = "oauth2:scope" / "member of" / "perm" / "authenticated" / "staff" / another word
    words    = clause *( white space clause )          all clauses are needed
    clause   = word *( "|" word )                      one word is enough

``oauth2:scope mcp:tools orders:read|orders:admin`` needs ``mcp:tools`` and one of the other two. A word with
spaces is written in double quotes: ``member of "Support staff"``. For another word than those listed a module may
answer, by listening to ``system:authorize``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

SCOPE = "oauth2:scope"
MEMBER = "member of"
PERMISSION = "perm"
AUTHENTICATED = "authenticated"
STAFF = "staff"

WITH_WORDS = (SCOPE, MEMBER, PERMISSION)
WITHOUT_WORDS = (AUTHENTICATED, STAFF)

# The words of a provider's name may stand any white space apart.
_BEGINNINGS = {provider: re.compile(r"\s+".join(provider.split()) + r"(\s+|$)") for provider in WITH_WORDS}
_PROVIDER = re.compile(r"[^\s\"|]+")
_WORD = re.compile(r'"([^"]*)"|([^\s"|]+)|(\|)|(\s+)|(")')


@dataclass(frozen=True, slots=True)
class Right:
    """A parsed right.

    ``clauses``: all are needed, and of each clause one word. ``problem`` says why the text cannot be
    understood; such a right is held by nobody. ``foreign``: the provider is none of ours, so its problem is one
    only where no module answers for it (`mcp_gateway.rights.providers.problem`).
    """

    text: str
    provider: str
    clauses: tuple[tuple[str, ...], ...] = ()
    problem: str = ""
    foreign: bool = False

    @property
    def names_scopes(self) -> bool:
        """Whether the words are OAuth scopes."""
        return self.provider == SCOPE

    @property
    def scopes(self) -> frozenset[str]:
        """Every scope the right names."""
        return frozenset(word for clause in self.clauses for word in clause) if self.names_scopes else frozenset()


@lru_cache(maxsize=4096)
def parse(text: str) -> Right:
    """Read a right; never raises: what cannot be understood comes back with a ``problem``."""
    stripped = text.strip()
    for provider, beginning in _BEGINNINGS.items():
        head = beginning.match(stripped)
        if head is None:
            continue
        clauses, problem = _clauses(stripped[head.end() :])
        if not problem and not clauses:
            problem = f"“{provider}” needs at least one word after it"
        return Right(text, provider, () if problem else clauses, problem)
    if stripped in WITHOUT_WORDS:
        return Right(text, stripped)
    provider = stripped.split(None, 1)[0] if stripped else ""
    if provider in WITHOUT_WORDS:
        return Right(text, provider, (), f"“{provider}” stands alone")
    if not _PROVIDER.fullmatch(provider):
        return Right(text, provider, (), "it does not begin with the name of a provider")
    clauses, problem = _clauses(stripped[len(provider) :])
    unknown = f"nothing answers for “{provider}”; known are {', '.join((*WITH_WORDS, *WITHOUT_WORDS))}"
    return Right(text, provider, () if problem else clauses, problem or unknown, foreign=not problem)


def is_covered(needed: str, by: Iterable[str]) -> bool:
    """Whether all who hold these rights hold another one too, as far as their texts tell."""
    right, others = parse(needed), [parse(text) for text in by]
    if right.problem or right.provider not in WITH_WORDS:
        return any(other.text.split() == right.text.split() for other in others)
    known = [set(clause) for other in others if other.provider == right.provider for clause in other.clauses]
    return all(any(words.issubset(clause) for words in known) for clause in right.clauses)


def meant_provider(right: Right) -> str:
    """The provider of ours that a foreign one looks like a misspelling of; empty where it looks like none."""
    if not right.foreign:
        return ""
    begins = {provider.split()[0]: provider for provider in (*WITH_WORDS, *WITHOUT_WORDS)}
    words = {**begins, "permission": PERMISSION, "group": MEMBER, "scope": SCOPE}
    close = get_close_matches(right.provider.lower(), words, n=1, cutoff=0.75)
    return words[close[0]] if close else ""


def cure(right: Right) -> str:
    """What to write instead of a foreign right that looks like one of ours; empty where it looks like none."""
    meant = meant_provider(right)
    if meant:
        return f'If "{meant}" is meant, write that.'
    if right.foreign and ":" in right.provider:
        return f'If a scope is meant, write "{SCOPE} {right.text.strip()}".'
    return ""


def _clauses(text: str) -> tuple[tuple[tuple[str, ...], ...], str]:
    clauses: list[tuple[str, ...]] = []
    clause: list[str] = []
    joining = False
    for match in _WORD.finditer(text):
        quoted, bare, bar, space, stray = match.groups()
        if stray:
            return (), "a double quote is not closed"
        if space is not None:
            if clause and not joining:
                rest = text[match.end() :]
                if not rest.startswith("|"):
                    clauses.append(tuple(dict.fromkeys(clause)))
                    clause = []
        elif bar:
            if not clause or joining:
                return (), "a “|” stands without a word before it"
            joining = True
        else:
            word = quoted if quoted is not None else bare
            if not word:
                return (), "a word is empty"
            if clause and not joining:
                return (), "two words stand together without a space or “|”"
            clause.append(word)
            joining = False
    if joining:
        return (), "a “|” stands without a word after it"
    if clause:
        clauses.append(tuple(dict.fromkeys(clause)))
    return tuple(clauses), ""
