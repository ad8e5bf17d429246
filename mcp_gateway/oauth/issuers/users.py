"""The user of this site whom a token of another issuer is about."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import DataError

from mcp_gateway.conf.issuers import TrustedIssuer
from mcp_gateway.oauth.issuers.refusals import Untrusted

_MAX_LENGTH = 254


def find_user(claims: dict[str, Any], trusted: TrustedIssuer) -> Any:
    """The user, None for a token that may be without one. One statement, none where no token has a user.

    Raises `Untrusted` for a user who is disabled, and for a token that matches nobody and must. Two users of one
    value are nobody: none of them is the one that was meant.
    """
    if not trusted.user_claim:
        return None
    value = _value(claims, trusted.user_claim)
    user = None if value is None else _look_up(trusted.user_field, value)
    if user is None:
        if trusted.without_user:
            return None
        raise Untrusted("The access token is about nobody who is known here.")
    if not getattr(user, "is_active", True):
        raise Untrusted("The access token's user is disabled.")
    return user


def _value(claims: dict[str, Any], claim: str) -> str | int | None:
    value = claims.get(claim)
    if claim == "email" and claims.get("email_verified", True) is not True:
        # OpenID Connect Core section 5.7: anybody can write anybody's address where nobody looks.
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        return None
    return None if isinstance(value, str) and (len(value) > _MAX_LENGTH or "\0" in value) else value


def _look_up(name: str, value: str | int) -> Any:
    try:
        found = list(get_user_model()._default_manager.filter(**{name: value})[:2])
    except (ValueError, TypeError, OverflowError, ValidationError, DataError):
        # A text where the field holds numbers, for example.
        return None
    if len(found) != 1:
        return None
    held = getattr(found[0], name)
    # Some databases compare without case, and the issuer may tell two apart.
    return None if isinstance(held, str) and held != str(value) else found[0]
