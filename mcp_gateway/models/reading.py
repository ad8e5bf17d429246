"""What modules were made of when they were last read."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from mcp_gateway.models.module import Module


class ModuleReading(models.Model):
    """The digests by which an import tells that a module need not be read again; no part of what is served.

    The row can be deleted at any time: the next import reads the module and makes it anew.
    """

    module = models.OneToOneField(
        Module, verbose_name=_("module"), on_delete=models.CASCADE, related_name="reading", primary_key=True
    )
    text = models.TextField(
        _("text"), help_text=_("A digest and the JSON text it is of; mcp_gateway.manifest.readings knows them.")
    )

    class Meta:
        verbose_name = _("reading")
        verbose_name_plural = _("readings")

    def __str__(self) -> str:
        return str(self.module)
