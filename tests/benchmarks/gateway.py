"""Our side: the deployable site with generated modules, run as ``manage.py up`` runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.processes import ServerProcess, free_port
from tests.benchmarks.workload import REQUEST_SCHEMA, RESPONSE_SCHEMA, description, tool_names

ROOT = Path(__file__).resolve().parents[2]
RIGHT = "oauth2:scope mcp:tools"
PER_MODULE = 10

HANDLER = """\
from mcp_gateway.events import CallEvent, Status


class EchoHandler:
    def on_echo(self, event: CallEvent) -> None:
        event.response = {"echo": event.request["message"]}
        event.set_status(Status.OK, "OK")
"""


def write_modules(folder: Path, tools: int) -> None:
    """Write modules of ten tools each into ``folder``; every tool but the last asks for the scope."""
    names = tool_names(tools)
    for start in range(0, tools, PER_MODULE):
        module_id = f"bench_{start // PER_MODULE:04d}"
        module = folder / module_id
        (module / "schemas").mkdir(parents=True)
        (module / "schemas" / "request.json").write_text(json.dumps(REQUEST_SCHEMA))
        (module / "schemas" / "response.json").write_text(json.dumps(RESPONSE_SCHEMA))
        (module / "echo_handler.py").write_text(HANDLER)
        listen = [
            {
                "event": name,
                "description": description(name),
                "class": f"\\Bench{start // PER_MODULE:04d}\\EchoHandler",
                "method": "onEcho",
                "origin": ["mcp"],
                **({} if name == names[-1] else {"right": RIGHT}),
                "schema": {
                    "request": f"module://{module_id}/schemas/request.json",
                    "response": f"module://{module_id}/schemas/response.json",
                },
            }
            for name in names[start : start + PER_MODULE]
        ]
        manifest = {"name": module_id, "version": "1.0.0", "description": "Ten tools that echo.", "listen": listen}
        (module / "zolinga.json").write_text(json.dumps(manifest))


class Site:
    """A site of its own in ``folder``: database, modules, a user and an access token.

    Parameters: ``tools``, how many it serves; ``database_url``, empty for SQLite in ``folder``.
    """

    def __init__(self, folder: Path, tools: int, *, database_url: str = "") -> None:
        self.port = free_port()
        self.tools = tool_names(tools)
        self.folder = folder
        self.environment = {
            "DJANGO_SETTINGS_MODULE": "tests.benchmarks.settings",
            "ZOLINGA_DATA_DIR": str(folder / "data"),
            "ZOLINGA_MODULE_DIRS": str(folder / "modules"),
            "PUBLIC_URL": f"http://127.0.0.1:{self.port}",
            "DATABASE_URL": database_url,
            "DEBUG": "off",
            "CACHE_URL": "locmemcache://",
            "ALLOWED_HOSTS": "127.0.0.1",
            "PYTHONPATH": str(ROOT),
            # As where a site is deployed: code is compiled once, not by every process.
            "PYTHONDONTWRITEBYTECODE": "",
        }
        folder.mkdir(parents=True, exist_ok=True)
        write_modules(folder / "modules", tools)

    @property
    def protected(self) -> str:
        """A tool that needs the scope, from the middle of the list."""
        return self.tools[len(self.tools) // 2]

    @property
    def open(self) -> str:
        """The one tool without a right."""
        return self.tools[-1]

    def prepare(self) -> None:
        """Migrate, import, and make the user and its token (``token``)."""
        self.migrate()
        self.manage("import_manifests")
        self.manage(
            "createsuperuser", "--noinput", "--verbosity", "0", "--username", "benchmark", "--email", "b@example.com"
        )
        self.token = self.manage(
            "mcp_token", "--user", "benchmark", "--scope", "mcp:tools", "--expires", "86400"
        ).strip()

    def migrate(self) -> None:
        self.manage("migrate", "--verbosity", "0")

    def manage(self, *arguments: str) -> str:
        """Run a command of the site; what it printed. Raises ``SystemExit`` where it fails."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**os.environ, **self.environment, "DJANGO_SUPERUSER_PASSWORD": "benchmark"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"manage.py {' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def serve(self, name: str, *, on: set[int] | None, workers: int = 1, port: int = 0) -> ServerProcess:
        """Start the site's server with its own defaults, on ``port`` or the one its URLs name."""
        port = port or self.port
        argv = [sys.executable, "-m", "zolinga_site.server", "--port", str(port), "--workers", str(workers)]
        return ServerProcess(name, argv, port, environment=self.environment, on=on)
