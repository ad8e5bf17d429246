"""MCP endpoints: the resources that access tokens are bound to."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from mcp_gateway.models.generation import Versioned
from mcp_gateway.models.scope import Scope


class Endpoint(Versioned):
    """One MCP URL. The default endpoint has the empty slug and answers at ``mcp`` and ``mcp/``.

    Its path is never stored: it follows from where the project includes ``mcp_gateway.urls``.
    """

    class Access(models.TextChoices):
        """Who may enter."""

        ANYONE = "anyone", _("anyone (a tool with a right needs a token when it is called)")
        TOKEN = "token", _("token required (nothing is answered without one)")

    slug = models.SlugField(_("slug"), max_length=50, unique=True, blank=True, default="")
    title = models.CharField(
        _("title"), max_length=200, default="MCP gateway", help_text=_("What clients show as the server's name.")
    )
    instructions = models.TextField(
        _("instructions"), blank=True, help_text=_("Guidance that clients may hand to the model.")
    )
    access = models.CharField(_("who may enter"), max_length=10, choices=Access.choices, default=Access.ANYONE)
    baseline_scopes = models.ManyToManyField(
        Scope,
        verbose_name=_("baseline scopes"),
        blank=True,
        related_name="baseline_of",
        help_text=_("Scopes a token needs for anything here that is protected at all."),
    )
    all_tools = models.BooleanField(
        _("every tool"), default=True, help_text=_("Off: only the tools that are chosen below exist here.")
    )
    tools = models.ManyToManyField(
        "mcp_gateway.Tool",
        verbose_name=_("tools"),
        blank=True,
        related_name="endpoints",
        help_text=_("Counts where it does not serve every tool. Resources and prompts are at every endpoint."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)

    class Meta:
        verbose_name = _("endpoint")
        verbose_name_plural = _("endpoints")
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.title
