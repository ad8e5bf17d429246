"""Tool calls that go on after their answer, as the extension ``io.modelcontextprotocol/tasks`` has them."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from oauth2_provider.settings import oauth2_settings

from mcp_gateway.conf import gateway_settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

# “Task ID unguessability”: 256 random bits.
ID_BYTES = 32

# A task whose worker has given no sign of life for so long is lost. Workers give one every five seconds.
LOST_AFTER = timedelta(seconds=60)

# What a task that has ended has no use for any more; it may hold secrets.
_EMPTIED = {"arguments": "", "answers": "", "questions": "", "waits_for": "", "beat_at": None}


def new_id() -> str:
    """The id of a task that is going to be made."""
    return secrets.token_urlsafe(ID_BYTES)


def digest_of(task_id: str) -> str:
    """What the database knows of an id: for anonymous callers it is all that they need to read a result."""
    return hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()


def _storable(message: str) -> str:
    """A handler's words as every database takes them: without NUL, halves of surrogate pairs as question marks."""
    return message.encode("utf-8", "replace").decode().replace("\0", "")


class ToolTaskQuerySet(models.QuerySet["ToolTask"]):
    """The changes of state. Each is one conditional statement, so that of two that come at once only one counts."""

    def queued(self) -> ToolTaskQuerySet:
        """Those that wait for a worker."""
        return self.filter(status=ToolTask.Status.WORKING, beat_at=None, waits_for="")

    def at_pages(self) -> ToolTaskQuerySet:
        """Those whose user answers a question on a page of the site."""
        return self.filter(status=ToolTask.Status.WORKING).exclude(waits_for="")

    def running(self) -> ToolTaskQuerySet:
        """Those that a worker has taken."""
        return self.filter(status=ToolTask.Status.WORKING, beat_at__isnull=False)

    def unfinished(self) -> ToolTaskQuerySet:
        """Those that are not over."""
        return self.exclude(status__in=ToolTask.TERMINAL)

    def claim(self) -> bool:
        """Take a task for this worker; False where another has it, or where there is nothing to do any more."""
        now = timezone.now()
        return bool(
            self.queued().update(beat_at=now, started_at=Coalesce(F("started_at"), now), expires_at=expiry(now))
        )

    def beat(self, message: str | None = None) -> bool:
        """Say that the worker of a running task is alive, and how far it is; False where it does not run any more."""
        now = timezone.now()
        said = {} if message is None else {"status_message": _storable(message), "updated_at": now}
        return bool(self.running().update(beat_at=now, **said, expires_at=expiry(now)))

    def ask(self, answers: str, questions: str) -> bool:
        """Let a running task wait for its client; False where it does not run any more, or was asked to stop.

        ``answers`` so far and ``questions`` are JSON text.
        """
        now = timezone.now()
        running = self.running().filter(cancel_requested=False)
        changes = {"status": ToolTask.Status.INPUT_REQUIRED, "answers": answers, "questions": questions}
        # How far the handler was said what it did then; now it does nothing.
        idle = {"beat_at": None, "status_message": ""}
        return bool(running.update(**changes, **idle, updated_at=now, expires_at=expiry(now)))

    def wake(self) -> bool:
        """Let a task go on whose user was at a page; False where that is done already, or it is over."""
        now = timezone.now()
        changes = {"waits_for": "", "status_message": "", "updated_at": now, "expires_at": expiry(now)}
        return bool(self.at_pages().update(**changes))

    def finish(self, status: str, outcome: str = "", message: str = "") -> bool:
        """End a task that is not over. ``outcome`` is the result's or the error's JSON text."""
        now = timezone.now()
        changes = {**_EMPTIED, "status": status, "outcome": outcome, "status_message": _storable(message)}
        return bool(self.unfinished().update(**changes, updated_at=now, ended_at=now, expires_at=expiry(now)))

    def cancel(self) -> None:
        """Cancel what does not run, and tell the worker of what does; nothing where the task is over."""
        waiting = self.filter(Q(status=ToolTask.Status.INPUT_REQUIRED) | Q(beat_at=None))
        if not waiting.finish(ToolTask.Status.CANCELLED, message=CANCELLED):
            self.running().filter(cancel_requested=False).update(
                cancel_requested=True, status_message=CANCELLING, updated_at=timezone.now()
            )

    def end_lost(self, error: str) -> int:
        """End those whose worker is gone, and give their number; ``error`` is the JSON-RPC error as JSON text.

        They are not run again: a handler may have done half of what it does.
        """
        lost = self.running().filter(beat_at__lt=timezone.now() - LOST_AFTER)
        cancelled = lost.filter(cancel_requested=True).finish(ToolTask.Status.CANCELLED, message=CANCELLED)
        return cancelled + lost.finish(ToolTask.Status.FAILED, error, LOST)

    def expired(self) -> ToolTaskQuerySet:
        """Those whose time is over."""
        return self.filter(expires_at__lt=timezone.now())


