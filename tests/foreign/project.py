"""Someone else's Django project, made with ``django-admin startproject`` in a folder of its own.

It runs in its own virtual environment, which holds the wheel and what the wheel asks for, and nothing of this
repository.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

# Where bytecode is kept, too: that of the environment is there.
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SYSTEMROOT", "PYTHONPYCACHEPREFIX")


def clean_environment(**variables: str) -> dict[str, str]:
    """The environment without what this repository's tests set for themselves."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", **variables}


class Site:
    """A running project, as a client sees it."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def rpc(
        self, method: str, params: dict[str, Any] | None = None, *, path: str = "/mcp", token: str = ""
    ) -> httpx.Response:
        """POST one JSON-RPC request of the 2025-11-25 era."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self.client.post(path, json=body, headers=headers)

    def call(self, tool: str, *, path: str = "/mcp", token: str = "", **arguments: Any) -> httpx.Response:
        """Call a tool."""
        return self.rpc("tools/call", {"name": tool, "arguments": arguments}, path=path, token=token)

    def tools(self, *, path: str = "/mcp") -> list[str]:
        """The names that ``tools/list`` gives."""
        answer = self.rpc("tools/list", path=path)
        assert answer.status_code == 200, answer.text
        return [tool["name"] for tool in answer.json()["result"]["tools"]]


class Project:
    """A project on disk. ``package`` is the folder of its settings."""

    package = "site_of_others"

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder = folder
        self.python = python
        folder.mkdir()
        self._run("-m", "django", "startproject", self.package, ".")

    def write(self, files: dict[str, Any]) -> None:
        """Write files; what is no string as JSON."""
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")

    def settings(self, *lines: str) -> None:
        """Append lines to the settings."""
        self._append("settings.py", lines)

    def urls(self, *lines: str) -> None:
        """Append lines to the URLconf."""
        self._append("urls.py", ("", "from django.urls import include", *lines))

    def _append(self, name: str, lines: tuple[str, ...]) -> None:
        path = self.folder / self.package / name
        path.write_text(path.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")

    def manage(self, *arguments: str, **variables: str) -> str:
        """Run a management command that must succeed; what it printed."""
        return self._run("manage.py", *arguments, variables=variables).stdout

    def issues(self) -> set[str]:
        """The ids of what the system checks have to say."""
        done = self._run("manage.py", "check")
        return set(re.findall(r"\(([a-z0-9_]+\.[EWI]\d+)\)", done.stdout + done.stderr))

    def refuses(self, *arguments: str) -> str:
        """Run a management command that must fail; all that it printed."""
        done = self._run("manage.py", *arguments, succeeds=False)
        assert done.returncode != 0, done.stdout
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    def _run(
        self, *arguments: str, succeeds: bool = True, variables: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(self.python), *arguments],
            cwd=self.folder,
            env=clean_environment(**(variables or {})),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if succeeds:
            assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done

    def install(self) -> None:
        """The lines for a project whose tools are open, word for word."""
        self.settings('INSTALLED_APPS += ["rest_framework", "oauth2_provider", "mcp_gateway"]')
        self.urls('urlpatterns += [path("", include("mcp_gateway.urls"))]')

    def protect(self, public_url: str, **own: Any) -> None:
        """The lines for a project with a protected tool, word for word."""
        options = "".join(f", {name}={value!r}" for name, value in own.items())
        self.settings(
            "from mcp_gateway.conf import oauth2_provider",
            f"OAUTH2_PROVIDER = oauth2_provider(public_url={public_url!r}{options})",
        )
        self.urls(
            'urlpatterns += [path("", include("mcp_gateway.urls.well_known")), '
            'path("oauth/", include("mcp_gateway.oauth.urls"))]'
        )

    def add_user(self, name: str) -> None:
        """An administrator."""
        self.manage(
            "createsuperuser",
            "--noinput",
            DJANGO_SUPERUSER_USERNAME=name,
            DJANGO_SUPERUSER_EMAIL=f"{name}@example.com",
            DJANGO_SUPERUSER_PASSWORD="only-for-tests",
        )

    @contextmanager
    def serve(self, **headers: str) -> Iterator[Site]:
        """Serve the project on a free port of this machine; ``headers`` go with every request."""
        with subprocess.Popen(
            [str(self.python), "manage.py", "runserver", "--noreload", "127.0.0.1:0"],
            cwd=self.folder,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as server:
            try:
                with httpx.Client(
                    base_url=_address(server), headers=headers, trust_env=False, timeout=30, follow_redirects=False
                ) as client:
                    yield Site(client)
            finally:
                server.terminate()


def _address(server: subprocess.Popen[str]) -> str:
    """Read what ``runserver`` prints until it says where it listens."""
    assert server.stdout is not None
    printed = []
    for line in server.stdout:
        printed.append(line)
        if "development server at " in line:
            return line.rpartition(" at ")[2].strip().rstrip("/")
    raise AssertionError("The server did not start:\n" + "".join(printed))
