"""Clients whose ID is the https URL of a document that describes them (OAuth Client ID Metadata Document)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, router, transaction
from django.http.request import validate_host
from django.utils import timezone
from oauth2_provider.models import AbstractApplication, get_application_model
from oauth2_provider.settings import oauth2_settings

from mcp_gateway.conf import gateway_settings
from mcp_gateway.conf.registration import APPROVAL, OFF
from mcp_gateway.models import Client, Tally
from mcp_gateway.oauth import client_metadata, registration
from mcp_gateway.oauth.audit import Kind, record
from mcp_gateway.oauth.client_metadata import AuthMethod, ClientMetadata, InvalidMetadata
from mcp_gateway.oauth.fetch import FetchError, checked_url, fetch

logger = logging.getLogger("mcp_gateway")

#: Bytes of a document. The draft's section 6.6 thinks of 5 KB.
MAX_BYTES = 16 * 1024

# What a document may offer: there is no way to agree on a secret (section 4.1 of the draft).
METHODS = (AuthMethod.NONE, AuthMethod.PRIVATE_KEY)

# Seconds before a document that could not be had is tried again, and one that could not be renewed.
_PAUSE = 60

_CIMD = AbstractApplication.RegistrationSource.CIMD


class DocumentRefused(Exception):
    """There is no client by this URL; the text may be shown to whoever sent it."""


def is_document_url(client_id: str) -> bool:
    """Whether a client ID is a URL, and this site reads documents."""
    return client_id[:8].lower() == "https://" and gateway_settings.registration.documents != OFF


def may_be_ours(client_id: str) -> bool:
    """Whether a client ID that nobody has resolved yet may turn out to be a client of ours."""
    if not is_document_url(client_id):
        return False
    return (
        not get_application_model()
        ._default_manager.filter(client_id=client_id)
        .exclude(registration_source=_CIMD)
        .exists()
    )


def resolve(client_id: str, meta: Mapping[str, Any], *, is_new: bool) -> None:
    """Make sure that the application of a document's URL exists, and says what the document says.

    A document is read when its client first comes to the authorization endpoint (``is_new``: anywhere else a client
    that nobody has seen has nothing to show), and again when what its headers allowed is over. If it cannot be read
    again, the client goes on as it was. Raises `DocumentRefused`, and `mcp_gateway.oauth.registration.TooMany`
    where too many new clients came.
    """
    application = get_application_model()._default_manager.filter(client_id=client_id).first()
    if application is None:
        if is_new:
            _introduce(client_id, meta)
    elif application.registration_source == _CIMD and not _is_fresh(application):
        _renew(application, meta)


def _is_fresh(application: Any) -> bool:
    expires = application.cimd_expires_at
    return expires is not None and expires > timezone.now()


def _introduce(client_id: str, meta: Mapping[str, Any]) -> None:
    try:
        _check_id(client_id)
    except DocumentRefused as refusal:
        record(Kind.DOCUMENT_REFUSED, meta, client_id=client_id, detail=str(refusal), once_in=registration.HOUR)
        raise
    failed = f"document failed {client_id}"
    if Tally.is_full(failed):
        raise DocumentRefused(f"It could not be read a moment ago; try again in {_PAUSE} seconds.")
    registration.admit(meta)
    try:
        metadata, expires = _read(client_id)
    except DocumentRefused as refusal:
        Tally.take(failed, limit=1, seconds=_PAUSE)
        record(Kind.DOCUMENT_REFUSED, meta, client_id=client_id, detail=str(refusal))
        raise
    application = get_application_model()(client_id=client_id, registration_source=_CIMD, hash_client_secret=False)
    client = Client(registered_at=timezone.now())
    application.cimd_expires_at = expires
    registration.describe(application, client, metadata)
    try:
        with transaction.atomic(using=router.db_for_write(get_application_model())):
            application.save()
            client.application = application
            registration.store(client, awaits_approval=gateway_settings.registration.documents == APPROVAL)
    except IntegrityError:
        # Another request introduced it at the same moment.
        return
    record(Kind.DOCUMENT_RESOLVED, meta, application=application, detail=" ".join(metadata.redirect_uris))
    registration.clean_now_and_then()


def _renew(application: Any, meta: Mapping[str, Any]) -> None:
    client = Client.objects.filter(application_id=application.pk, registered_at__isnull=False).first()
    if client is None and oauth2_settings.CIMD_ENABLED:
        # It is the toolkit's, which the project has switched on for itself.
        return
    if Tally.take(f"renew {application.client_id}", limit=1, seconds=_PAUSE):
        return
    try:
        _check_id(application.client_id)
        metadata, expires = _read(application.client_id)
    except DocumentRefused as refusal:
        record(Kind.DOCUMENT_REFUSED, meta, application=application, detail=str(refusal), once_in=registration.HOUR)
        return
    application.cimd_expires_at = expires
    known = client or Client(application=application, registered_at=timezone.now())
    registration.describe(application, known, metadata)
    with registration.held(known) as row:
        # An administrator may have deleted it while its server took its time.
        if row is not None:
            registration.save(application)
            registration.update(known)
        elif client is None and _lock(application):
            registration.save(application)
            registration.store(known, awaits_approval=False)


def _lock(application: Any) -> bool:
    """Keep an application from being deleted until the transaction ends; whether it is there."""
    rows = get_application_model()._default_manager.select_for_update().filter(pk=application.pk)
    return rows.first() is not None


def _check_id(client_id: str) -> None:
    """Section 3 of the draft, and the hosts that the site allows."""
    try:
        parts = checked_url(client_id)
    except FetchError as error:
        raise DocumentRefused(str(error)) from None
    if len(client_id) > 255:
        raise DocumentRefused("The URL is longer than 255 characters.")
    if not parts.path.strip("/") or any(
        part in (".", "..") for part in parts.path.lower().replace("%2e", ".").split("/")
    ):
        raise DocumentRefused("The URL must have a path, without “.” and “..” in it.")
    hosts = gateway_settings.registration.document_hosts
    if hosts and not validate_host(str(parts.hostname), list(hosts)):
        raise DocumentRefused(f"This site does not accept clients of {parts.hostname}.")


def _read(client_id: str) -> tuple[ClientMetadata, Any]:
    """What the document says, and until when it may be held."""
    try:
        fetched = fetch(client_id, max_bytes=MAX_BYTES)
    except FetchError as error:
        raise DocumentRefused(str(error)) from None
    document = fetched.document
    if document.get("client_id") != client_id:
        raise DocumentRefused("Its client_id is not the URL it was read from.")
    for member in ("client_secret", "client_secret_expires_at"):
        if member in document:
            raise DocumentRefused(f"It holds {member}, which a public document must not.")
    try:
        metadata = client_metadata.read(document, methods=METHODS, default=AuthMethod.NONE)
    except InvalidMetadata as error:
        raise DocumentRefused(str(error)) from None
    if not metadata.name:
        raise DocumentRefused("It has no client_name.")
    return metadata, timezone.now() + timedelta(seconds=fetched.max_age)


def host_of(client_id: str) -> str:
    """The host that vouches for a client."""
    return urlsplit(client_id).netloc