AT_PAGE = "Waiting for the user to answer on the page that was opened."
CANCELLED = "The task was cancelled."
CANCELLING = "The task was asked to stop."
LOST = "The worker that ran the task stopped before it was done. What it did until then is not undone."


def expiry(now: datetime) -> datetime:
    """Until when a task is kept to which something happened now."""
    return now + timedelta(seconds=gateway_settings.task_ttl_seconds)


class ToolTask(models.Model):
    """One tool call that runs, ran or is going to run in a worker.

    Who called is kept as the user, the client and the scopes of the token, never the token; arguments and answers
    are gone once the task is over.
    """

    class Status(models.TextChoices):
        """The extension's own words (“Task Status”)."""

        WORKING = "working", _("working")
        INPUT_REQUIRED = "input_required", _("waiting for the client")
        COMPLETED = "completed", _("completed")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    TERMINAL = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)

    digest = models.CharField(_("SHA-256 of the id"), max_length=64, unique=True, editable=False)
    tool = models.CharField(_("tool"), max_length=128)
    endpoint = models.CharField(_("endpoint"), max_length=50, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
    )
    application = models.ForeignKey(
        oauth2_settings.APPLICATION_MODEL,
        verbose_name=_("application"),
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
    )
    authenticated = models.BooleanField(_("authenticated"), default=False)
    acts_for_itself = models.BooleanField(
        _("the client acts for itself"), default=False, help_text=_("The user is its service user.")
    )
    scopes = models.TextField(_("scopes"), blank=True)
    version = models.CharField(_("protocol version"), max_length=10)
    capabilities = models.TextField(_("client capabilities"), default="{}")
    arguments = models.TextField(_("arguments"), blank=True)
    answers = models.TextField(_("answers"), blank=True)
    questions = models.TextField(_("questions"), blank=True)
    # The keys of pages with questions, a space between two: until they are answered no worker can do anything.
    waits_for = models.TextField(_("pages that its user is at"), blank=True)
    status = models.CharField(_("status"), max_length=20, choices=Status.choices, default=Status.WORKING)
    status_message = models.TextField(_("message"), blank=True)
    outcome = models.TextField(_("result or error"), blank=True)
    cancel_requested = models.BooleanField(_("asked to stop"), default=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended at"), null=True, blank=True)
    beat_at = models.DateTimeField(
        _("last sign of life"), null=True, blank=True, help_text=_("Of the worker that runs it.")
    )
    expires_at = models.DateTimeField(_("expires at"), db_index=True)

    objects = ToolTaskQuerySet.as_manager()

    class Meta:
        verbose_name = _("task")
        verbose_name_plural = _("tasks")
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.tool} {self.created_at:%Y-%m-%d %H:%M:%S}"

    @property
    def over(self) -> bool:
        """Whether the status is a final one."""
        return self.status in self.TERMINAL

    @property
    def silent(self) -> bool:
        """Whether the worker that runs it has given no sign of life for so long that it is lost."""
        return self.beat_at is not None and self.beat_at < timezone.now() - LOST_AFTER

    def answered(self, answers: str, questions: str, *, done: bool, pages: Sequence[str] = ()) -> None:
        """Keep what a client answered, as JSON text; with ``done`` the task waits for a worker again.

        ``pages`` are the keys of those that have to be answered before.
        """
        self.answers, self.questions = answers, questions
        self.status = self.Status.WORKING if done else self.Status.INPUT_REQUIRED
        self.waits_for = " ".join(pages)
        self.status_message = AT_PAGE if pages else ""
        self.updated_at = timezone.now()
        self.expires_at = expiry(self.updated_at)
        self.save(
            update_fields=[
                *("answers", "questions", "status", "waits_for", "status_message"),
                *("updated_at", "expires_at"),
            ]
        )

    def belongs_to(self, *, user: Any, application_id: Any, authenticated: bool) -> bool:
        """Whether a caller is the one who made it: the same user through the same client, or as anonymous."""
        mine = (self.user_id, self.application_id, self.authenticated)
        return mine == (getattr(user, "pk", None), application_id, authenticated)
