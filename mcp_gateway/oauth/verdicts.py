"""What was judged of a token, for as long as the database says the same of it.

Every request reads its token's row; to judge an equal one again would cost more than to read it. A verdict is made of
the row, the snapshot, the endpoint and the settings, and of the time of day only where it expires. Where a project's
own code has a say, which may look at anything, nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from django.contrib.auth import get_user_model
from django.core.signals import setting_changed
from django.db import models
from django.utils import timezone
from oauth2_provider.models import AbstractAccessToken, get_access_token_model, get_application_model

from mcp_gateway import registry
from mcp_gateway.oauth import audience, token_query
from mcp_gateway.oauth.token_query import Row
from mcp_gateway.rights import Principal

# Tokens of which a worker keeps a verdict.
_MOST = 1000


@dataclass(frozen=True, slots=True)
class Verdict:
    """A token that counts: until when, its primary key, and its caller.

    The ``principal`` has no user yet, who is an instance of each request's own, and all scopes that do not depend on
    the user's groups.
    """

    row: Row | None
    snapshot: registry.Snapshot
    expires: datetime
    token_pk: Any
    principal: Principal


# By checksum, slug, and what else the endpoint's URL hangs on; all of one snapshot, or old ones would stay in memory.
_kept: dict[tuple[str | None, ...], Verdict] = {}
_snapshot: registry.Snapshot | None = None


def known(checksum: str, slug: str, row: Row) -> Verdict | None:
    """The verdict on a token at an endpoint, where its row is still the one that was judged."""
    verdict = _kept.get((checksum, slug, *audience.surroundings()))
    if verdict is None or verdict.row != row or verdict.snapshot is not registry.latest():
        return None
    return verdict if timezone.now() < verdict.expires else None


def keep(checksum: str, slug: str, verdict: Verdict) -> None:
    """Remember a verdict, where the row alone decides it."""
    global _snapshot
    if verdict.row is None or not _rows_decide():
        return
    if verdict.snapshot is not _snapshot or len(_kept) >= _MOST:
        _kept.clear()
        _snapshot = verdict.snapshot
    _kept[(checksum, slug, *audience.surroundings())] = verdict


def forget(**kwargs: Any) -> None:
    """Drop all verdicts (settings have changed)."""
    global _snapshot
    _kept.clear()
    _snapshot = None
    _rows_decide.cache_clear()


@cache
def _rows_decide() -> bool:
    user = get_user_model()
    columns = {field.attname for field in user._meta.concrete_fields}
    return (
        not token_query.overrides_is_usable()
        and get_access_token_model().is_expired is AbstractAccessToken.is_expired
        and ("is_active" in columns or getattr(user, "is_active", True) is True)
        and all(map(_is_made_of_its_row, (user, get_access_token_model(), get_application_model())))
    )


def _is_made_of_its_row(model: Any) -> bool:
    django: Any = models.Model
    return model.from_db.__func__ is django.from_db.__func__ and model.__init__ is django.__init__


setting_changed.connect(forget, dispatch_uid="mcp_gateway.oauth.verdicts")
