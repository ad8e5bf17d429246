"""The audit trail: one function that writes an entry, and what writes those about tokens."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, router, transaction
from django.utils import timezone
from oauth2_provider.models import get_application_model

from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import OAuthEvent, Tally
from mcp_gateway.oauth.address import client_address

logger = logging.getLogger("mcp_gateway")

Kind = OAuthEvent.Kind

# Entries after which old ones are looked for.
_SWEEP_EACH = 200


def record(
    kind: OAuthEvent.Kind,
    meta: Mapping[str, Any] | None = None,
    *,
    user: Any = None,
    application: Any = None,
    client_id: str = "",
    application_id: Any = None,
    resource: str = "",
    scopes: Iterable[str] = (),
    detail: str = "",
    once_in: int = 0,
) -> None:
    """Write one entry. What cannot be written is logged and keeps nobody from going on.

    Parameters: ``meta``, the request's ``META``, for the caller's address; ``user`` and ``application``, whoever
    they are (``client_id`` for a client that has no application, ``application_id`` beside it for one whose name is
    to be looked up); ``resource``, the endpoint's URL; ``detail``, a
    sentence for administrators. With ``once_in`` only the first of equal entries within that many seconds is
    written: for what a client can repeat as often as it likes. Never give it a token, a code or a secret.
    """
    entry = OAuthEvent(
        kind=kind,
        user=_cut("user", user.get_username() if user is not None and user.pk is not None else ""),
        client_id=_cut("client_id", getattr(application, "client_id", "") or client_id),
        client_name=_cut("client_name", getattr(application, "name", "")),
        resource=_cut("resource", resource),
        scopes=" ".join(scopes)[:4000],
        address=client_address(meta) if meta is not None else "",
        detail=_cut("detail", detail),
    )
    using = router.db_for_write(OAuthEvent)
    try:
        with transaction.atomic(using=using):
            told = (kind, entry.user, entry.client_id, entry.resource, entry.scopes, entry.address, entry.detail)
            if once_in and Tally.take(f"event {told!r}", limit=1, seconds=once_in):
                return
            if application_id is not None:
                known = get_application_model()._default_manager.filter(pk=application_id)
                entry.client_name = _cut("client_name", known.values_list("name", flat=True).first() or "")
            entry.save(using=using)
            if entry.pk % _SWEEP_EACH == 0:
                _sweep(using)
    except DatabaseError:
        logger.exception("The OAuth event “%s” could not be written.", kind)


def _sweep(using: str) -> None:
    """Delete what is older than ``ZOLINGA["AUDIT_DAYS"]``, some at a time."""
    before = timezone.now() - timedelta(days=gateway_settings.audit_days)
    old = OAuthEvent.objects.using(using).filter(at__lt=before).order_by("at").values_list("pk", flat=True)
    OAuthEvent.objects.using(using).filter(pk__in=list(old[: 2 * _SWEEP_EACH])).delete()


def _cut(field: str, text: Any) -> str:
    """Text that its column holds: no NUL, which PostgreSQL refuses, and no longer than it may be."""
    column: Any = OAuthEvent._meta.get_field(field)
    return str(text).replace("\0", "")[: column.max_length]
