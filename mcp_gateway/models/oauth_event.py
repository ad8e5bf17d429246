"""What happened at the authorization server: who asked, who agreed, what was issued, what was refused."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class OAuthEvent(models.Model):
    """One entry of the audit trail, written by `mcp_gateway.oauth.audit.record`; never a token, code or secret.

    It names people and clients in words, without foreign keys: the trail outlives what it tells about.
    """

    class Kind(models.TextChoices):
        """What happened."""

        REGISTERED = "registered", _("client registered")
        REGISTRATION_CHANGED = "registration_changed", _("registration changed")
        REGISTRATION_REFUSED = "registration_refused", _("registration refused")
        REGISTRATION_DELETED = "registration_deleted", _("registration deleted")
        DOCUMENT_RESOLVED = "document_resolved", _("client document read")
        DOCUMENT_REFUSED = "document_refused", _("client document refused")
        CONSENT_SHOWN = "consent_shown", _("consent asked for")
        CONSENT_GRANTED = "consent_granted", _("consent given")
        CONSENT_DENIED = "consent_denied", _("consent denied")
        TOKEN_ISSUED = "token_issued", _("token issued")
        TOKEN_REFRESHED = "token_refreshed", _("token refreshed")
        REUSE_DETECTED = "reuse_detected", _("token reuse detected")
        REVOKED = "revoked", _("token revoked")
        INSUFFICIENT_SCOPE = "insufficient_scope", _("insufficient scope")
        REFUSED = "refused", _("request refused")
        THROTTLED = "throttled", _("throttled")

    at = models.DateTimeField(_("time"), auto_now_add=True, db_index=True)
    kind = models.CharField(_("what"), max_length=30, choices=Kind.choices)
    user = models.CharField(_("user"), max_length=254, blank=True)
    client_id = models.CharField(_("client ID"), max_length=255, blank=True)
    client_name = models.CharField(_("client"), max_length=255, blank=True)
    resource = models.CharField(_("endpoint"), max_length=2000, blank=True)
    scopes = models.TextField(_("scopes"), blank=True)
    address = models.CharField(_("address"), max_length=45, blank=True)
    detail = models.CharField(_("detail"), max_length=500, blank=True)

    class Meta:
        verbose_name = _("OAuth event")
        verbose_name_plural = _("OAuth events")
        ordering = ("-at", "-pk")

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.get_kind_display()}"
