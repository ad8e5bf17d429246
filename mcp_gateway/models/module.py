"""Modules and their listeners, as the manifests say."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from mcp_gateway.models.generation import Versioned


class Module(Versioned):
    """A folder with a ``zolinga.json``. Read-only for administrators: the file decides."""

    module_id = models.CharField(_("id"), max_length=200, unique=True)
    name = models.CharField(_("name"), max_length=200, blank=True)
    version = models.CharField(_("version"), max_length=100, blank=True)
    description = models.TextField(_("description"), blank=True)
    app_label = models.CharField(
        _("app"),
        max_length=200,
        blank=True,
        help_text=_("The installed app whose root holds the manifest, if it is one."),
    )
    manifest = models.TextField(_("manifest"), blank=True, help_text=_("The file's JSON, in its order."))
    digest = models.CharField(_("SHA-256"), max_length=64, blank=True)
    autoload = models.TextField(
        _("autoload"), blank=True, default="{}", help_text=_("Class prefixes and their folders, as JSON text.")
    )
    schemes = models.TextField(
        _("schemes"),
        blank=True,
        default="[]",
        help_text=_("URI schemes of its own that clients may see, as JSON text."),
    )
    problem = models.TextField(
        _("problem"), blank=True, help_text=_("Why the manifest could not be read at the last import.")
    )
    present = models.BooleanField(
        _("present"), default=True, help_text=_("Off: the folder is gone; its tools are retired.")
    )
    imported_at = models.DateTimeField(_("imported at"), auto_now=True)

    class Meta:
        verbose_name = _("module")
        verbose_name_plural = _("modules")
        ordering = ("module_id",)

    def __str__(self) -> str:
        return self.module_id


class Listener(Versioned):
    """One entry of a manifest's ``listen``; a refused one keeps its row with its problem.

    Identity: module, event, class, method, sorted origins, and the occurrence among equals.
    Schemas and free-form values are JSON *text* in the file's order.
    """

    module = models.ForeignKey(Module, verbose_name=_("module"), on_delete=models.CASCADE, related_name="listeners")
    event = models.CharField(_("event"), max_length=500)
    class_name = models.CharField(_("class"), max_length=500, blank=True)
    method = models.CharField(_("method"), max_length=200, blank=True)
    origins = models.JSONField(
        _("origins"),
        default=list,
        help_text=_("Where events may come from; without mcp where it is refused as a tool."),
    )
    occurrence = models.PositiveIntegerField(_("occurrence"), default=0)
    identity = models.CharField(_("identity"), max_length=64, unique=True, editable=False)
    position = models.PositiveIntegerField(_("position in the file"), default=0)
    priority = models.FloatField(_("priority"), default=0.5)
    description = models.TextField(_("description"), blank=True)
    title = models.CharField(_("title"), max_length=500, blank=True)
    right = models.TextField(_("right"), blank=True)
    visibility = models.CharField(_("visibility"), max_length=20, default="listed")
    atomic = models.BooleanField(
        _("atomic"),
        null=True,
        help_text=_("Whether it runs in a transaction; empty: unless it runs as a task, or its tool may."),
    )
    task = models.CharField(_("task"), max_length=10, blank=True)
    request_schema = models.TextField(
        _("request schema"), blank=True, help_text=_("Self-contained JSON Schema text; empty: any object.")
    )
    response_schema = models.TextField(
        _("response schema"), blank=True, help_text=_("Self-contained JSON Schema text; empty: none.")
    )
    extras = models.TextField(
        _("annotations, icons, _meta"),
        blank=True,
        default="{}",
        help_text=_("JSON text of what the listing passes through."),
    )
    needs = models.JSONField(
        _("needs"), default=list, blank=True, help_text=_("What a client must be able to do, or it is not run.")
    )
    single_use = models.BooleanField(
        _("answers count once"), default=False, help_text=_("Answers to its questions cannot be sent a second time.")
    )
    digest = models.CharField(_("SHA-256"), max_length=64, blank=True)
    problem = models.TextField(
        _("problem"), blank=True, help_text=_("Why the listener is refused; empty: it is sound.")
    )
    tool_problem = models.TextField(
        _("problem as a tool"),
        blank=True,
        help_text=_("Why it cannot be reached over MCP; it goes on serving its other origins."),
    )

    class Meta:
        verbose_name = _("listener")
        verbose_name_plural = _("listeners")
        ordering = ("module", "position")

    def __str__(self) -> str:
        return f"{self.event} → {self.class_name}::{self.method}"

    @property
    def sound(self) -> bool:
        """Whether the listener can run."""
        return not self.problem
