"""What a person has let clients do, and how they take it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import router, transaction
from django.db.models import Min
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_grant_model, get_refresh_token_model

from mcp_gateway import registry
from mcp_gateway.models import PersonalToken
from mcp_gateway.oauth import audience, audit, families, personal
from mcp_gateway.oauth.scopes import GatewayScopes, is_manual


@dataclass(slots=True)
class Connection:
    """One client at one endpoint. ``scopes`` pairs each scope's name with its text.

    ``since`` is when its first token was issued; ``last_used`` when its last one was, which a client that is in use
    gets every quarter of an hour.
    """

    application: Any
    resource: str
    endpoint_title: str
    registered_itself: bool
    since: datetime
    last_used: datetime
    scopes: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What people know the client by."""
        return str(self.application.name or self.application.client_id)


def of(user: Any) -> list[Connection]:
    """The clients that can act for a user now, by name."""
    snapshot = registry.snapshot()
    texts = GatewayScopes().get_all_scopes()
    titles = {audience.canonical_url(slug): entry.title for slug, entry in snapshot.endpoints.items()}
    first = dict(
        get_refresh_token_model()
        .objects.filter(user=user)
        .values_list("application_id")
        .annotate(Min("created"))
        .order_by()
    )
    found: dict[tuple[Any, str], Connection] = {}
    for token in _live(user):
        resource = resource_of(token)
        if not resource:
            continue
        connection = found.get((token.application_id, resource))
        if connection is None:
            connection = found[token.application_id, resource] = Connection(
                application=token.application,
                resource=resource,
                endpoint_title=titles.get(resource, ""),
                registered_itself=not is_manual(token.application),
                since=first.get(token.application_id) or token.created,
                last_used=token.created,
            )
        connection.last_used = max(connection.last_used, token.created)
        connection.since = min(connection.since, token.created)
        connection.scopes.update((name, texts.get(name, name)) for name in sorted(token.scope.split()))
    return sorted(found.values(), key=lambda entry: (entry.name.lower(), entry.resource))


def revoke(user: Any, application_id: Any, resource: str, meta: Mapping[str, Any]) -> bool:
    """Take back what a user let a client do at an endpoint; False where there is nothing to take back."""
    mine = {"user": user, "application_id": application_id}
    grants = [grant.pk for grant in get_grant_model().objects.filter(**mine) if resource_of(grant) == resource]
    refresh_tokens = get_refresh_token_model().objects.filter(**mine, revoked__isnull=True)
    ended = {row.token_family for row in refresh_tokens if resource_of(row) == resource}
    tokens = [
        token for token in _live(user) if (token.application_id, resource_of(token)) == (application_id, resource)
    ]
    if not tokens:
        return False
    with transaction.atomic(using=router.db_for_write(get_access_token_model())):
        get_grant_model().objects.filter(pk__in=grants).delete()
        for family in ended:
            families.revoke_family(family)
        get_access_token_model().objects.filter(pk__in=[token.pk for token in tokens]).delete()
    audit.record(
        audit.Kind.REVOKED,
        meta,
        user=user,
        application=tokens[0].application,
        resource=resource,
        scopes=sorted({name for token in tokens for name in token.scope.split()}),
        detail="By the user.",
    )
    return True


def revoke_all_of(token: Any, meta: Mapping[str, Any]) -> bool:
    """Take back all that the client of a person's access token may do at its endpoint; a personal token by itself.

    False for a token of a project's other clients, which is left as it is.
    """
    made = PersonalToken.objects.filter(access_token=token).select_related("access_token", "user").first()
    if made is not None:
        personal.revoke(made, revoked_by=token.user, meta=meta)
        return True
    if not families.is_ours(token.resource or ()) and not audience.is_switched_off(token.resource or ()):
        return False
    return revoke(token.user, token.application_id, resource_of(token), meta)


def _live(user: Any) -> list[Any]:
    """The access tokens of clients that work, or that a refresh token can replace."""
    model = get_access_token_model()
    renewable = get_refresh_token_model().objects.filter(user=user, revoked__isnull=True, access_token__isnull=False)
    tokens = model.objects.filter(user=user, application__isnull=False).select_related("application")
    tokens = tokens.exclude(application__client_id=personal.CLIENT_ID)
    return [
        *tokens.filter(expires__gt=timezone.now()),
        *tokens.filter(expires__lte=timezone.now(), pk__in=renewable.values("access_token")),
    ]


def resource_of(row: Any) -> str:
    """The endpoint that a token is bound to; empty for a token of a project's other clients."""
    return next((audience.canonicalise(entry) or entry for entry in row.resource or ()), "")
