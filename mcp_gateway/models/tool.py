"""Tools: the manifest's columns, and beside them the administrator's."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from mcp_gateway.models.module import Listener
from mcp_gateway.models.offered import Offered


class Tool(Offered):
    """What ``tools/list`` shows under one name."""

    name = models.CharField(_("name"), max_length=128, unique=True)
    listener = models.ForeignKey(
        Listener,
        verbose_name=_("listener"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="tools",
        help_text=_("The first listener with sound schemas; title, description and schemas are its."),
    )
    input_schema = models.TextField(_("input schema"), blank=True)
    output_schema = models.TextField(_("output schema"), blank=True)

    class Meta:
        verbose_name = _("tool")
        verbose_name_plural = _("tools")
        ordering = ("name",)
        permissions = (("override_tool_rights", _("Can let required scopes replace the manifest's right")),)

    def __str__(self) -> str:
        return self.name
