"""``manage.py dispatch_event``: an event from the shell."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from mcp_gateway import registry
from mcp_gateway.conf import gateway_settings
from mcp_gateway.events import Origin, RequestResponseEvent
from mcp_gateway.events.outside import name_problem, receive
from mcp_gateway.management.arguments import read_json
from mcp_gateway.management.database import usable_database
from mcp_gateway.protocol import content
from mcp_gateway.protocol.versions import MODERN
from mcp_gateway.rights.decide import holds_without_token

if TYPE_CHECKING:
    from django.core.management.base import CommandParser

    from mcp_gateway.registry import ListenerEntry, Snapshot


class Command(BaseCommand):
    """Dispatch an event with the origin ``cli``."""

    help = (
        "Dispatches an event to the listeners with the origin cli and prints it as JSON. The exit code is 1 unless its "
        "status is OK (200 to 399). The request is made of --key=value, which is text, --key:=JSON, which is what the "
        "JSON says, and --key alone, which is true. Whoever has the shell may run every listener; with --user the "
        "rights of that user count, as in a session. Options of the command itself stand before the event. "
        "Django takes --settings and --pythonpath for its own wherever they stand; where they are keys of the request, "
        "write -- first: dispatch_event -- my:event --settings=dark."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Without abbreviations: ``--s=1`` is a key of the request, and no short form of ``--settings``."""
        return super().create_parser(prog_name, subcommand, allow_abbrev=False, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        """The event's name, its request, and on whose behalf."""
        parser.add_argument("--user", metavar="NAME", help="The name of the user to dispatch it as.")
        parser.add_argument("event", metavar="EVENT", help="The event's type, such as shop:order:list.")
        parser.add_argument(
            "request",
            metavar="--key=value",
            nargs=argparse.REMAINDER,
            help="The request's members: --key=text, --key:=JSON, --key.",
        )

    @usable_database()
    def handle(self, *args: Any, **options: Any) -> None:
        """Dispatch it; see ``help``."""
        problem = name_problem(options["event"]) or _surrogates(options["event"])
        if problem:
            raise CommandError(problem)
        request = read_request(options["request"])
        snapshot = registry.snapshot()
        may_run = None
        user = _user(options["user"])
        if user is not None:
            may_run = partial(_may_run, user=user, snapshot=snapshot)
        event = RequestResponseEvent(options["event"], Origin.CLI, request, user=user)
        response = receive(event, snapshot, may_run=may_run)
        shown = {
            "type": event.type,
            "origin": event.origin,
            "request": request,
            "status": int(event.status),
            "statusName": event.status.name,
            "message": event.message,
            "response": json.loads(response),
            "ok": event.ok,
        }
        if event.content:
            shown["content"] = _content(event)
        text = json.dumps(shown, ensure_ascii=False, indent=2, default=str)
        self.stdout.write(text.encode("utf-8", "replace").decode())
        origins = sorted({origin for entry in snapshot.listeners for origin in _origins_of(entry, event.type)})
        if origins and Origin.CLI not in origins and Origin.ANY not in origins:
            self.stderr.write(f"Its listeners take the origin {', '.join(origins)}; add cli to “origin” to reach them.")
        if not event.ok:
            sys.exit(1)


def _content(event: RequestResponseEvent) -> Any:
    """The blocks that an MCP client would get beside the response, or why it would get none."""
    try:
        blocks = content.encode(event.content, MODERN, max_depth=gateway_settings.max_json_depth)
    except content.ContentError as error:
        return f"It cannot be sent: {error}."
    return json.loads(b"[%b]" % blocks)


def read_request(arguments: list[str]) -> dict[str, Any]:
    """The request that ``--key=value`` and its like say. Raises ``CommandError`` naming the argument at fault."""
    request: dict[str, Any] = {}
    for argument in arguments:
        key, value = _member(argument)
        if key in request:
            raise CommandError(f"--{key} is given twice; a list is written --{key}:='[…]'.")
        request[key] = value
    return request


def _member(argument: str) -> tuple[str, Any]:
    problem = _surrogates(argument)
    if problem:
        raise CommandError(problem)
    name, equals, value = argument.removeprefix("--").partition("=")
    if not argument.startswith("--") or not name.rstrip(":"):
        raise CommandError(f"{argument!r:.200} says nothing: write --key=value, --key:=JSON or --key.")
    if not equals:
        return name, True
    if not name.endswith(":"):
        return name, value
    return name.removesuffix(":"), read_json(value, f"--{name}=")


def _origins_of(listener: ListenerEntry, event: str) -> frozenset[str]:
    return frozenset(origin for origin in listener.origins if listener.matches(event, origin))


def _surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"{text!r:.200} is no text in the shell's encoding; write it in UTF-8."
    return ""


def _user(name: str | None) -> Any:
    if name is None:
        return None
    model = get_user_model()
    try:
        return model._default_manager.get_by_natural_key(name)
    except model.DoesNotExist:
        raise CommandError(f"There is no user {name!r} in {settings.AUTH_USER_MODEL}.") from None


def _may_run(listener: ListenerEntry, *, user: Any, snapshot: Snapshot) -> bool:
    return not listener.right or holds_without_token(listener.right, user, snapshot)
