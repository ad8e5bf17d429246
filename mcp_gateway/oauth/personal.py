"""Personal access tokens: named, for one endpoint and a few scopes, shown once, and gone on their day.

They are access tokens of the built-in application “Personal access tokens”, which an administrator can disable, or
limit to some scopes, as any other client.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, router, transaction
from django.db.models import Q
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model

from mcp_gateway import registry
from mcp_gateway.models import PersonalToken
from mcp_gateway.oauth import audience, audit
from mcp_gateway.oauth.issuing import PERSONAL, builtin_application, issue
from mcp_gateway.oauth.scopes import requestable, self_service
from mcp_gateway.rights import not_grantable

logger = logging.getLogger("mcp_gateway")

CLIENT_ID = PERSONAL

APPLICATION_NAME = "Personal access tokens"

#: What every such token begins with, so that those who look for secrets in files find it.
PREFIX = "mcp_pat_"

#: How many days a token may live.
DAYS = (7, 30, 90, 365)

#: How often the use of a token is noted, in seconds: once by each process.
NOTED_EVERY = 3600

_MOST_NOTED = 10_000

# When each token's use is next noted, by the primary key of its row.
_next: dict[Any, float] = {}


def offered(user: Any, snapshot: registry.Snapshot) -> list[str]:
    """The scopes that a user's own page offers for a token, sorted: self-service ones that the user may grant.

    A token that somebody pastes into a program is worth no more than a program that registers itself.
    """
    names = self_service(snapshot).intersection(offered_by_administrators(snapshot))
    return sorted(names - not_grantable(user, names, snapshot))


def offered_by_administrators(snapshot: registry.Snapshot) -> list[str]:
    """The scopes that a token can have at all, sorted: those an administrator leaves the built-in application."""
    application = get_application_model()._default_manager.filter(client_id=CLIENT_ID).first()
    may = requestable(application, snapshot)
    return sorted(name for name in snapshot.scopes if may is None or name in may)


def make(
    *, user: Any, name: str, slug: str, scopes: Iterable[str], days: int, made_by: Any, meta: Mapping[str, Any]
) -> tuple[PersonalToken, str]:
    """Make a token; its text is kept nowhere. Parameters as the form has checked them.

    Raises `mcp_gateway.oauth.issuing.Disabled` where an administrator has disabled such tokens, ``IntegrityError``
    where the user has one of that name.
    """
    text = PREFIX + secrets.token_urlsafe(32)
    scopes = list(scopes)
    application = builtin_application(CLIENT_ID, APPLICATION_NAME)
    with transaction.atomic(using=router.db_for_write(get_access_token_model())):
        row = issue(text, user=user, application=application, scopes=scopes, slug=slug, lifetime=timedelta(days=days))
        token = PersonalToken.objects.create(user=user, name=name, access_token=row)
    by_other = f", made by {made_by.get_username()}" if made_by != user else ""
    audit.record(
        audit.Kind.TOKEN_ISSUED,
        meta,
        user=user,
        application=application,
        resource=audience.canonical_url(slug),
        scopes=scopes,
        detail=f"Personal access token “{name}”{by_other}.",
    )
    return token, text


def revoke(token: PersonalToken, *, revoked_by: Any, meta: Mapping[str, Any]) -> None:
    """End a token; it does not work any more from the next request on."""
    row: Any = token.access_token
    by_other = f", revoked by {revoked_by.get_username()}" if revoked_by != token.user else ""
    token.delete()
    audit.record(
        audit.Kind.REVOKED,
        meta,
        user=token.user,
        application=row.application,
        resource=" ".join(row.resource),
        scopes=row.scope.split(),
        detail=f"Personal access token “{token.name}”{by_other}.",
    )


def note_use(token_pk: Any) -> None:
    """Remember that a token was used now: one statement in an hour, and none that could fail the request."""
    now = time.monotonic()
    if now < _next.get(token_pk, 0.0):
        return
    if len(_next) >= _MOST_NOTED:
        _next.clear()
    _next[token_pk] = now + NOTED_EVERY
    at = timezone.now()
    unnoted = Q(last_used__isnull=True) | Q(last_used__lt=at - timedelta(seconds=NOTED_EVERY // 2))
    try:
        PersonalToken.objects.filter(unnoted, access_token_id=token_pk).update(last_used=at)
    except DatabaseError:
        logger.warning("The use of a personal access token could not be noted.", exc_info=True)


def forget() -> None:
    """Note the next use of every token anew (a test that looks for it calls this)."""
    _next.clear()
