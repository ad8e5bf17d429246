"""OAuth scopes, in the administrator's words."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from mcp_gateway.models.generation import Versioned

# RFC 6749 section 3.3: scope-token = 1*( %x21 / %x23-5B / %x5D-7E )
SCOPE_PATTERN = r"\A[\x21\x23-\x5B\x5D-\x7E]+\Z"

DEFAULT_SCOPE = "mcp:tools"

# Who needs a scope, by the names of the relations. Without it their requirement would be gone, and what it guarded
# open; a client whose last allowed scope went would be allowed every one.
NEEDED_BY = ("tools", "resources", "prompts", "baseline_of", "clients")


class Scope(Versioned):
    """One OAuth scope: what it is called, what it lets a client do, who may ask for it.

    The rows are the one source for consent, both metadata documents, rights and challenges. A scope that a
    tool or an endpoint needs cannot be deleted; disabling it closes what needs it.
    """

    name = models.CharField(
        _("name"),
        max_length=255,
        unique=True,
        validators=[
            RegexValidator(
                SCOPE_PATTERN, _("A scope holds visible ASCII characters without spaces, quotes or backslashes.")
            )
        ],
        help_text=_("The word in manifests, tokens and challenges, for example orders:read."),
    )
    description = models.CharField(
        _("consent text"),
        max_length=500,
        blank=True,
        help_text=_("What people read before they allow it, for example “Read your orders”."),
    )
    enabled = models.BooleanField(
        _("enabled"),
        default=True,
        help_text=_("A disabled scope is granted to nobody, and tokens that carry it do not count."),
    )
    is_default = models.BooleanField(
        _("default"), default=False, help_text=_("Granted when a client asks for no scope in particular.")
    )
    advertised = models.BooleanField(
        _("advertised"), default=True, help_text=_("Listed in the metadata documents that clients read.")
    )
    self_service = models.BooleanField(
        _("self-service"), default=False, help_text=_("Clients that registered themselves may ask for it.")
    )
    implies = models.ManyToManyField(
        "self",
        verbose_name=_("implies"),
        symmetrical=False,
        blank=True,
        related_name="implied_by",
        help_text=_("Narrower scopes that a token with this one counts for as well."),
    )
    groups = models.ManyToManyField(
        "auth.Group",
        verbose_name=_("groups"),
        through="ScopeGroup",
        blank=True,
        related_name="mcp_scopes",
        help_text=_("Only their members can grant it. None: everyone can."),
    )

    class Meta:
        verbose_name = _("scope")
        verbose_name_plural = _("scopes")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def needed_by(self, using: str | None = None) -> list[models.Model]:
        """The tools, resources, prompts, endpoints and clients that forbid to delete it."""
        managers = [getattr(self, relation) for relation in NEEDED_BY]
        return [row for manager in managers for row in (manager.using(using) if using else manager.all())]


class ScopeGroup(Versioned):
    """One group whose members may grant a scope.

    Such a group cannot be deleted: with the last one gone, everyone could.
    """

    scope = models.ForeignKey(Scope, verbose_name=_("scope"), on_delete=models.CASCADE)
    group = models.ForeignKey("auth.Group", verbose_name=_("group"), on_delete=models.PROTECT)

    class Meta:
        verbose_name = _("group that may grant it")
        verbose_name_plural = _("groups that may grant it")
        constraints = (models.UniqueConstraint(fields=("scope", "group"), name="mcp_gateway_scope_group"),)

    def __str__(self) -> str:
        return f"{self.scope}: {self.group}"
