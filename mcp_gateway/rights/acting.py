"""Whether somebody may let a client or a token act as a user: whoever decides that has all that the user has."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

#: Django's permission to let clients and tokens act as somebody else.
ACT_AS_OTHERS = "mcp_gateway.add_personaltoken"


def acting_problem(administrator: Any, user: Any) -> str:
    """Why an administrator may not let a client or a token act as a user; empty where she may.

    A superuser may always, and anyone as herself. Others need the permission to make personal access tokens for
    others (`ACT_AS_OTHERS`), and all that the user has: rank, groups and permissions. The text may be shown to the
    administrator.
    """
    if is_superuser(administrator) or administrator.pk == user.pk:
        return ""
    if is_superuser(user):
        return gettext("Only a superuser can let a client or a token act as a superuser.")
    if not administrator.has_perm(ACT_AS_OTHERS):
        return gettext(
            "It takes the permission “Can add personal access token” to let a client or a token act as somebody else."
        )
    if _has_more(user, administrator):
        return gettext("This user may do what you may not: only a superuser can let a client or a token act as them.")
    return ""


def is_superuser(user: Any) -> bool:
    """Whether a user may do everything; a project's own user model may know no such rank."""
    return bool(getattr(user, "is_superuser", False))


def _has_more(user: Any, than: Any) -> bool:
    """Whether a user has a rank, a group or a permission that the other has not; nobody knows it of a disabled one."""
    if not getattr(user, "is_active", True):
        return True
    if getattr(user, "is_staff", False) and not getattr(than, "is_staff", False):
        return True
    return not (_groups(user) <= _groups(than) and _permissions(user) <= _permissions(than))


def _groups(user: Any) -> frozenset[Any]:
    # A project's own user model may have no groups, and no permissions.
    own = getattr(user, "groups", None)
    return frozenset(own.values_list("pk", flat=True)) if own is not None else frozenset()


def _permissions(user: Any) -> frozenset[str]:
    every = getattr(user, "get_all_permissions", None)
    return frozenset(every()) if every is not None else frozenset()
