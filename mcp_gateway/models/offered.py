"""What modules offer to clients: the files' columns, and beside them the administrator's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy as _

from mcp_gateway.models.generation import Versioned
from mcp_gateway.models.module import Module
from mcp_gateway.models.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable


class Offered(Versioned):
    """Base of tools, resources and prompts.

    Imported columns are rewritten by every import; ``enabled``, ``required_scopes``, ``rights_from`` and the
    ``*_override`` twins are the administrator's and are never touched by one.
    """

    class Visibility(models.TextChoices):
        """Who sees it."""

        LISTED = "listed", _("listed to everyone")
        AUTHORIZED = "authorized", _("exists only for those who may call it")
        UNLISTED = "unlisted", _("callable, never listed")
        OFF = "off", _("off")

    class RightsFrom(models.TextChoices):
        """Whose rights count."""

        MANIFEST = "manifest", _("the manifest's right alone")
        BOTH = "both", _("the manifest's right and the required scopes")
        ADMINISTRATOR = "administrator", _("the required scopes alone")

    title = models.CharField(_("manifest's title"), max_length=500, blank=True)
    description = models.TextField(_("manifest's description"), blank=True)
    visibility = models.CharField(_("manifest's visibility"), max_length=20, default=Visibility.LISTED)
    extras = models.TextField(_("annotations, icons, _meta"), blank=True, default="{}")
    available = models.BooleanField(
        _("available"),
        default=True,
        help_text=_("Off: no manifest offers it at present. Its history and settings are kept."),
    )
    problem = models.TextField(_("problem"), blank=True)

    enabled = models.BooleanField(_("enabled"), default=True, help_text=_("Off: neither listed nor served."))
    title_override = models.CharField(  # noqa: DJ001
        _("title"),
        max_length=500,
        null=True,
        blank=True,
        help_text=_("Empty: the manifest's."),
    )
    description_override = models.TextField(  # noqa: DJ001
        _("description"),
        null=True,
        blank=True,
        help_text=_("Empty: the manifest's."),
    )
    visibility_override = models.CharField(  # noqa: DJ001
        _("visibility"),
        max_length=20,
        null=True,
        blank=True,
        choices=Visibility.choices,
        help_text=_("Empty: the manifest's."),
    )
    required_scopes = models.ManyToManyField(
        Scope,
        verbose_name=_("required scopes"),
        blank=True,
        related_name="%(class)ss",
        help_text=_("Scopes that it needs, all of them."),
    )
    rights_from = models.CharField(_("rights from"), max_length=20, choices=RightsFrom.choices, default=RightsFrom.BOTH)

    class Meta:
        abstract = True

    @property
    def effective_title(self) -> str:
        """The administrator's title, else the manifest's."""
        return self.title if self.title_override in (None, "") else str(self.title_override)

    @property
    def effective_description(self) -> str:
        """The administrator's description, else the manifest's."""
        return self.description if self.description_override in (None, "") else str(self.description_override)

    @property
    def effective_visibility(self) -> str:
        """Who sees it; ``off`` where it is switched off."""
        return self.Visibility.OFF if not self.enabled else (self.visibility_override or self.visibility)

    def effective_right(self, manifest_rights: Iterable[str], scopes: Iterable[str]) -> tuple[str, ...]:
        """The rights that it needs, all of them: the one place that combines manifest and administrator.

        Parameters: the rights that its module's files name (for a tool those of every listener a call would reach),
        and the names of ``required_scopes``.
        """
        from_manifest = tuple(dict.fromkeys(right for right in manifest_rights if right))
        required = tuple(sorted(scopes))
        from_administrator = (f"oauth2:scope {' '.join(required)}",) if required else ()
        if self.rights_from == self.RightsFrom.MANIFEST:
            return from_manifest
        if self.rights_from == self.RightsFrom.ADMINISTRATOR:
            return from_administrator
        return from_manifest + from_administrator


class Published(Offered):
    """Base of resources and prompts: what a ``*.meta.json`` of a module describes.

    ``content`` is read from the table when a client asks for it, and only by the digest that its snapshot holds; it is
    never part of a snapshot itself.
    """

    module = models.ForeignKey(Module, verbose_name=_("module"), on_delete=models.CASCADE, related_name="%(class)ss")
    file = models.CharField(_("file"), max_length=500, help_text=_("The meta file, below the module's folder."))
    right = models.TextField(_("right"), blank=True)
    arguments = models.TextField(
        _("arguments"), blank=True, default="[]", help_text=_("JSON text: the arguments or variables it describes.")
    )
    content = models.BinaryField(_("content"), null=True)
    content_digest = models.CharField(
        _("content's SHA-256"), max_length=64, blank=True, help_text=_("Empty: a listener answers for it.")
    )
    digest = models.CharField(_("SHA-256"), max_length=64, blank=True)

    class Meta:
        abstract = True
