"""``manage.py mcp_call``: one tool call through the same pipeline as ``POST /mcp``."""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from mcp_gateway import registry
from mcp_gateway.events.channel import NOWHERE
from mcp_gateway.management.arguments import read_json
from mcp_gateway.management.database import usable_database
from mcp_gateway.models import Tool
from mcp_gateway.protocol.errors import ProtocolError, Refused
from mcp_gateway.protocol.methods.call import Call, result_of
from mcp_gateway.protocol.methods.tool_calls import call_tool
from mcp_gateway.protocol.versions import MODERN
from mcp_gateway.rights import ANONYMOUS, Principal, in_full, not_grantable

if TYPE_CHECKING:
    from django.core.management.base import CommandParser

    from mcp_gateway.registry import Snapshot


class Command(BaseCommand):
    """Call a tool from the shell."""

    help = (
        "Calls a tool as an MCP client would, without HTTP, and prints the result as JSON. The exit code is 1 when "
        "the result is an error, the tool does not exist or may not be called. Without --user the call is anonymous. "
        "With --user it is judged as with an access token of that user: one that carries the scopes of --scope, or "
        "without --scope every scope there is, so that only what the user may do counts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The tool's name, its arguments, and on whose behalf."""
        parser.add_argument("tool", metavar="TOOL", help="The tool's name.")
        parser.add_argument("arguments", metavar="JSON", nargs="?", default="{}", help='The arguments, as "{…}".')
        parser.add_argument("--user", help="The name of the user to call it as.")
        parser.add_argument("--scope", help="The scopes the call has, separated by spaces (with --user).")
        parser.add_argument("--endpoint", default="", metavar="SLUG", help="The endpoint; the default one without.")

    @usable_database()
    def handle(self, *args: Any, **options: Any) -> None:
        """Run the call; see ``help``."""
        snapshot = registry.snapshot()
        endpoint = snapshot.endpoints.get(options["endpoint"])
        if endpoint is None:
            known = ", ".join(repr(slug) for slug in snapshot.endpoints) or "none"
            raise CommandError(f"There is no enabled endpoint {options['endpoint']!r}; there are: {known}.")
        snapshot = snapshot.at(endpoint.slug)
        params = {"name": options["tool"], "arguments": read_json(options["arguments"], "The argument JSON")}
        principal = _principal(options["user"], options["scope"], snapshot)
        try:
            encoded = result_of(call_tool(Call(snapshot, endpoint, principal, MODERN, params)), NOWHERE)
        except Refused as fault:
            if fault.challenge or fault.scopes:
                raise CommandError(_refusal(fault, anonymous=not principal.authenticated)) from None
            why = in_full(snapshot.tools[options["tool"]].rights, principal, snapshot, endpoint.baseline)
            raise CommandError(why or fault.message) from None
        except ProtocolError as fault:
            why = "" if options["tool"] in snapshot.tools else _missing(options["tool"], snapshot)
            raise CommandError(f"{fault.message} (JSON-RPC error {fault.code}){why}") from None
        result = json.loads(encoded)
        self.stdout.write(json.dumps(result, ensure_ascii=False, indent=2))
        if result["isError"]:
            sys.exit(1)


def _principal(name: str | None, scope: str | None, snapshot: Snapshot) -> Principal:
    if name is None:
        if scope is not None:
            raise CommandError("--scope needs --user: nobody grants scopes to an anonymous caller.")
        return ANONYMOUS
    model = get_user_model()
    try:
        user = model._default_manager.get_by_natural_key(name)
    except model.DoesNotExist:
        raise CommandError(f"There is no user {name!r} in {settings.AUTH_USER_MODEL}.") from None
    scopes = frozenset(snapshot.scopes) if scope is None else frozenset(scope.split())
    unknown = sorted(scopes - set(snapshot.scopes))
    if unknown:
        known = ", ".join(sorted(snapshot.scopes)) or "none"
        raise CommandError(f"There is no enabled scope {unknown[0]!r}; there are: {known}.")
    return Principal(user=user, scopes=scopes - not_grantable(user, scopes, snapshot), authenticated=True)


def _missing(name: str, snapshot: Snapshot) -> str:
    """Why there is no such tool, or which one may be meant."""
    row = Tool.objects.filter(name=name).first()
    if row is not None and row.problem:
        return f". It is not served: {row.problem}"
    if row is not None:
        return ". It is switched off, or not at this endpoint."
    close = get_close_matches(name, snapshot.tools, n=3)
    return f". Is {' or '.join(close)} meant?" if close else ""


def _refusal(fault: Refused, *, anonymous: bool) -> str:
    if anonymous and fault.challenge:
        return f"{fault.message} Give --user."
    return f'{fault.message}. Give --scope "{" ".join(fault.scopes)}".'
