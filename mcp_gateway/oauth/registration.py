"""Clients that register themselves: stored, limited in number, told apart from the administrator's, cleaned up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import router, transaction
from django.utils import timezone
from oauth2_provider.generators import generate_client_secret
from oauth2_provider.models import (
    AbstractApplication,
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_refresh_token_model,
)

from mcp_gateway.conf import gateway_settings
from mcp_gateway.conf.registration import APPROVAL
from mcp_gateway.models import Client, Tally
from mcp_gateway.oauth.address import client_address, network
from mcp_gateway.oauth.audit import Kind, record
from mcp_gateway.oauth.client_metadata import AuthMethod, ClientMetadata

SOURCES = (AbstractApplication.RegistrationSource.DCR, AbstractApplication.RegistrationSource.CIMD)

#: The columns of an application that a client's own word decides.
DESCRIBED = (
    "name",
    "redirect_uris",
    "authorization_grant_type",
    "client_type",
    "client_secret",
    "hash_client_secret",
    "cimd_expires_at",
    "updated",
)

HOUR, DAY = 3600, 24 * 3600

# Clients that one cleaning deletes at most.
_CLEANED = 200


class TooMany(Exception):
    """No more clients for now: answer 429 with ``Retry-After: seconds`` (RFC 6585 section 4)."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many clients have registered; try again in {seconds} seconds.")
        self.seconds = seconds


class Gone(Exception):
    """The client was deleted or disabled while it changed its registration."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A client that was just stored; ``secret`` (empty for none) and ``token`` are nowhere else in the clear."""

    application: Any
    client: Client
    secret: str
    token: str


def registered_itself(application: Any) -> bool:
    """Whether a client made itself known here, so that our rules hold for whatever it asks.

    Clients that a project's own registration let in, before there was a gateway, are the project's.
    """
    if application is None or application.registration_source not in SOURCES:
        return False
    return Client.objects.filter(application_id=application.pk, registered_at__isnull=False).exists()


def awaits_approval(application: Any) -> bool:
    """Whether a client registered itself and nobody has enabled it yet."""
    return Client.objects.filter(application_id=application.pk, enabled=False, awaits_approval=True).exists()


def admit(meta: Mapping[str, Any]) -> None:
    """Count one more new client, for its address and for the site; raises `TooMany` where a limit is reached."""
    policy = gateway_settings.registration
    address = client_address(meta)
    wait = Tally.take(f"register from {network(address)}", limit=policy.per_hour, seconds=HOUR)
    if not wait:
        wait = Tally.take("register", limit=policy.per_day, seconds=DAY)
    if wait:
        record(Kind.THROTTLED, meta, detail="Too many new clients.", once_in=HOUR)
        raise TooMany(wait)


def register(metadata: ClientMetadata) -> Registered:
    """Store a new client, enabled or waiting for approval as the site has it."""
    application = get_application_model()(registration_source=AbstractApplication.RegistrationSource.DCR)
    token = generate_client_secret()
    client = Client(registered_at=timezone.now(), registration_token=_digest(token))
    with transaction.atomic(using=router.db_for_write(get_application_model())):
        secret = _write(application, client, metadata, new_secret=True)
        client.application = application
        store(client, awaits_approval=gateway_settings.registration.dynamic == APPROVAL)
    return Registered(application, client, secret, token)


def change(application: Any, client: Client, metadata: ClientMetadata) -> str:
    """Replace what a client said of itself (RFC 7592 section 2.2); gives its new secret, empty where there is none.

    Raises `Gone`.
    """
    with held(client) as row:
        if row is None or not row.enabled:
            raise Gone
        application.refresh_from_db()
        before = row.auth_method
        secrets = (AuthMethod.BASIC, AuthMethod.POST)
        secret = _write(application, client, metadata, new_secret=before not in secrets)
        update(client)
    return secret


@contextmanager
def held(client: Client) -> Iterator[Client | None]:
    """A client's row as it is now, which nobody deletes or disables until the block ends; None where it is gone.

    To save the application of one that is gone would bring it back, without the row that says what it may do.
    """
    with (
        transaction.atomic(using=router.db_for_write(Client)),
        transaction.atomic(using=router.db_for_write(get_application_model())),
    ):
        yield Client.quietly().select_for_update().filter(pk=client.pk).first()


