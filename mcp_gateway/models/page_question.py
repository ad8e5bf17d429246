"""Questions that a user answers on a page of the site, unseen by the client that the call came from."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models, router
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class PageQuestion(models.Model):
    """A form for one user. Whoever knows its key and is somebody else gets nothing.

    What has expired is swept away when the next one is asked.
    """

    key = models.CharField(_("key"), max_length=32, primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="+"
    )
    client = models.CharField(_("client"), max_length=255, blank=True)
    subject = models.CharField(_("subject"), max_length=500, help_text=_("What asks: the title of a tool."))
    message = models.TextField(_("message"))
    schema = models.TextField(_("form"), help_text=_("JSON Schema text."))
    answer = models.TextField(_("answer"), blank=True, help_text=_("Encrypted."))
    expires_at = models.DateTimeField(_("expires at"), db_index=True)

    class Meta:
        verbose_name = _("question on a page")
        verbose_name_plural = _("questions on pages")

    def __str__(self) -> str:
        return f"{self.subject}: {self.message[:50]}"

    @classmethod
    def rows(cls) -> Any:
        """All of them, in the database that they are written to."""
        return cls._base_manager.using(router.db_for_write(cls))

    @classmethod
    def ask(cls, user: Any, seconds: int, **columns: str) -> str:
        """Put a question to a user for so many seconds; gives its key, 128 random bits."""
        now = timezone.now()
        cls.rows().filter(expires_at__lte=now).delete()
        key = secrets.token_hex(16)
        # A database takes no NUL, and a subject may be a resource's URI.
        lengths = {field.name: field.max_length for field in cls._meta.fields}
        shown = {name: text.replace("\0", "")[: lengths[name]] for name, text in columns.items()}
        cls.rows().create(key=key, user=user, expires_at=now + timedelta(seconds=seconds), **shown)
        return key

    @classmethod
    def open_for(cls, key: str) -> PageQuestion | None:
        """The question of that key, if it has not expired."""
        row: PageQuestion | None = cls.rows().filter(key=key, expires_at__gt=timezone.now()).first()
        return row

    @classmethod
    def keep_open(cls, keys: list[str], seconds: int) -> None:
        """Keep questions, and answers that are needed again, for so many seconds from now on."""
        if keys:
            cls.rows().filter(key__in=keys).update(expires_at=timezone.now() + timedelta(seconds=seconds))

    @classmethod
    def any_open(cls, keys: list[str]) -> bool:
        """Whether any of these may still be answered, and was not."""
        return bool(cls.rows().filter(key__in=keys, answer="", expires_at__gt=timezone.now()).exists())

    @classmethod
    def close(cls, key: str, answer: str) -> bool:
        """Take the answer; False where it was answered before, or is open no more."""
        row = cls.rows().filter(key=key, answer="", expires_at__gt=timezone.now())
        return bool(row.update(answer=answer))

    @classmethod
    def answers(cls, keys: list[str]) -> dict[str, str]:
        """The answers there are, by key."""
        return dict(cls.rows().filter(key__in=keys).exclude(answer="").values_list("key", "answer"))
