"""Clients that act for themselves (RFC 6749 section 4.4), each as the service user that an administrator chose."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.utils.translation import gettext
from oauth2_provider.models import AbstractApplication, get_application_model

from mcp_gateway import registry, rights
from mcp_gateway.models import Client
from mcp_gateway.oauth.issuing import BUILTIN
from mcp_gateway.oauth.scopes import MANUAL, is_manual, own_scopes


def service_user(application: Any) -> Any:
    """The user a client acts as where it acts by itself, None where an administrator has named none."""
    client = registry.snapshot().clients.get(application.pk)
    if client is None or client.service_user_id is None:
        return None
    return get_user_model()._default_manager.filter(pk=client.service_user_id).first()


def problem(application: Any, acts_as: Any) -> str:
    """Why a client gets no token by itself, and who can mend it; empty where it gets one.

    Parameters: the application, whose grant is this one; its `service_user`. The text may be shown to the client.
    """
    if not is_manual(application):
        return "A client that registered itself gets no token without a person: use the authorization code flow."
    if not getattr(application.user, "is_active", True):
        return "The owner of this client is disabled."
    if acts_as is None:
        return "This client has no service user to act as: an administrator chooses one in admin, under Clients."
    if not getattr(acts_as, "is_active", True):
        return "The service user of this client is disabled."
    return ""


def acting_problem(administrator: Any, application: Any) -> str:
    """Why an administrator may not let an application act as its service user; empty else.

    Whoever gives a client a secret or a key can act so.
    """
    client = Client.objects.filter(application_id=application.pk).select_related("service_user").first()
    if client is None or client.service_user is None:
        return ""
    return rights.acting_problem(administrator, client.service_user)


def change_problem(administrator: Any, application: Any) -> str:
    """Why an administrator may not change an application at all: as above, and where people are not asked before it
    acts for them, as whoever says where their codes go can act as any of them; empty else.
    """
    if application.skip_authorization and not rights.is_superuser(administrator):
        return gettext("Nobody is asked before this client acts for them: only a superuser can change it.")
    return acting_problem(administrator, application)


def is_machine(application: Any) -> bool:
    """Whether an application's grant is the one for clients that act for themselves."""
    return bool(application.authorization_grant_type == AbstractApplication.GRANT_CLIENT_CREDENTIALS)


def without_service_user() -> QuerySet[Any, Any]:
    """The applications that get no token for want of a service user.

    In a project with scopes of its own those only that an administrator gave a row under *Clients*: others are the
    project's, and may never come to an endpoint.
    """
    machines: QuerySet[Any, Any] = get_application_model()._default_manager.filter(
        authorization_grant_type=AbstractApplication.GRANT_CLIENT_CREDENTIALS, registration_source=MANUAL
    )
    rows = Client.objects.filter(service_user=None, enabled=True)
    wanting = Q(pk__in=list(rows.values_list("application_id", flat=True)))
    if not own_scopes():
        wanting |= ~Q(pk__in=list(Client.objects.values_list("application_id", flat=True)))
    return machines.filter(wanting).exclude(client_id__in=BUILTIN).order_by("pk")
