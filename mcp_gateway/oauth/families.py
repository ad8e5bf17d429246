"""Token families: all that was issued from one consent, how it is renewed, and how it ends as a whole.

RFC 9700 section 4.14.2: a refresh token is replaced each time it is used, and one that comes again betrays that two
hold it, so the family ends. Two windows of one client that refresh at the same moment look just like that; within
``ZOLINGA["REFRESH_GRACE_SECONDS"]`` the second gets tokens of its own. RFC 6749 section 4.1.2: an authorization
code that comes again ends what was issued from it.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import router, transaction
from django.db.models import Q
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_grant_model, get_refresh_token_model

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.oauth import audience

# How a stored code begins: no code that oauthlib makes has such a character.
_HASHED = "sha256$"

# What a request that began within the grace may take until it has its lock.
_SLACK = timedelta(minutes=1)


class Reused(Exception):
    """A code or refresh token was used twice; ``family`` is what has to end."""

    def __init__(self, family: uuid.UUID | None) -> None:
        super().__init__("A code or refresh token was used twice.")
        self.family = family


@dataclass(frozen=True, slots=True)
class Origin:
    """What the first refresh token of a family comes from, in the place where the toolkit looks for a predecessor."""

    token_family: uuid.UUID


def stored(code: str) -> str:
    """What the database holds of an authorization code for one of our endpoints: whoever reads it cannot use it."""
    return f"{_HASHED}{_checksum(code)}"


def shown(code: str) -> str:
    """What a code that a client shows is looked up by: as `stored`, or for a code of other clients as it is.

    Something that looks like what is stored was not issued, and is looked up as any other code.
    """
    if code.startswith(_HASHED) or get_grant_model().objects.filter(code=stored(code)).exists():
        return stored(code)
    return code


def family_of(code: str) -> uuid.UUID:
    """The family of an authorization code's tokens: derived from it, so that nothing has to be kept of the code.

    The code may be given as it was issued or as it is `stored`.
    """
    key = code if code.startswith(_HASHED) else stored(code)
    return uuid.UUID(bytes=hashlib.sha256(f"mcp_gateway:code:{key}".encode()).digest()[:16], version=4)


def is_ours(resources: Iterable[str]) -> bool:
    """Whether a code or token is bound to an endpoint of this site."""
    snapshot = registry.snapshot()
    return any(audience.resolve(entry, snapshot) is not None for entry in resources)


def find(refresh_token: str, application_id: Any) -> Any:
    """The row of a client's refresh token if that is bound to one of our endpoints, else None."""
    rows = get_refresh_token_model().objects.filter(
        token_checksum=_checksum(refresh_token), application_id=application_id
    )
    # The toolkit allows a checksum twice: the row that is not revoked counts, then the one that was last.
    row = min(rows, key=lambda row: -row.revoked.timestamp() if row.revoked else float("-inf"), default=None)
    return row if row is not None and is_ours(row.resource or ()) else None


def lock(row: Any) -> Any:
    """The refresh token as it is now, kept from others until the transaction ends; None where it is gone."""
    return get_refresh_token_model().objects.select_for_update().filter(pk=row.pk).first()


@contextmanager
def held(row: Any) -> Iterator[Any]:
    """The refresh token as it is now, which nobody uses until the block ends; None where it is gone."""
    with transaction.atomic(using=router.db_for_write(get_access_token_model())):
        yield lock(row)


def is_in_grace(row: Any) -> bool:
    """Whether a revoked refresh token was only just replaced, and by nothing that was itself replaced or revoked."""
    since = timezone.now() - timedelta(seconds=gateway_settings.refresh_grace_seconds)
    if row.revoked is None or row.revoked <= since:
        return False
    return bool(get_access_token_model().objects.filter(source_refresh_token=row).exists())


def spend(code: str, application: Any) -> None:
    """Take an authorization code out of circulation, within the transaction that stores its tokens.

    Raises `Reused` where another request has taken it.
    """
    deleted, _rows = get_grant_model().objects.filter(code=code, application=application).delete()
    if not deleted:
        raise Reused(family_of(code))


def family_of_token(token: str, application_id: Any) -> uuid.UUID | None:
    """The family of an access or refresh token that a client holds for one of our endpoints."""
    row = find(token, application_id)
    if row is None:
        access_token = get_access_token_model().objects.filter(
            token_checksum=_checksum(token), application_id=application_id
        )
        row = get_refresh_token_model().objects.filter(access_token__in=access_token).first()
    family: uuid.UUID | None = row.token_family if row is not None and is_ours(row.resource or ()) else None
    return family


def revoke_family(family: uuid.UUID | None, application_id: Any = None) -> bool:
    """End a family: no token of it works any more, nor one that is being issued at this moment.

    Parameters: the family; the primary key of the only application whose tokens may be meant. False where there is
    nothing that still worked.
    """
    if family is None:
        return False
    model = get_refresh_token_model()
    using = router.db_for_write(get_access_token_model())
    recent = timezone.now() - timedelta(seconds=gateway_settings.refresh_grace_seconds) - _SLACK
    rows = model.objects.using(using).filter(token_family=family)
    if application_id is not None:
        rows = rows.filter(application_id=application_id)
    with transaction.atomic(using=using):
        # Who issues tokens holds the row it was shown. Waiting for it here lets its tokens be seen below.
        waited = rows.filter(Q(revoked__isnull=True) | Q(revoked__gt=recent)).order_by("pk")
        if not list(waited.select_for_update().values_list("pk", flat=True)):
            return False
        had_life: bool = rows.filter(revoked__isnull=True).exists()
        model.revoke_family(family)
    return had_life


def _checksum(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
