"""Taking an event through its listeners: order, rights, transactions, failures."""

from __future__ import annotations

import inspect
import logging
import secrets
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from asgiref.sync import async_to_sync
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.http import Http404
from rest_framework.exceptions import APIException

from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.asking import Asked, Asking, CannotAsk
from mcp_gateway.events.background import Left
from mcp_gateway.events.event import Event, RequestResponseEvent
from mcp_gateway.events.handlers import HandlerNotFound, load_handler
from mcp_gateway.events.questions import Unanswered
from mcp_gateway.events.status import Status
from mcp_gateway.events.transactions import Rollback, in_transactions
from mcp_gateway.registry import ListenerEntry

logger = logging.getLogger("mcp_gateway")

Handler = Callable[[Any], Any]

FAILED = "The handler failed."
LACKING = "This server process does not have the tool's code; new code comes with a restart."
BROKEN = "The tool's code cannot be loaded."


def dispatch(
    event: Event,
    listeners: Iterable[ListenerEntry],
    *,
    may_run: Callable[[ListenerEntry], bool] | None = None,
    accept: Callable[[], bool] | None = None,
    refuse: Callable[[Sequence[ListenerEntry]], str] | None = None,
) -> None:
    """Take the event through the listeners, in the given order, until one stops it.

    ``may_run`` says whether the caller holds a listener's right; those it does not are skipped, and if none may
    run the event ends FORBIDDEN. ``refuse`` is asked once, before any runs, about those that may: a text says why
    the request fits none of them, and the event ends BAD_REQUEST. ``accept`` is asked once, inside the transaction
    of the listener that ran last, if all went well: False rolls that transaction back. Never raises for what a
    handler does: an exception becomes a status, ``sys.exit()`` too. Only ``KeyboardInterrupt`` and its kind go on to
    whoever sent them. A listener that asks the client, or goes on in the background, ends the run without a status:
    nothing is kept of what it and those before it wrote, and the event holds the questions, or says that it left.
    """
    reached = list(listeners)
    try:
        running = [listener for listener in reached if may_run is None or may_run(listener)]
        problem = refuse(running) if refuse is not None and running else ""
    except Exception as error:
        fail(event, error, "The event could not be judged.")
        return
    if reached and not running:
        event.set_status(Status.FORBIDDEN, "You may not do this.")
        return
    if problem:
        event.set_status(Status.BAD_REQUEST, problem)
        return
    if len(running) > 1 and isinstance(event, Asking) and event.conversation.capabilities:
        _run_as_one(event, running, accept)
    else:
        _run_all(event, running, accept)


def _run_all(event: Event, running: Sequence[ListenerEntry], accept: Callable[[], bool] | None) -> None:
    for index, listener in enumerate(running):
        _run(event, listener, accept, last=index == len(running) - 1)
        if event.propagation_stopped:
            break


def _run_as_one(event: Event, running: Sequence[ListenerEntry], accept: Callable[[], bool] | None) -> None:
    """Run several listeners of which one may ask: all of them run again, so what the first wrote must not be kept.

    Where one of them wants no transaction there is none around them all, either.
    """
    atomic = all(listener.in_transaction(event.in_background) for listener in running)
    aliases = gateway_settings.atomic_databases if atomic else ()
    try:
        with in_transactions(aliases):
            _run_all(event, running, accept)
            if (event.questions or event.left) and aliases:
                raise Rollback
    except Rollback:
        pass
    except Exception as error:
        # What the database only finds out at the end.
        fail(event, error, FAILED)


def _run(event: Event, listener: ListenerEntry, accept: Callable[[], bool] | None, *, last: bool) -> None:
    event._said = Status.UNDETERMINED
    event.keep_changes = False
    try:
        handler = load_handler(listener.module, listener.class_name, listener.method)
        aliases = gateway_settings.atomic_databases if listener.in_transaction(event.in_background) else ()
        with in_transactions(aliases) as transactions:
            _call(event, handler)
            if event.questions or event.left:
                # The handler swallowed what was to end it.
                raise Left(event) if event.left else Asked(event)
            ended = last or event.propagation_stopped
            refused = event._said >= 400 or (ended and accept is not None and event.ok and not accept())
            if refused and not event.keep_changes and aliases:
                raise Rollback
            transactions.check()
    except Rollback:
        pass
    except (Asked, Left) as interrupted:
        if interrupted.event is not event:
            raise
        event.stop_propagation()
    except HandlerNotFound as missing:
        fail(event, missing, LACKING if missing.__cause__ is None else BROKEN)
    except (SystemExit, GeneratorExit, CancelledError) as leaving:
        fail(event, leaving, FAILED)
    except Exception as error:
        try:
            _explain(event, error)
        except Exception:
            # The exception cannot even say what it is.
            fail(event, error, FAILED)


def _call(event: Event, handler: Handler) -> None:
    value = handler(event)
    if value is None:
        return
    if inspect.isawaitable(value):
        value = async_to_sync(_await)(value)
        if value is None:
            return
    if isinstance(event, RequestResponseEvent):
        event.response = value
        if event.status is Status.UNDETERMINED:
            event.set_status(Status.OK, "OK")


async def _await(value: Any) -> Any:
    return await value


def _explain(event: Event, error: Exception) -> None:
    """Turn a handler's exception into a status: Django's and DRF's own keep their message, the rest none."""
    if isinstance(error, ValidationError):
        _override(event, Status.BAD_REQUEST, _validation_text(error))
    elif isinstance(error, PermissionDenied):
        _override(event, Status.FORBIDDEN, str(error) or "You may not do this.")
    elif isinstance(error, (Http404, ObjectDoesNotExist)):
        _override(event, Status.NOT_FOUND, str(error) or "Not found.")
    elif isinstance(error, APIException):
        try:
            status = Status(error.status_code)
        except ValueError:
            status = Status.BAD_REQUEST if error.status_code < 500 else Status.ERROR
        _override(event, status, _detail(error.detail))
    elif isinstance(error, CannotAsk):
        event.unasked = error.needs
        _override(event, Status.NOT_IMPLEMENTED, str(error))
    elif isinstance(error, Unanswered):
        _override(event, Status.BAD_GATEWAY, str(error))
    else:
        fail(event, error, FAILED)


def fail(event: Event, error: BaseException | str, text: str) -> str:
    """End an event as an error of the server: a fixed text and an incident id; the trace goes to the log.

    Returns the incident id that both the log and the caller see.
    """
    incident = secrets.token_hex(6)
    logger.error(
        "%s failed (incident %s): %s",
        event.type,
        incident,
        error if isinstance(error, str) else _named(error),
        exc_info=error if isinstance(error, BaseException) else None,
    )
    _override(event, Status.ERROR, f"{text} The server's log has the details under incident {incident}.")
    return incident


def _named(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _override(event: Event, status: Status, message: str) -> None:
    """A failure is final: unlike a listener's own word it is not outvoted by an earlier success.

    What response and content held until then is half of something, and goes nowhere.
    """
    event.status, event.message = status, message
    event.stop_propagation()
    if isinstance(event, RequestResponseEvent):
        event.response, event.content = {}, []


def _validation_text(error: ValidationError) -> str:
    if hasattr(error, "error_dict"):
        return " ".join(f"{field}: {' '.join(messages)}" for field, messages in error.message_dict.items())
    return " ".join(str(message) for message in error.messages)


def _detail(detail: Any) -> str:
    if isinstance(detail, dict):
        return " ".join(f"{key}: {_detail(value)}" for key, value in detail.items())
    if isinstance(detail, (list, tuple)):
        return " ".join(_detail(value) for value in detail)
    return str(detail)
