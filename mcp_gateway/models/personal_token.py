"""Personal access tokens: what people put into a developer tool that cannot log in by itself."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from oauth2_provider.settings import oauth2_settings


class PersonalToken(models.Model):
    """The name of an access token that somebody made by hand.

    Scopes, endpoint, expiry and the token's SHA-256 are those of the toolkit's own row, so that every check of a
    token holds for these too. The row goes with the token, and the token with the row.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.CASCADE,
        related_name="+",
        help_text=_("Whom the token acts as."),
    )
    name = models.CharField(
        _("name"), max_length=100, help_text=_("What it is for, for example “Editor on my laptop”.")
    )
    access_token = models.OneToOneField(
        oauth2_settings.ACCESS_TOKEN_MODEL,
        verbose_name=_("access token"),
        on_delete=models.CASCADE,
        related_name="mcp_personal_token",
        editable=False,
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    last_used = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("personal access token")
        verbose_name_plural = _("personal access tokens")
        ordering = ("-created", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("user", "name"),
                name="mcp_gateway_personal_token_name",
                violation_error_message=_("There is a token of this name already."),
            ),
        )

    def __str__(self) -> str:
        return self.name

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Revoke it: the token's row goes, and takes this one along."""
        deleted: tuple[int, dict[str, int]] = self.access_token.delete(*args, **kwargs)
        return deleted
