"""``manage.py up``: from a fresh copy to a serving site in one go."""

from __future__ import annotations

import argparse
import errno
import os
import secrets
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import OperationalError
from django.urls import reverse

from mcp_gateway.conf import LOOPBACK_HOSTS, gateway_settings
from mcp_gateway.manifest.apply import run_import
from mcp_gateway.manifest.remarks import Remark
from mcp_gateway.manifest.report import render, visible
from mcp_gateway.tasks import framework
from zolinga_site.port import LOOPBACK, cannot_listen, hold
from zolinga_site.server import THREADS

# Every thread reads one request at a time, however slowly it comes.
PROXY = (
    "Other machines should come through a proxy that speaks https and takes a request in whole before it hands it on: "
    "see “In production” in README.md."
)
# How many ports above a busy one are tried for the advice.
PORTS_TO_TRY = 20
# How many refused entries the last lines name.
REFUSED_TO_NAME = 10


class Command(BaseCommand):
    """Prepare the site and serve it."""

    help = (
        "Prepares what is missing (database, manifests, an administrator) and serves the site. "
        "Run again, it keeps everything and makes nothing new."
    )
    # Checks open the database, and a port that is in use is found out before that.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="Address to listen on. Default: 127.0.0.1")
        parser.add_argument("--port", type=_port, default=8000, help="Port to listen on. Default: 8000")
        parser.add_argument("--workers", type=_positive, default=1, help="Worker processes. Default: 1")
        parser.add_argument(
            "--threads",
            type=_positive,
            default=THREADS,
            help=f"Requests that each worker handles at a time. Default: {THREADS}",
        )
        parser.add_argument(
            "--task-workers",
            type=_number,
            default=1,
            help="Processes for tools that go on in the background, each with one at a time. Default: 1",
        )
        parser.add_argument(
            "--reload",
            action=argparse.BooleanOptionalAction,
            default=settings.DEBUG,
            help="Import the manifests and restart the workers when code or a manifest changes. Default: where DEBUG "
            "is on",
        )

    def handle(
        self,
        *args: Any,
        host: str,
        port: int,
        workers: int,
        threads: int,
        task_workers: int,
        reload: bool,
        **options: Any,
    ) -> None:
        with self._hold(host, port):
            try:
                self.check()
                url = self._address(host, port)
                self._migrate()
                refused = self._import()
                self._administrator()
            except OperationalError as problem:
                reason = " ".join(str(problem).split()).rstrip(".?!")
                raise CommandError(
                    f"The database cannot be used: {reason}. See that it runs, and that DATABASE_URL is right."
                ) from None
            # A Ctrl-C from here on waits until the server can stop for it.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            self.stdout.write("Server: starting.")
            self.stdout.flush()
            connections.close_all()
            arguments = ["--host", host, "--port", str(port), "--workers", str(workers), "--threads", str(threads)]
            arguments += ["--ready", self._ready(url, host, refused)]
            if framework.has_database_backend():
                arguments += ["--task-workers", str(task_workers)]
            if reload:
                for folder in self._code():
                    arguments += ["--watch", str(folder)]
            os.chdir(settings.BASE_DIR)
            # The server takes this process over: signals reach it directly, and no loaded code is in its way.
            os.execv(sys.executable, [sys.executable, "-m", "zolinga_site.server", *arguments])  # noqa: S606

    def _code(self) -> list[Path]:
        """Where code and manifests are. Not the whole folder: every request writes to the data directory."""
        folders = {settings.BASE_DIR / "mcp_gateway", settings.BASE_DIR / "zolinga_site", *gateway_settings.module_dirs}
        return sorted(folder for folder in folders if folder.is_dir())

    def _hold(self, host: str, port: int) -> socket.socket:
        try:
            return hold(host, port)
        except OSError as error:
            problem = error
        if problem.errno == errno.EADDRINUSE:
            free = next(
                (near for near in range(port + 1, min(port + PORTS_TO_TRY, 65536)) if not cannot_listen(host, near)),
                None,
            )
            raise CommandError(
                f"Port {port} on {host} is in use. Choose another one, for example: "
                f"manage.py up --port {free or 'PORT'}"
            )
        if problem.errno == errno.EACCES:
            raise CommandError(
                f"This user may not listen on port {port}. Choose one above 1023, for example: manage.py up --port 8000"
            )
        raise CommandError(
            f"Cannot listen on {host}, port {port} ({problem.strerror}). "
            "--host takes an address of this machine, for example 127.0.0.1."
        )

    def _address(self, host: str, port: int) -> str:
        """Where clients find the site; without ``PUBLIC_URL`` that is kept for commands that run beside the server."""
        if os.environ.get("PUBLIC_URL"):
            return gateway_settings.origin
        name = LOOPBACK.get(host, host)
        url = f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
        settings.DATA.remember_served_url(url)
        return url

    def _migrate(self) -> None:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        call_command("migrate", verbosity=0, interactive=False)
        if missing:
            self.stdout.write(f"Database: {missing} migrations applied.")
        else:
            self.stdout.write("Database: up to date.")

    def _import(self) -> list[str]:
        """Import the manifests; what is not served because of a fault, in words."""
        self.stdout.write("Manifests:")
        plan = run_import()
        self.stdout.write(render(plan, dry_run=False))
        return list(dict.fromkeys(filter(None, map(_unserved, plan.refused))))

    def _administrator(self) -> None:
        users = get_user_model()._default_manager
        name_field = get_user_model().USERNAME_FIELD
        held = users.filter(is_superuser=True).order_by("pk").values_list(name_field, flat=True).first()
        if held is not None:
            self.stdout.write(f"Administrator: {held} is kept.")
            return
        name = os.environ.get("DJANGO_SUPERUSER_USERNAME", "admin")
        if users.filter(**{name_field: name}).exists():
            self.stdout.write(
                self.style.WARNING(
                    f"Administrator: none was made, for the user {name} is there and is none. "
                    "Make one with: manage.py createsuperuser"
                )
            )
            return
        given = os.environ.get("DJANGO_SUPERUSER_PASSWORD")
        password = given or secrets.token_urlsafe(12)
        email = os.environ.get("DJANGO_SUPERUSER_EMAIL", "")
        users.create_superuser(**{name_field: name, "email": email, "password": password})
        self.stdout.write(f"Administrator: {name} was made.")
        if given:
            self.stdout.write("Password: that of DJANGO_SUPERUSER_PASSWORD.")
        else:
            self.stdout.write(
                self.style.WARNING(f"Password: {password}") + "   (shown this once; change it in the admin site)"
            )

    def _ready(self, url: str, host: str, refused: Sequence[str]) -> str:
        """What the server prints as soon as it answers."""
        endpoint = url + reverse("mcp_gateway:endpoint")
        request = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        text = (
            f"\nEndpoint: {endpoint}\n"
            f"Admin:    {url}{reverse('admin:index')}\n"
            f"Try it:   curl -X POST {endpoint} -H 'Content-Type: application/json' -d '{request}'\n\n"
        )
        if refused:
            more = f" and {len(refused) - REFUSED_TO_NAME} more" if len(refused) > REFUSED_TO_NAME else ""
            text += self.style.WARNING(
                f"Not served, for the reasons above: {', '.join(refused[:REFUSED_TO_NAME])}{more}. Everything else is. "
                "Mend the files and run: manage.py import_manifests"
            )
            text += "\n\n"
        if host not in LOOPBACK_HOSTS:
            text += f"{PROXY}\n\n"
        if host in LOOPBACK and not os.environ.get("PUBLIC_URL"):
            # The host of PUBLIC_URL is allowed without ALLOWED_HOSTS; names there do not say where tokens are good.
            only = (
                "" if os.environ.get("ALLOWED_HOSTS") else f", and answers only to {', '.join(settings.ALLOWED_HOSTS)}"
            )
            text += self.style.WARNING(
                f"The server listens on every address of this machine, but tells clients that it is {url}{only}.\n"
                "For clients elsewhere say how they reach it, for example: "
                f"PUBLIC_URL=https://mcp.example.com manage.py up --host {host}"
            )
            text += "\n\n"
        return text + "Ctrl-C stops the server."


def _unserved(remark: Remark) -> str:
    """What a refusal takes away, in words; a key of a manifest that counts as missing takes nothing."""
    if remark.kind != "module":
        return f"{remark.kind} {visible(remark.name)}"
    if remark.pointer:
        return ""
    # Its first sentence says what is wrong, the others go on about it.
    return f"module {visible(remark.name)} ({visible(remark.message).partition('. ')[0].rstrip('.')})"


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else 0
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: write a whole number from 1 to 65535.")
    return port


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: write a whole number, 0 for none.")
    return int(text)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: write a whole number above 0.")
    return number
