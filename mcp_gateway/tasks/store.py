"""Making a task, finding the caller's own, clearing away what has expired."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.db import router, transaction
from django.utils import timezone

from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import PageQuestion, ToolTask
from mcp_gateway.models.tool_task import LOST, LOST_AFTER, ToolTaskQuerySet, digest_of, expiry, new_id
from mcp_gateway.rights import Principal
from mcp_gateway.tasks import framework

logger = logging.getLogger("mcp_gateway")

# Rows that one call clears away at most: whoever comes first after a long pause does not pay for all.
CLEARED_AT_ONCE = 200

# What the backend keeps of a job that ended before its task was begun.
QUEUED_AGAIN = "The worker stopped before it began the task, which was put into the queue again."

LOST_ERROR = json.dumps({"code": -32603, "message": LOST})


def tasks() -> ToolTaskQuerySet:
    """All tasks, read where they are written: what one worker wrote, every other sees at once."""
    return ToolTask.objects.using(router.db_for_write(ToolTask))


def can_own(principal: Principal) -> bool:
    """Whether a caller can be told from others later on. One that a project knows by scopes alone cannot."""
    return not principal.authenticated or principal.user is not None or principal.application_id is not None


def create(principal: Principal, **columns: Any) -> tuple[ToolTask, str]:
    """Make a task and put it into the queue; gives it and its id, which is stored nowhere.

    It is there, for whatever process is asked, when this returns (“Task Creation”). ``columns`` are those of
    `ToolTask` that say what is to be run. Raises what the queue raises; then nothing is left behind.
    """
    clear()
    task_id = new_id()
    using = router.db_for_write(ToolTask)
    now = timezone.now()
    task = ToolTask(
        digest=digest_of(task_id),
        user_id=getattr(principal.user, "pk", None),
        application_id=principal.application_id,
        authenticated=principal.authenticated,
        acts_for_itself=principal.acts_for_itself,
        scopes=" ".join(sorted(principal.scopes)),
        created_at=now,
        updated_at=now,
        expires_at=expiry(now),
        **columns,
    )

    def save() -> ToolTask:
        task.save(using=using, force_insert=True)
        return task

    _hand_over(save, undo=lambda: task.delete(using=using))
    return task, task_id


def _hand_over(change: Callable[[], ToolTask | None], undo: Callable[[], object]) -> None:
    """Make a change, and put the task that it gives into the queue: both, or neither.

    ``undo`` takes the change back. Raises what the queue raises.
    """
    using = router.db_for_write(ToolTask)
    together = framework.shares_transaction(using)
    with transaction.atomic(using=using):
        task = change()
        if task is not None and together:
            framework.enqueue(task)
    if task is not None and not together:
        # Another queue would hand the task out before it can be seen.
        try:
            framework.enqueue(task)
        except BaseException:
            undo()
            raise


def find(task_id: str, principal: Principal, endpoint: str) -> ToolTask | None:
    """The caller's task of that id at an endpoint; None for any other, as if it did not exist.

    A task whose worker is gone is ended first, or begun by another where it was not begun yet, and one whose user is
    at no page any more goes on.
    """
    rows = tasks().filter(digest=digest_of(task_id), endpoint=endpoint)
    task = rows.first()
    if task is None or not task.belongs_to(
        user=principal.user, application_id=principal.application_id, authenticated=principal.authenticated
    ):
        return None
    if task.expires_at < timezone.now():
        return None
    # Who polls must not wait for a handler's transaction: only what there is to change is written.
    if task.silent and rows.end_lost(LOST_ERROR):
        logger.error("A task of %s was lost: its worker stopped before it was done", task.tool)
        task.refresh_from_db(using=task._state.db)
    if task.waits_for:
        _wake(task)
        task.refresh_from_db(using=task._state.db)
    if task.updated_at < timezone.now() - LOST_AFTER and rows.queued().exists():
        _queue_again(task)
    return task


def ask(task: ToolTask, kept: Mapping[str, Any], requests: Mapping[str, Any]) -> bool:
    """Let a running task wait for its client; False where it does not run any more, or was asked to stop.

    ``kept`` is what must be known when the handler runs again, ``requests`` are server-to-client requests by the
    handler's keys. A client gets the handler's key, and where that was used before (an answer did not fit) another
    one: no key stands for two requests (“Task Update Requests”).
    """
    used = set(_known(task)["used"])
    opened: dict[str, Any] = {}
    for key, request in requests.items():
        name, number = key, 1
        while name in used:
            number += 1
            name = f"{key}-{number}"
        used.add(name)
        opened[name] = {"key": key, "request": request}
    known = {"open": opened, "used": sorted(used)}
    return tasks().filter(pk=task.pk).ask(json.dumps({"kept": kept, "given": {}}), json.dumps(known))


def open_questions(task: ToolTask) -> dict[str, Any]:
    """The ``inputRequests`` of a task: all that is still to be answered."""
    return {name: question["request"] for name, question in _known(task)["open"].items()}


def answer(
    task: ToolTask, responses: Mapping[str, Any], pages_opened: Callable[[Mapping[str, Any]], list[str]]
) -> None:
    """Take in answers to open questions; with the last one the task goes back to the queue.

    Answers to questions that are not open are ignored (“Task Update Requests”). ``pages_opened`` gives, from all that
    was answered, the keys of the pages that the user has agreed to open: until those are answered too, no worker is
    kept waiting.
    """
    rows = tasks().filter(pk=task.pk)
    before: dict[str, str] = {}

    def take() -> ToolTask | None:
        row = rows.select_for_update().filter(status=ToolTask.Status.INPUT_REQUIRED).first()
        known = _known(row) if row is not None else {"open": {}}
        taken = [name for name in known["open"] if name in responses]
        if row is None or not taken:
            return None
        before.update(answers=row.answers, questions=row.questions)
        answers = json.loads(row.answers)
        for name in taken:
            answers["given"][known["open"].pop(name)["key"]] = responses[name]
        text, done = json.dumps(answers), not known["open"]
        pages = pages_opened(answers) if done else []
        PageQuestion.keep_open(pages, gateway_settings.task_ttl_seconds)
        row.answered(text, json.dumps(known), done=done, pages=pages)
        return row if done and not pages else None

    # What cannot be queued nobody would run: the client hears of that, and may answer again.
    _hand_over(take, undo=lambda: rows.queued().update(status=ToolTask.Status.INPUT_REQUIRED, **before))
    at_pages = rows.at_pages().first()
    if at_pages is not None:
        # The user may have been quicker than the client.
        _wake(at_pages)


def page_answered(key: str) -> None:
    """Let the task go on that waits for the page of that key, if there is one."""
    for task in tasks().at_pages().filter(waits_for__contains=key):
        _wake(task)


def _wake(task: ToolTask) -> None:
    """Let a worker go on with a task once its user is at no page any more: all are answered, or too old.

    What cannot be queued now is when its client next asks for it.
    """
    if PageQuestion.any_open(task.waits_for.split()):
        return
    rows = tasks().filter(pk=task.pk)
    waits_for, message = task.waits_for, task.status_message
    try:
        _hand_over(
            lambda: rows.get() if rows.wake() else None,
            undo=lambda: rows.queued().update(waits_for=waits_for, status_message=message),
        )
    except Exception:
        logger.exception("A task of %s, whose user has answered, cannot be queued", task.tool)


def _queue_again(task: ToolTask) -> None:
    """Put a task that waits for a worker into the queue again where a worker has taken its job, and begun nothing.

    A worker that is there after all either takes the task first or leaves it alone: it runs once. What cannot be
    queued now is when its client next asks for it.
    """
    if not framework.has_database_backend():
        return
    now = timezone.now()
    jobs = _jobs()
    taken = jobs.filter(task_path=framework.RUN, status__in=("RUNNING", "FAILED"), started_at__lt=now - LOST_AFTER)
    taken = taken.exclude(traceback=QUEUED_AGAIN)
    lost = [job for job, given in taken.values_list("pk", "args_kwargs") if given["args"] == [task.pk]]
    if not lost:
        return
    try:
        with transaction.atomic(using=jobs.db):
            # Of two that ask at once one finds it done.
            if taken.filter(pk__in=lost).update(status="FAILED", finished_at=now, traceback=QUEUED_AGAIN):
                logger.error("A task of %s is queued again: its worker stopped before it began it", task.tool)
                framework.enqueue(task)
    except Exception:
        logger.exception("A task of %s, whose worker stopped before it began it, cannot be queued", task.tool)


def _jobs() -> Any:
    """The jobs of the database backend, read where they are written."""
    model: Any = apps.get_model("django_tasks_database", "DBTaskResult")
    return model.objects.using(router.db_for_write(model))


def _known(task: ToolTask) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(task.questions) if task.questions else {"open": {}, "used": []}
    return known


def clear() -> None:
    """Delete some of what has expired, and of the jobs of the database backend that belonged to it."""
    rows = tasks()
    expired = list(rows.expired().order_by("expires_at").values_list("pk", flat=True)[:CLEARED_AT_ONCE])
    if not expired:
        return
    rows.filter(pk__in=expired).expired().delete()
    if apps.is_installed(framework.DATABASE_APP):
        jobs = _jobs()
        ended = timezone.now() - timedelta(seconds=gateway_settings.task_ttl_seconds)
        old = jobs.filter(task_path=framework.RUN, finished_at__lt=ended)
        jobs.filter(pk__in=list(old.values_list("pk", flat=True)[: 2 * CLEARED_AT_ONCE])).delete()
        _end_jobs_of_lost_workers(jobs)


def _end_jobs_of_lost_workers(jobs: Any) -> None:
    """Say of the backend's jobs that have no running task that they failed: their worker cannot, and nobody else does.

    They are not deleted yet: a worker that is there after all could not write how its job went.
    """
    now = timezone.now()
    running = jobs.filter(task_path=framework.RUN, status="RUNNING", started_at__lt=now - LOST_AFTER)
    found = dict(running.order_by("started_at").values_list("pk", "args_kwargs")[:CLEARED_AT_ONCE])
    task_of = {job: arguments["args"][0] for job, arguments in found.items()}
    alive = set(tasks().running().filter(pk__in=task_of.values()).values_list("pk", flat=True))
    lost = [job for job, task in task_of.items() if task not in alive]
    if lost:
        running.filter(pk__in=lost).update(status="FAILED", finished_at=now, traceback=LOST)
