"""Counts that all workers share: how often something happened in a stretch of time, and what may happen once only."""

from __future__ import annotations

import hashlib
import math
from datetime import timedelta

from django.db import models, router, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

# Rows of windows that are over, deleted each time a new window begins.
_SWEPT = 100


class Tally(models.Model):
    """How often one thing happened in its current window.

    A row and not an entry of the cache: Django's default cache is each process's own, and a limit that every worker
    counts for itself is none. The database decides between two that come at once.
    """

    key = models.CharField(max_length=64, primary_key=True)
    count = models.PositiveIntegerField(_("count"), default=0)
    ends = models.DateTimeField(_("ends"), db_index=True)

    class Meta:
        verbose_name = _("tally")
        verbose_name_plural = _("tallies")

    def __str__(self) -> str:
        return f"{self.count} until {self.ends:%Y-%m-%d %H:%M:%S}"

    @classmethod
    def take(cls, what: str, *, limit: int, seconds: int) -> int:
        """Count one more of ``what``, if the limit of its window allows it.

        Parameters: ``what``, any text that names the thing counted; ``limit``, how many a window holds; ``seconds``,
        how long a window is, from its first count on. Returns 0 if it was counted, else the seconds (1 or more)
        until the window ends. ``limit=1`` makes a thing that may happen once: a nonce, a warning.
        """
        using = router.db_for_write(cls)
        key = hashlib.sha256(what.encode()).hexdigest()
        now = timezone.now()
        rows = cls._base_manager.using(using)
        # Each statement is whole by itself, so two that come at once are counted one after the other.
        with transaction.atomic(using=using):
            if rows.filter(key=key, ends__gt=now, count__lt=limit).update(count=F("count") + 1):
                return 0
            ends = now + timedelta(seconds=seconds)
            if limit > 0 and rows.filter(key=key, ends__lte=now).update(count=1, ends=ends):
                return 0
            row, made = rows.get_or_create(key=key, defaults={"count": min(limit, 1), "ends": ends})
            if made:
                cls._sweep(using)
                return 0 if limit > 0 else seconds
            # Somebody else began the window between our statements: count in theirs.
            if rows.filter(key=key, ends__gt=now, count__lt=limit).update(count=F("count") + 1):
                return 0
        return max(1, math.ceil((row.ends - now).total_seconds()))

    @classmethod
    def is_full(cls, what: str, *, limit: int = 1) -> bool:
        """Whether the window of ``what`` holds ``limit`` or more, without counting."""
        key = hashlib.sha256(what.encode()).hexdigest()
        rows = cls._base_manager.using(router.db_for_write(cls))
        return rows.filter(key=key, ends__gt=timezone.now(), count__gte=limit).exists()

    @classmethod
    def _sweep(cls, using: str) -> None:
        over = cls._base_manager.using(using).filter(ends__lte=timezone.now()).values_list("pk", flat=True)
        gone = list(over[:_SWEPT])
        if gone:
            cls._base_manager.using(using).filter(pk__in=gone, ends__lte=timezone.now()).delete()
