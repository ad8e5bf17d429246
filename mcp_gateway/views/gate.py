"""``POST /dist/system/gate``: events of the site's own pages, for whoever is logged in there.

The body is a JSON list of ``{"uuid", "type", "request"}``, the answer a JSON list of ``{"uuid", "type", "origin",
"status", "statusName", "message", "response", "ok"}`` in the same order. Each event has the origin ``remote``, goes
through the listeners whose right the session's user holds, and fails for itself alone. What is wrong with the request
as a whole is one object with ``status``, ``statusName``, ``message`` and ``ok``.
"""

from __future__ import annotations

import json
import logging
import secrets
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError, connections
from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import View
from rest_framework.authentication import CSRFCheck

from mcp_gateway import encoding, registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events import Origin, Status, WebEvent
from mcp_gateway.events.dispatch import FAILED, fail
from mcp_gateway.events.outside import MAX_ECHO, NOTHING, name_problem, receive
from mcp_gateway.protocol import body
from mcp_gateway.protocol.errors import ProtocolError, invalid_request
from mcp_gateway.views import admission

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

    from mcp_gateway.registry import Snapshot

logger = logging.getLogger("mcp_gateway")

JSON = "application/json"

# A page that has more to say says it in several requests.
MAX_EVENTS = 100
MAX_UUID = 100


@method_decorator(csrf_exempt, name="dispatch")
class GateView(View):
    """The gate. It checks the CSRF token itself, whatever the project's middleware does, and answers in JSON.

    The user is the session's (``request.user``, None where nobody is logged in or nothing sets it). No transaction
    is around the request: each handler has its own.
    """

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., Any]:
        """The view function: no transaction around the request, no login page."""
        view: Any = super().as_view(**initkwargs)
        view._non_atomic_requests = frozenset(connections)
        view.login_required = False
        answer: Callable[..., Any] = view
        return answer

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer a request; what breaks on the way is answered in JSON too."""
        try:
            return _respond(_answer(request), 200)
        except _CsrfFailure as failure:
            response = refusal(403, str(failure))
            failure.check.process_response(request, response)
            return response
        except ProtocolError as fault:
            return refusal(fault.status, fault.message, fault.headers)
        except (RequestDataTooBig, SuspiciousOperation):
            return refusal(400, "The request was refused.")
        except (OperationalError, InterfaceError) as error:
            return _failure(request, error, 503, "The database does not answer.", {"Retry-After": "1"})
        except Exception as error:
            return _failure(request, error, 500, "The server failed.")


class _CsrfFailure(Exception):
    """The request does not prove that it comes from one of the site's own pages."""

    def __init__(self, message: str, check: CSRFCheck) -> None:
        super().__init__(message)
        self.check = check


def _answer(request: HttpRequest) -> bytes:
    meta = request.META
    if request.method != "POST":
        raise invalid_request(
            f"The method {request.method!r:.40} is not served here; POST a list of events.",
            status=405,
            headers={"Allow": "POST"},
        )
    admission.check_content(meta)
    admission.check_length(meta)
    _check_csrf(request)
    content = admission.read_body(request)
    items = _items(content)
    if not items:
        return b"[]"
    user = getattr(request, "user", None)
    if user is not None and not user.is_authenticated:
        user = None
    snapshot = registry.snapshot()
    left = gateway_settings.max_result_bytes
    answers = []
    # In UTF-8 half of a surrogate pair can only be an escape.
    escaped = b"\\ud" in content or b"\\uD" in content
    for item in items:
        if escaped and isinstance(item, dict) and not _is_text(item):
            answers.append(_halved(item))
        else:
            answers.append(_handle(item, user, snapshot, left))
        left = max(0, left - len(answers[-1]))
    return b"[" + b",".join(answers) + b"]"


def _check_csrf(request: HttpRequest) -> None:
    """Refuse what another site's page may have sent. The refusal brings the cookie that the next attempt needs."""
    # A middleware wants something that answers; it is asked for its judgment only.
    check = CSRFCheck(HttpResponse)
    check.process_request(request)
    reason = check.process_view(request, HttpResponse, (), {})
    if reason:
        get_token(request)
        header = settings.CSRF_HEADER_NAME.removeprefix("HTTP_").replace("_", "-")
        raise _CsrfFailure(
            f"{reason:.300} Send the CSRF token, which the site's cookie or pages hold, in the header {header}.", check
        )


