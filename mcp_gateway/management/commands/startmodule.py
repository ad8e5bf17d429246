"""``manage.py startmodule``: a new module that works."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mcp_gateway.authoring import NotWritten
from mcp_gateway.authoring.tools import start_module


class Command(BaseCommand):
    """Makes a module's folder."""

    help = (
        "Make a new module: a folder with a zolinga.json, one tool with its schemas, its handler and its test. It can "
        "be imported and called at once. Nothing that exists is overwritten."
    )
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the command's options."""
        parser.add_argument("name", metavar="NAME", help="The module's id, which is its folder's name.")
        parser.add_argument(
            "--dir",
            metavar="DIR",
            help="The folder for it, one of ZOLINGA['MODULE_DIRS']. Default: the first of them.",
        )
        parser.add_argument("--tool", metavar="TOOL", help="The name of its first tool. Default: NAME-hello.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the module and say what comes next."""
        try:
            written = start_module(options["name"], directory=options["dir"], tool=options["tool"])
        except NotWritten as refusal:
            raise CommandError(str(refusal)) from None
        self.stdout.write(f"The module {written.module_id} is made:")
        for path in written.paths:
            self.stdout.write(f"  {written.module_id}/{path}")
        for note in written.notes:
            self.stdout.write(note)
        self.stdout.write(
            f'Next: manage.py import_manifests && manage.py mcp_call {written.tool} \'{{"name": "Ada"}}\''
        )
