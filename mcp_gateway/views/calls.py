"""Doing what a method has still to do: on the request's thread, or on one of its own while a stream is open."""

from __future__ import annotations

from contextlib import suppress
from contextvars import copy_context
from time import monotonic
from typing import TYPE_CHECKING

from django.core.cache import caches
from django.core.handlers.asgi import ASGIRequest

from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.channel import NOWHERE
from mcp_gateway.protocol import jsonrpc, talking
from mcp_gateway.protocol.methods import cancelling, tool_calls
from mcp_gateway.streams import Outlet, Pace, Running
from mcp_gateway.views import faults
from mcp_gateway.views.answers import McpResponse, OpenResponse, json_response, stream_response

if TYPE_CHECKING:
    from mcp_gateway.protocol.jsonrpc import Message, RequestId
    from mcp_gateway.protocol.methods import Work
    from mcp_gateway.protocol.methods.subscriptions import Subscription
    from mcp_gateway.views.exchange import Exchange


def run(exchange: Exchange, message: Message, request_id: RequestId, work: Work) -> McpResponse | OpenResponse:
    """The answer of a method that has work to do. Raises what the work raises while nothing was sent."""
    seconds = gateway_settings.keep_alive_seconds
    streams = exchange.accepted.stream and bool(seconds)
    outlet = Outlet()
    channel: talking.CallChannel | None = None
    wants_to_hear = False
    if streams:
        meta = message.meta or {}
        token, level = talking.progress_token(meta), talking.log_level(meta, modern=exchange.modern)
        wants_to_hear = token is not None or (exchange.modern and level is not None) or exchange.session is not None
        channel = talking.CallChannel(outlet, token=token, level=level)
    pace = Pace() if wants_to_hear else _pace_of(exchange, message)
    if not isinstance(exchange.request, ASGIRequest):
        # In a copy of the context each call would make them anew, and connect anew. (There, each request does.)
        # What is wrong with one is told to whoever uses it.
        with suppress(Exception):
            caches.all()
    begun = monotonic()
    stays = channel is not None and pace.enter(begun, seconds)
    if channel is None or stays:
        try:
            # In a copy, as on a thread of its own: a language that a handler activates is not the next request's.
            answer = jsonrpc.result(request_id, copy_context().run(work, channel or NOWHERE))
        finally:
            if stays:
                pace.leave(begun)
            said = outlet.take()
            pace.note(monotonic() - begun, seconds, said=bool(said))
        return _whole(exchange, answer, said)
    talk = channel
    if exchange.session is not None:
        work = cancelling.cancellable(work, talk, request_id, exchange.known()[2], exchange.session)
    running = Running(
        outlet,
        lambda: jsonrpc.result(request_id, work(talk)),
        lambda error: jsonrpc.error(request_id, faults.fault_of(exchange, error)),
    )
    if running.begin(seconds):
        pace.note(monotonic() - begun, seconds, said=True)
        if exchange.session is not None:
            cancelling.watch()
        return open_stream(exchange, running)
    said = outlet.take()
    pace.note(monotonic() - begun, seconds, said=bool(said))
    return _whole(exchange, running.answer(), said)


def open_stream(exchange: Exchange, talker: Running | Subscription) -> OpenResponse:
    """A stream that goes on for a while."""
    asynchronous = isinstance(exchange.request, ASGIRequest)
    return OpenResponse(talker, gateway_settings.keep_alive_seconds, cancels=exchange.modern, asynchronous=asynchronous)


def _whole(exchange: Exchange, answer: bytes, said: bytes) -> McpResponse:
    return json_response(answer) if exchange.accepted.json and not said else stream_response(answer, said)


def _pace_of(exchange: Exchange, message: Message) -> Pace:
    """How the tool of a call has answered so far; nothing is known of what may wait for people, and what is no call."""
    params = message.params
    if message.method != tool_calls.METHOD or "requestState" in params:
        return Pace()
    return exchange.known()[0].derived(("pace", params["name"]), Pace)
