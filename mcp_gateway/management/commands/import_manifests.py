"""``manage.py import_manifests``: from every ``zolinga.json`` to rows in the database."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections
from django.db.utils import DatabaseError
from django.utils import timezone

from mcp_gateway.management.database import usable_database
from mcp_gateway.manifest.apply import run_import
from mcp_gateway.manifest.plan import Plan
from mcp_gateway.manifest.report import render
from mcp_gateway.manifest.watch import changes


class Command(BaseCommand):
    """Imports the manifests and reports; exit code 1 if anything was refused."""

    help = (
        "Import the zolinga.json of every module (folders of ZOLINGA['MODULE_DIRS'] and installed apps) in one "
        "transaction. A second run with nothing changed writes nothing. Exit code 1 if anything was refused; "
        "everything sound is imported all the same."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command's options."""
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--dry-run", action="store_true", help="Only show what would be done.")
        mode.add_argument(
            "--check",
            action="store_true",
            help="Only show what would be done; exit code 1 if files and database differ.",
        )
        mode.add_argument(
            "--watch",
            action="store_true",
            help="Go on and import after every change; a fault leaves its module as it was. Ctrl-C ends it.",
        )
        parser.add_argument(
            "--hold",
            action="store_true",
            help="Leave a module as it was where a fault would take away what it serves, as --watch does.",
        )
        parser.add_argument("--json", action="store_true", help="Print the report as one JSON object.")
        parser.add_argument("--module", metavar="ID", help="Import this module only.")
        parser.add_argument(
            "--allow-removal",
            action="store_true",
            help="Import although a MODULE_DIRS folder is missing, or most of the tools would go.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the import and print its report."""
        if options["watch"]:
            self._watch(options)
            return
        plan = self._run(options)
        self._print(plan, options)
        if plan.refused or (options["check"] and plan.writes):
            sys.exit(1)

    @usable_database()
    def _run(self, options: dict[str, Any]) -> Plan:
        try:
            return run_import(
                only=options["module"],
                allow_removal=options["allow_removal"],
                dry_run=options["dry_run"] or options["check"],
                hold=options["hold"] or options["watch"],
            )
        except LookupError as error:
            raise CommandError(str(error.args[0])) from None

    def _print(self, plan: Plan, options: dict[str, Any]) -> None:
        if options["json"]:
            # While watching each report is a line of its own.
            indent = None if options["watch"] else 2
            self.stdout.write(json.dumps(plan.as_dict(), ensure_ascii=False, indent=indent))
        else:
            dry = options["dry_run"] or options["check"]
            self.stdout.write(render(plan, dry_run=dry, verbose=options["verbosity"] > 1))
        self.stdout.flush()

    def _watch(self, options: dict[str, Any]) -> None:
        """Import now and after every change, until Ctrl-C. What cannot be imported is told and tried again."""
        told = changes()
        last: dict[str, Any] = {}
        try:
            while True:
                close_old_connections()
                try:
                    plan = self._run(options)
                except (CommandError, DatabaseError) as error:
                    self.stderr.write(f"{error} The last good state goes on serving.")
                else:
                    said = {key: value for key, value in plan.as_dict().items() if key != "unchanged"}
                    if plan.writes or said != last:
                        if not options["json"]:
                            self.stdout.write(f"{timezone.localtime():%H:%M:%S} import")
                        self._print(plan, options)
                    last = said
                next(told)
        except KeyboardInterrupt:
            self.stdout.write("")
