"""Prompts that the files of modules describe."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from mcp_gateway.models.offered import Published

MAX_NAME = 500


class Prompt(Published):
    """What ``prompts/list`` shows under one name. Its content is the JSON text of its messages."""

    name = models.CharField(_("name"), max_length=MAX_NAME, unique=True)

    class Meta:
        verbose_name = _("prompt")
        verbose_name_plural = _("prompts")
        ordering = ("name",)
        permissions = (("override_prompt_rights", _("Can let required scopes replace the file's right")),)

    def __str__(self) -> str:
        return self.name