def update(client: Client) -> None:
    """Store what a client says of itself anew."""
    columns = ("registration", "auth_method", "jwks_uri", "jwks")
    Client.quietly().filter(pk=client.pk).update(**{column: getattr(client, column) for column in columns})


def store(client: Client, *, awaits_approval: bool) -> None:
    """Insert a client's row; one that waits differs from the defaults, so every worker is told."""
    if awaits_approval:
        client.enabled, client.awaits_approval = False, True
        client.save()
    else:
        Client.quietly().bulk_create([client])


def remove(application: Any, client: Client) -> None:
    """Delete a client with its tokens."""
    with held(client):
        client.delete()
        application.delete()


def save(application: Any) -> None:
    """Store what `describe` wrote, and nothing that an administrator may have changed meanwhile.

    A new application is stored whole.
    """
    # Not by the primary key: a project's own may be made before the row is.
    application.save(update_fields=None if application._state.adding else DESCRIBED)


def describe(application: Any, client: Client, metadata: ClientMetadata) -> None:
    """Write what a client says of itself into its two rows, without storing them."""
    application.name = metadata.name
    application.redirect_uris = " ".join(metadata.redirect_uris)
    application.authorization_grant_type = AbstractApplication.GRANT_AUTHORIZATION_CODE
    application.client_type = (
        AbstractApplication.CLIENT_PUBLIC if metadata.is_public else AbstractApplication.CLIENT_CONFIDENTIAL
    )
    client.auth_method = metadata.auth_method
    client.jwks_uri, client.jwks = metadata.jwks_uri, metadata.jwks
    client.registration = json.dumps(metadata.as_registered())


def _write(application: Any, client: Client, metadata: ClientMetadata, *, new_secret: bool) -> str:
    """Describe and save the application; gives the secret that was made for it, if it has one."""
    describe(application, client, metadata)
    has_secret = metadata.auth_method in (AuthMethod.BASIC, AuthMethod.POST)
    secret = ""
    if not has_secret or new_secret:
        application.client_secret = secret = generate_client_secret()
    # What nobody was told needs no slow hash; what somebody was told gets one.
    application.hash_client_secret = has_secret
    save(application)
    return secret if has_secret else ""


def find_by_token(token: str, client_id: str) -> Client | None:
    """The client that a registration access token belongs to (RFC 7592 section 2), disabled or not; None for any
    other client.
    """
    # In one statement: it may be deleted at this very moment.
    rows = Client.objects.select_related("application").filter(registration_token=_digest(token))
    return rows.filter(application__client_id=client_id).first()


def clean_unused() -> int:
    """Delete clients that registered themselves and never got a token; gives how many.

    One that ever got a token stays: programs keep their registration for ever, and never try another. So does one
    that an administrator touched: a disabled client that is gone could come back.
    """
    before = timezone.now() - timedelta(days=gateway_settings.registration.unused_days)
    unused = Client.objects.filter(
        registered_at__lt=before, last_used=None, service_user=None, allowed_scopes=None
    ).exclude(enabled=False, awaits_approval=False)
    found = dict(unused.order_by("registered_at").values_list("application_id", "pk")[:_CLEANED])
    for model in (get_access_token_model(), get_refresh_token_model(), get_grant_model()):
        for pk in model._default_manager.filter(application_id__in=list(found)).values_list(
            "application_id", flat=True
        ):
            found.pop(pk, None)
    with transaction.atomic(using=router.db_for_write(Client)):
        # One that is used at this very moment waits for us, or we for it.
        rows = Client.quietly().select_for_update().filter(pk__in=list(found.values()), last_used=None)
        gone = list(rows.values_list("application_id", flat=True))
        rows.delete()
        get_application_model()._default_manager.filter(pk__in=gone, registration_source__in=SOURCES).delete()
    return len(gone)


def clean_now_and_then() -> None:
    """Clean up once an hour, on the occasion of a registration."""
    if not Tally.take("clean unused clients", limit=1, seconds=HOUR):
        clean_unused()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
