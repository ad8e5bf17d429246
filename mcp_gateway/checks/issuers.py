"""System checks of ``ZOLINGA["ISSUERS"]``: what is well formed and would still not do what was meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db import DatabaseError, models, router

from mcp_gateway.conf import gateway_settings
from mcp_gateway.conf.issuers import TrustedIssuer
from mcp_gateway.models import Endpoint
from mcp_gateway.registry import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.apps import AppConfig


@register(Tags.security)
def check_issuers(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Every issuer is another one, and its users can be told apart here."""
    messages: list[CheckMessage] = []
    for slug, trusted in _issuers().items():
        where = f'ZOLINGA["ISSUERS"]["{slug}"]'
        if trusted.issuer.rstrip("/") == gateway_settings.public_url:
            messages.append(
                Error(
                    f"{where} names this site itself: its own tokens are not good at the endpoint any more, and there "
                    "are no others.",
                    hint="Remove the entry: the site's own authorization server needs none.",
                    id="mcp_gateway.E012",
                )
            )
        if trusted.user_field:
            messages += _check_field(where, trusted.user_field)
    return messages


@register(Tags.database)
def check_issuer_endpoints(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Every issuer is that of an endpoint."""
    issuers = _issuers()
    if not issuers or router.db_for_write(Endpoint) not in (databases or ()):
        return []
    try:
        endpoints = snapshot().endpoints
    except (DatabaseError, ImproperlyConfigured):
        return []
    return [
        Warning(
            f'ZOLINGA["ISSUERS"] has an issuer for the endpoint “{slug}”, and no enabled endpoint has that slug: '
            "nobody's tokens are judged by it.",
            hint="Write the slug as it stands in admin, under Endpoints, or make the endpoint there.",
            id="mcp_gateway.W018",
        )
        for slug in issuers
        if slug not in endpoints
    ]


def _issuers() -> Mapping[str, TrustedIssuer]:
    try:
        return gateway_settings.issuers if gateway_settings.public_url else {}
    except ImproperlyConfigured:
        # E001 says what is wrong.
        return {}


def _check_field(where: str, name: str) -> list[CheckMessage]:
    user = get_user_model()
    try:
        field: Any = user._meta.get_field(name)
    except FieldDoesNotExist:
        field = None
    if not isinstance(field, models.Field) or field.is_relation:
        return [
            Error(
                f'{where}["USER_FIELD"] is {name!r}, which is no field of {user._meta.label}: every request fails.',
                hint=f'For example: "USER_FIELD": "{user.USERNAME_FIELD}"',
                id="mcp_gateway.E011",
            )
        ]
    alone = [[name], (name,)]
    constraints = [
        entry
        for entry in user._meta.constraints
        if isinstance(entry, models.UniqueConstraint) and list(entry.fields) == [name] and entry.condition is None
    ]
    if field.unique or constraints or any(entry in alone for entry in user._meta.unique_together):
        return []
    return [
        Warning(
            f'{where}["USER_FIELD"] is {name!r}, of which two users may have the same value: then neither can call, '
            "and whoever can change their own takes the place of somebody who has none.",
            hint=f'Name a unique field, for example "{user.USERNAME_FIELD}", or make this one unique.',
            id="mcp_gateway.W017",
        )
    ]
