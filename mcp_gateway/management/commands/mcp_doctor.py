"""``manage.py mcp_doctor [URL]``: the way a client goes, step by step."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.urls import NoReverseMatch

from mcp_gateway.doctor.report import Finding, Level, render
from mcp_gateway.doctor.walk import Options, examine
from mcp_gateway.management.arguments import active_user, read_json
from mcp_gateway.management.database import usable_database
from mcp_gateway.oauth import audience


class Command(BaseCommand):
    """Prints what it finds as it finds it; exit code 1 if a fault keeps clients out."""

    help = (
        "Walk the whole way that an MCP client goes to this site, or to the endpoint at URL, and say at each step what "
        "was seen, what a client does with it and how to mend it. A client is registered on the way and deleted "
        "again. Exit code 1 if a fault keeps clients out."
    )
    # They are part of the report.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command's options."""
        parser.add_argument("url", nargs="?", default="", metavar="URL", help="The endpoint. Default: this site's.")
        parser.add_argument("--user", help="Go on to consent, token and calls in the name of this user of the site.")
        parser.add_argument("--tool", default="", metavar="NAME", help="Call this tool as well.")
        parser.add_argument("--arguments", default="{}", metavar="JSON", help="Its arguments. Default: %(default)s.")
        parser.add_argument("--no-register", action="store_true", help="Register no client; stop before that.")
        parser.add_argument("--document", default="", metavar="URL", help="Come as the client of this document, too.")
        parser.add_argument("--json", action="store_true", help="Print the report as one JSON object.")

    @usable_database()
    def handle(self, *args: Any, **options: Any) -> None:
        """Walk, print, and exit with 1 on a fault."""
        arguments = read_json(options["arguments"], "The option --arguments")
        if not isinstance(arguments, dict):
            raise CommandError('The option --arguments must be a JSON object, for example {"text": "hello"}.')
        try:
            url = options["url"] or audience.resource_url("")
        except NoReverseMatch:
            raise CommandError(
                'The endpoint has no URL. Add to urlpatterns: path("", include("mcp_gateway.urls"))'
            ) from None
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
        if urlsplit(url).scheme not in ("http", "https"):
            raise CommandError(f"{url!r} is no address of an endpoint; write it in full, like https://…/mcp.")
        user = active_user(options["user"]) if options["user"] else None
        report = examine(
            Options(url, user, options["tool"], arguments, not options["no_register"], options["document"]),
            (lambda finding: None) if options["json"] else self._tell,
        )
        if options["json"]:
            self.stdout.write(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
        else:
            self.stdout.write(f"\n{report.summary()}")
        self.stdout.flush()
        if report.faults:
            sys.exit(1)

    def _tell(self, finding: Finding) -> None:
        style = {Level.FAULT: self.style.ERROR, Level.WARNING: self.style.WARNING, Level.OK: self.style.SUCCESS}
        self.stdout.write(render(finding), style.get(finding.level))
        self.stdout.flush()
