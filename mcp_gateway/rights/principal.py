"""Who is calling, as far as a right is concerned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Principal:
    """The caller of one request.

    ``user`` is a Django user, or None for an anonymous caller and for a token of another issuer that is nobody's here.
    ``scopes`` are those the token was issued with, its client may still ask for and its user still grant.
    ``application_id`` is the OAuth application's primary key, ``client_id`` its public name. ``may_request`` holds
    the scopes the client could still ask for (None: any enabled one). ``authenticated`` is True once a token or a
    session proved who it is. ``acts_for_itself`` says that the token is no user's but the client's own: ``user`` is
    then its service user. ``fixed_scopes`` says that nobody can ask more for the token: it is a personal one.
    """

    user: Any = None
    scopes: frozenset[str] = frozenset()
    client_id: str = ""
    application_id: Any = None
    may_request: frozenset[str] | None = None
    authenticated: bool = False
    acts_for_itself: bool = False
    fixed_scopes: bool = False

    def of(self, user: Any, scopes: frozenset[str]) -> Principal:
        """The same caller with a user and the scopes that this one may still grant."""
        return Principal(
            user,
            scopes,
            self.client_id,
            self.application_id,
            self.may_request,
            self.authenticated,
            self.acts_for_itself,
            self.fixed_scopes,
        )


ANONYMOUS = Principal()
