"""``manage.py mcp_add_tool``: a new tool in a module, or one made from an event that is already there."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mcp_gateway.authoring import NotWritten
from mcp_gateway.authoring.conversion import convert
from mcp_gateway.authoring.tools import add_tool


class Command(BaseCommand):
    """Adds a tool to a module."""

    help = (
        "Add a tool to a module, or to an installed app, which becomes a module with it: an entry in zolinga.json, two "
        "schemas, a handler and a test. With --from EVENT the tool is the remote event of that name, with its class "
        "and method as they are, and the schemas are drafted from what its code declares. The result can be imported "
        "and called at once. Nothing that exists is overwritten."
    )
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command's options."""
        parser.add_argument("module", metavar="MODULE", help="A module's id, or an installed app's label or name.")
        parser.add_argument("name", metavar="NAME", help="The tool's name: letters, digits, “-” and “_”.")
        parser.add_argument("--from", dest="event", metavar="EVENT", help="The remote event to make a tool of.")
        parser.add_argument(
            "--recorded",
            metavar="FILE",
            help="With --from: recorded requests and responses of the event, as JSON or JSON lines: objects with "
            "“request”, “response” or both, such as the gate's bodies.",
        )
        parser.add_argument("--title", default="", help="The tool's title, for people.")
        parser.add_argument("--description", default="", help="What it does and when to call it, for models.")
        parser.add_argument("--right", default="", help="Who may call it, for example “oauth2:scope mcp:tools”.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the tool and say what comes next."""
        own = {name: options[name] for name in ("title", "description", "right")}
        try:
            if options["event"] is None:
                if options["recorded"] is not None:
                    raise NotWritten("--recorded belongs to --from: name the event that was recorded.")
                written = add_tool(options["module"], options["name"], **own)
            else:
                written = convert(
                    options["module"], options["name"], options["event"], recorded=options["recorded"], **own
                )
        except NotWritten as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"The tool {written.tool} is in the module {written.module_id}:")
        for path in written.paths:
            self.stdout.write(f"  {written.module_id}/{path}")
        for note in written.notes:
            self.stdout.write(note)
        whose = " --user NAME" if written.guarded else ""
        self.stdout.write(f"Next: manage.py import_manifests && manage.py mcp_call {written.tool}{whose}")
