"""The version number of everything administrators and imports own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import models, router, transaction
from django.db.models import F
from django.utils.translation import gettext_lazy as _

GENERATION_PK = 1

# The number rises by a random step. A worker may load a snapshot inside a transaction that is rolled back
# later; with a step of one the next writer would give that snapshot's number to other rows.
LARGEST_STEP = 1 << 20


class Generation(models.Model):
    """One row whose number rises with every change to modules, listeners, tools, scopes, endpoints and clients.

    Every worker compares it at each request with the number of the snapshot it holds. A writer bumps it
    *after* its rows, in the same transaction: a reader that sees the new number sees the new rows. Code that
    writes with raw SQL, or to the through table of a many-to-many field, calls `Generation.bump` itself.
    """

    number = models.PositiveBigIntegerField(_("number"), default=1)

    class Meta:
        verbose_name = _("generation")
        verbose_name_plural = _("generation")

    def __str__(self) -> str:
        return str(self.number)

    @classmethod
    def bump(cls, using: str | None = None) -> None:
        """Tell every worker to read the tables anew before its next answer."""
        rows = cls._base_manager.using(using or router.db_for_write(cls))
        if not rows.filter(pk=GENERATION_PK).update(number=F("number") + 1 + secrets.randbelow(LARGEST_STEP)):
            rows.get_or_create(pk=GENERATION_PK, defaults={"number": 2})

    @classmethod
    def lock(cls, using: str) -> None:
        """Hold the row until the transaction ends, as every writer does before its first row.

        Imports lock it first and write tools after; a writer that went the other way round could wait for an
        import that waits for it. SQLite has one lock for everything, taken when the transaction begins.
        """
        connection = transaction.get_connection(using)
        if connection.in_atomic_block and connection.features.has_select_for_update:
            rows = cls._base_manager.using(using).filter(pk=GENERATION_PK).select_for_update()
            rows.values_list("pk", flat=True).first()

    @classmethod
    def current(cls, using: str | None = None) -> int:
        """The number now, or 0 where no row exists yet."""
        rows = cls._base_manager.using(using or router.db_for_write(cls)).filter(pk=GENERATION_PK)
        return rows.values_list("number", flat=True).first() or 0


_M = TypeVar("_M", bound=models.Model)


@contextmanager
def _with_its_bump(using: str) -> Iterator[None]:
    """Let rows and number be committed together, also where every statement is its own transaction."""
    if transaction.get_connection(using).in_atomic_block:
        Generation.lock(using)
        yield
    else:
        with transaction.atomic(using=using):
            Generation.lock(using)
            yield


class VersionedQuerySet(models.QuerySet[_M]):
    """A queryset whose bulk writes, which send no signals, bump the generation too."""

    def update(self, **kwargs: Any) -> int:
        self._for_write = True
        with _with_its_bump(self.db):
            count = super().update(**kwargs)
            if count:
                Generation.bump(self.db)
        return count

    update.alters_data = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Any, *args: Any, **kwargs: Any) -> list[_M]:
        self._for_write = True
        with _with_its_bump(self.db):
            made = super().bulk_create(objs, *args, **kwargs)
            if made:
                Generation.bump(self.db)
        return made

    bulk_create.alters_data = True  # type: ignore[attr-defined]

    # `bulk_update` goes through `update`, and `delete` sends a signal for every row.


class Versioned(models.Model):
    """Base of the tables that the in-process snapshot is made of: any write bumps the generation."""

    objects = VersionedQuerySet.as_manager()

    class Meta:
        abstract = True
        # What Django writes on its own, as SET_NULL does, goes through the base manager.
        base_manager_name = "objects"

    def save_base(self, *args: Any, **kwargs: Any) -> None:
        using = kwargs.get("using") or router.db_for_write(type(self), instance=self)
        with _with_its_bump(using):
            super().save_base(*args, **kwargs)


def lock_before_write(sender: type[models.Model], using: str, **kwargs: Any) -> None:
    """Receiver of ``pre_delete`` and ``m2m_changed``, connected in the app's ``ready``."""
    if kwargs.get("action", "pre_").startswith("pre_"):
        Generation.lock(using)


def bump_after_write(sender: type[models.Model], using: str | None = None, **kwargs: Any) -> None:
    """Receiver of ``post_save``, ``post_delete`` and ``m2m_changed``, connected in the app's ``ready``."""
    if kwargs.get("action", "post_").startswith("post_"):
        Generation.bump(using)
