"""What a request to an MCP endpoint is answered with when it does not work."""

from __future__ import annotations

import logging
import math
import secrets

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from rest_framework import exceptions

from mcp_gateway import registry
from mcp_gateway.oauth import audience, audit
from mcp_gateway.oauth.authentication import InvalidToken
from mcp_gateway.oauth.challenge import INSUFFICIENT_SCOPE, INVALID_TOKEN, challenge
from mcp_gateway.protocol import jsonrpc
from mcp_gateway.protocol.errors import INTERNAL_ERROR, INVALID_REQUEST, ProtocolError, Refused, invalid_request
from mcp_gateway.registry import Snapshot
from mcp_gateway.views.answers import McpResponse, json_response, stream_response
from mcp_gateway.views.exchange import Exchange

logger = logging.getLogger("mcp_gateway")


def fault_of(exchange: Exchange, error: BaseException) -> ProtocolError:
    """The JSON-RPC error that an exception is answered with; its trace is logged where it may be wanted, and let go."""
    try:
        return _fault_of(exchange, error)
    finally:
        # The trace holds the frames with the whole body and all that was made of it, and one of them holds the
        # exception: without this they would stay until garbage is collected.
        passed: BaseException | None = error
        while passed is not None and passed.__traceback__ is not None:
            passed.__traceback__ = None
            passed = passed.__context__


def _fault_of(exchange: Exchange, error: BaseException) -> ProtocolError:
    match error:
        case ProtocolError():
            return error
        case InvalidToken():
            return _invalid_token(exchange, error)
        case exceptions.APIException():
            return _from_framework(exchange, error)
        case PermissionDenied():
            return Refused(403, str(error) or "Permission denied.", challenge=False)
        case OperationalError() | InterfaceError():
            return failure(exchange, error, 503, "The database does not answer.")
        case _:
            return failure(exchange, error)


def failure(
    exchange: Exchange, error: BaseException, code: int = INTERNAL_ERROR, text: str = "The server failed."
) -> ProtocolError:
    """An error of the server's own: the log has the trace, the client a number to ask for."""
    incident = secrets.token_hex(6)
    logger.error("A request to %s failed (incident %s)", exchange.request.path, incident, exc_info=error)
    message = f"{text} The server's log has the details under incident {incident}."
    if code > 0:
        return ProtocolError(code, message, status=code, headers={"Retry-After": "1"})
    return ProtocolError(code, message, status=500, legacy_status=200 if exchange.id is not None else 500)


def answer(exchange: Exchange, fault: ProtocolError) -> McpResponse:
    """The answer that tells of an error, with the challenge where a client can do something about it."""
    status = fault.status_in(modern=exchange.modern)
    told = jsonrpc.error(exchange.id, fault)
    if status == 200 and not exchange.accepted.json:
        return stream_response(told)
    response = json_response(told, status=status, headers=fault.headers)
    if isinstance(fault, Refused) and fault.challenge:
        response["WWW-Authenticate"] = challenge(
            exchange.slug,
            trailing_slash=exchange.request.path.endswith("/"),
            scopes=fault.scopes,
            error=fault.error,
            description=fault.message if fault.error else "",
        )
    if isinstance(fault, Refused) and fault.error == INSUFFICIENT_SCOPE:
        response.after = lambda: _record_refusal(exchange, fault.scopes)
    return response


def _record_refusal(exchange: Exchange, scopes: tuple[str, ...]) -> None:
    """Tell the audit trail of a call that needs more scopes; an agent that tries again and again, once a minute."""
    principal = exchange.principal
    audit.record(
        audit.Kind.INSUFFICIENT_SCOPE,
        exchange.request.META,
        user=principal.user if principal else None,
        client_id=principal.client_id if principal else "",
        application_id=principal.application_id if principal else None,
        resource=audience.canonical_url(exchange.slug),
        scopes=scopes,
        once_in=60,
    )


def _invalid_token(exchange: Exchange, error: InvalidToken) -> ProtocolError:
    snapshot = registry.snapshot(error.generation)
    if exchange.slug not in snapshot.endpoints:
        return invalid_request("There is no MCP endpoint at this address.", status=404)
    return Refused(401, error.description, _offered(snapshot, exchange.slug), error=INVALID_TOKEN)


def _from_framework(exchange: Exchange, error: exceptions.APIException) -> ProtocolError:
    message = str(error.detail) if isinstance(error.detail, str) else "The request was refused."
    if isinstance(error, (exceptions.NotAuthenticated, exceptions.AuthenticationFailed)):
        snapshot = exchange.snapshot or registry.snapshot()
        code = INVALID_TOKEN if error.get_codes() == INVALID_TOKEN else ""
        return Refused(401, message, _offered(snapshot, exchange.slug), error=code)
    status = error.status_code
    wait = getattr(error, "wait", None)
    retry = {} if wait is None else {"Retry-After": str(math.ceil(wait))}
    code_of_status = status if status in (403, 429, 503) else INVALID_REQUEST
    return ProtocolError(code_of_status, message, status=status, headers=retry)


def _offered(snapshot: Snapshot, slug: str) -> tuple[str, ...]:
    """The baseline scopes of an endpoint that a client can get."""
    endpoint = snapshot.endpoints.get(slug)
    return tuple(scope for scope in endpoint.baseline if scope in snapshot.scopes) if endpoint else ()
