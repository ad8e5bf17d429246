"""The history of imports."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class ImportRun(models.Model):
    """One run of ``import_manifests``: who, when, where, what it planned and how it ended."""

    class Outcome(models.TextChoices):
        """How the run ended."""

        APPLIED = "applied", _("applied")
        NOTHING = "nothing", _("nothing to do")
        REFUSED = "refused", _("refused")
        FAILED = "failed", _("failed")

    started_at = models.DateTimeField(_("started at"), auto_now_add=True)
    started_by = models.CharField(_("started by"), max_length=200, blank=True)
    host = models.CharField(_("host"), max_length=200, blank=True)
    folders = models.JSONField(_("folders"), default=list)
    outcome = models.CharField(_("outcome"), max_length=20, choices=Outcome.choices)
    plan = models.TextField(_("plan"), blank=True, help_text=_("The report as JSON text."))
    refused = models.PositiveIntegerField(_("refused"), default=0)

    class Meta:
        verbose_name = _("import run")
        verbose_name_plural = _("import runs")
        ordering = ("-started_at", "-pk")

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M} {self.outcome}"
