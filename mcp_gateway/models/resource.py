"""Resources and resource templates that the files of modules describe."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from mcp_gateway.models.offered import Published

MAX_URI = 500


class Resource(Published):
    """What ``resources/list`` shows under one URI, or ``resources/templates/list`` under one template."""

    uri = models.CharField(_("URI"), max_length=MAX_URI, unique=True, help_text=_("A template has {expressions}."))
    is_template = models.BooleanField(_("template"), default=False)
    name = models.CharField(_("name"), max_length=500)
    mime_type = models.CharField(_("MIME type"), max_length=200, blank=True)
    size = models.PositiveBigIntegerField(_("size"), null=True, help_text=_("Of the content, in bytes."))

    class Meta:
        verbose_name = _("resource")
        verbose_name_plural = _("resources")
        ordering = ("uri",)
        permissions = (("override_resource_rights", _("Can let required scopes replace the file's right")),)

    def __str__(self) -> str:
        return self.uri
