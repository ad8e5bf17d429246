"""Groups and permissions that rights name: whether they exist, so that somebody can hold the right."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import Group, Permission

from mcp_gateway.rights import Right, parse
from mcp_gateway.rights.grammar import MEMBER, PERMISSION
from mcp_gateway.schemas.faults import shown


def missing(rights: Iterable[str]) -> dict[str, list[str]]:
    """What each right names and the database does not have, as sentences; rights that lack nothing are left out.

    At most two statements, and none where no right is ``member of …`` or ``perm …``.
    """
    parsed = [right for right in map(parse, dict.fromkeys(rights)) if right.provider in (MEMBER, PERMISSION)]
    groups = _groups(_words(parsed, MEMBER))
    permissions = _permissions(_words(parsed, PERMISSION))
    found = {}
    for right in parsed:
        known = groups if right.provider == MEMBER else permissions
        absent = [word for clause in right.clauses for word in clause if word not in known]
        if absent:
            found[right.text] = [_sentence(right, word) for word in absent]
    return found


def _words(rights: Iterable[Right], provider: str) -> set[str]:
    return {word for right in rights if right.provider == provider for clause in right.clauses for word in clause}


def _groups(names: set[str]) -> set[str]:
    return set(Group.objects.filter(name__in=names).values_list("name", flat=True)) if names else set()


def _permissions(names: set[str]) -> set[str]:
    if not names:
        return set()
    codenames = {name.partition(".")[2] for name in names}
    rows = Permission.objects.filter(codename__in=codenames).values_list("content_type__app_label", "codename")
    return {f"{app}.{codename}" for app, codename in rows}


def _sentence(right: Right, word: str) -> str:
    if right.provider == MEMBER:
        return (
            f"The right {shown(right.text)} names the group {shown(word)}, which does not exist: nobody is in it. "
            "Make it in admin."
        )
    if "." not in word:
        return (
            f"The right {shown(right.text)} names the permission {shown(word)} without its app, so that only "
            f"superusers hold it: write {shown(f'app.{word}')}."
        )
    return (
        f"The right {shown(right.text)} names the permission {shown(word)}, which does not exist: only superusers hold "
        "it, and whom an authentication backend of your own gives it to."
    )
