"""What the gateway knows about an OAuth client beside its django-oauth-toolkit application."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models, router
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from oauth2_provider.settings import oauth2_settings

from mcp_gateway.models.generation import Versioned
from mcp_gateway.models.scope import Scope


class Client(Versioned):
    """A side row of one application; an application without one has the defaults: enabled, every scope.

    The application model itself is never swapped: that cannot be done in a migrated project.
    """

    class AuthMethod(models.TextChoices):
        """Client authentication at the token endpoint (RFC 7591 section 2, OpenID Connect Core section 9)."""

        NONE = "none", _("none: it is public")
        BASIC = "client_secret_basic", _("secret in the Authorization header")
        POST = "client_secret_post", _("secret in the body")
        PRIVATE_KEY = "private_key_jwt", _("signature with its own key")

    application = models.OneToOneField(
        oauth2_settings.APPLICATION_MODEL,
        verbose_name=_("application"),
        on_delete=models.CASCADE,
        related_name="mcp_client",
    )
    enabled = models.BooleanField(
        _("enabled"), default=True, help_text=_("Tokens of a disabled client stop working at the next request.")
    )
    allowed_scopes = models.ManyToManyField(
        Scope,
        verbose_name=_("allowed scopes"),
        blank=True,
        related_name="clients",
        help_text=_("None chosen: every scope."),
    )
    service_user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("service user"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Whom a client that acts for itself acts as."),
    )
    awaits_approval = models.BooleanField(
        _("awaits approval"),
        default=False,
        editable=False,
        help_text=_("It registered itself, and nobody has enabled it yet."),
    )
    registered_at = models.DateTimeField(_("date of registration"), null=True, blank=True, editable=False)
    registration = models.TextField(
        _("registration"), blank=True, editable=False, help_text=_("What the client said of itself, as JSON text.")
    )
    # The SHA-256 of the registration access token (RFC 7592): whoever reads the database cannot use it.
    registration_token = models.CharField(max_length=64, blank=True, editable=False, db_index=True)
    auth_method = models.CharField(
        _("authentication"),
        max_length=30,
        choices=AuthMethod.choices,
        blank=True,
        help_text=_("How it proves itself at the token endpoint. Empty: by its secret, if it is confidential."),
    )
    jwks_uri = models.CharField(
        _("address of its keys"), max_length=2000, blank=True, help_text=_("The https URL of a JSON Web Key Set.")
    )
    jwks = models.TextField(
        _("keys"), blank=True, help_text=_("Its public keys as a JSON Web Key Set, where they have no address.")
    )
    last_used = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("client")
        verbose_name_plural = _("clients")

    def __str__(self) -> str:
        return str(self.application)

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.enabled:
            self.awaits_approval = False
        super().save(*args, **kwargs)

    @classmethod
    def quietly(cls) -> models.QuerySet[Client]:
        """Rows to write without telling every worker to read its tables anew.

        For columns that the snapshot does not hold, and for new rows with the defaults, which say what a missing
        row says. Everything else goes through ``objects``.
        """
        return models.QuerySet(cls, using=router.db_for_write(cls))

    @classmethod
    def was_used(cls, application_id: Any) -> None:
        """Note that an application got a token now; one without a row has nowhere to note it."""
        cls.quietly().filter(application_id=application_id).update(last_used=timezone.now())