def _items(content: bytes) -> list[Any]:
    if not content.strip():
        raise invalid_request("The body is empty; send a JSON list of events.")
    value = body.parse(content, max_depth=gateway_settings.max_json_depth, halves=True)
    if not isinstance(value, list):
        raise invalid_request('The body must be a list of events, such as [{"uuid": "1", "type": "shop:list"}].')
    if len(value) > MAX_EVENTS:
        raise invalid_request(f"The body holds {len(value)} events; at most {MAX_EVENTS} go at once.", status=413)
    return value


def _handle(item: Any, user: Any, snapshot: Snapshot, max_bytes: int) -> bytes:
    """The answer to one item, whatever it is."""
    if not isinstance(item, dict):
        event = WebEvent("")
        event.set_status(Status.BAD_REQUEST, "An event is an object with “uuid”, “type” and “request”.")
        return _line(None, "", event, NOTHING)
    uuid, name, request = item.get("uuid"), item.get("type"), item.get("request", {})
    event = WebEvent(name if isinstance(name, str) else "", user=user)
    response = NOTHING
    problem = _uuid_problem(uuid) or name_problem(name)
    if not problem and not isinstance(request, dict):
        problem = "The “request” of an event is an object; leave it out where there is nothing to say."
    if problem:
        event.set_status(Status.BAD_REQUEST, problem)
    else:
        event.request = request
        try:
            response = receive(event, snapshot, max_bytes=max_bytes)
        except (OperationalError, InterfaceError) as error:
            fail(event, error, "The database does not answer.")
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # A panic in Rust or a timeout of gevent in a handler, too: the other events have their answers.
            fail(event, error, FAILED)
    return _line(None if _uuid_problem(uuid) else uuid, name, event, response)


def _halved(item: dict[str, Any]) -> bytes:
    """The answer to an event in which a page cut a text in the middle of a character."""
    event = WebEvent("")
    event.set_status(Status.BAD_REQUEST, "The event holds half of a surrogate pair, which is no character.")
    uuid = item.get("uuid")
    return _line(None if _uuid_problem(uuid) or not _is_text(uuid) else uuid, item.get("type"), event, NOTHING)


def _is_text(value: Any) -> bool:
    """Whether all texts in a value of JSON are characters."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _uuid_problem(uuid: Any) -> str:
    if uuid is None or (isinstance(uuid, str) and len(uuid) <= MAX_UUID):
        return ""
    return f"The “uuid” of an event is a text of at most {MAX_UUID} characters."


def _line(uuid: str | None, name: Any, event: WebEvent, response: bytes) -> bytes:
    shown = name[:MAX_ECHO] if isinstance(name, str) else ""
    return b'{"uuid":%b,"type":%b,"origin":%b,%b,"response":%b,"ok":%b}' % (
        b"null" if uuid is None else encoding.text(uuid),
        encoding.text(shown),
        encoding.text(Origin.REMOTE),
        _status(event.status, event.message),
        response,
        _boolean(event.ok),
    )


def _status(status: Status, message: str) -> bytes:
    return b'"status":%d,"statusName":%b,"message":%b' % (status, encoding.text(status.name), encoding.text(message))


def _boolean(value: bool) -> bytes:
    return b"true" if value else b"false"


def refusal(status: int, message: str, headers: dict[str, str] | None = None) -> HttpResponse:
    """The answer to a request that is no list of events, or may not be one."""
    try:
        name = Status(status)
    except ValueError:
        # A middleware may answer with any status that HTTP has.
        name = Status.BAD_REQUEST if status < 500 else Status.ERROR
    return _respond(b'{%b,"ok":false}' % _status(name, message), status, headers)


def _failure(
    request: HttpRequest, error: Exception, status: int, text: str, headers: dict[str, str] | None = None
) -> HttpResponse:
    incident = secrets.token_hex(6)
    logger.error("A request to %s failed (incident %s)", request.path, incident, exc_info=error)
    return refusal(status, f"{text} The server's log has the details under incident {incident}.", headers)


def _respond(content: bytes, status: int, headers: dict[str, str] | None = None) -> HttpResponse:
    response = HttpResponse(content, status=status, content_type=JSON, headers=headers)
    response["Cache-Control"] = "no-store"
    return response
