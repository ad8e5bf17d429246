"""What one worker leaves for another, for a short time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import models, router
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Note(models.Model):
    """A blank for a text, under a key that nobody can guess, for one owner to fill in once; or a text at once.

    What has expired is swept away when the next one is left.
    """

    key = models.CharField(_("key"), max_length=64, primary_key=True)
    owner = models.CharField(_("owner"), max_length=64, help_text=_("Digest of who may fill it in."))
    text = models.TextField(_("text"), null=True)  # noqa: DJ001 (an empty text is a text)
    expires_at = models.DateTimeField(_("expires at"), db_index=True)

    class Meta:
        verbose_name = _("note")
        verbose_name_plural = _("notes")

    def __str__(self) -> str:
        return self.key[:8]

    @classmethod
    def _rows(cls) -> Any:
        return cls._base_manager.using(router.db_for_write(cls))

    @classmethod
    def leave(cls, key: str, owner: str, seconds: float) -> None:
        """Leave a blank for so many seconds."""
        cls._rows().create(key=key, owner=owner, expires_at=cls._sweep(seconds))

    @classmethod
    def put(cls, key: str, seconds: float) -> None:
        """Leave an empty text for so many seconds, once."""
        cls._rows().get_or_create(key=key, defaults={"owner": "", "text": "", "expires_at": cls._sweep(seconds)})

    @classmethod
    def _sweep(cls, seconds: float) -> datetime:
        """Take away what has expired; gives the time in so many seconds."""
        now = timezone.now()
        cls._rows().filter(expires_at__lte=now).delete()
        return now + timedelta(seconds=seconds)

    @classmethod
    def fill(cls, key: str, owner: str, text: str) -> bool:
        """Fill a blank in; False where there is none for this owner, or no more."""
        blank = cls._rows().filter(key=key, owner=owner, text=None, expires_at__gt=timezone.now())
        return bool(blank.update(text=text))

    @classmethod
    def collect(cls, keys: list[str]) -> dict[str, str]:
        """The texts that have been filled in, by key."""
        return dict(cls._rows().filter(key__in=keys, text__isnull=False).values_list("key", "text"))

    @classmethod
    def discard(cls, keys: list[str]) -> None:
        """Take notes away."""
        cls._rows().filter(key__in=keys).delete()
