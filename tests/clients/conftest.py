"""Live sites, the person who sits at a browser in front of them, and the programs of npm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest

from tests.clients.document_fetcher import CERTIFICATE, PORT
from tests.conformance.toolchain import cache_folder, find_node, find_packages
from tests.live import PATIENCE, Migrated, Site
from tests.oauth import web
from tests.oauth.flow import form_fields
from tests.oauth.web import Web

CALLBACK = "http://127.0.0.1:33418/callback"
CLIENT = "https://client.test/oauth/client.json"
TYPESCRIPT = Path(__file__).parent / "typescript"


@pytest.fixture(scope="module")
def site(migrated: Migrated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The deployable site, brought up as its README says, with a client that an administrator registered."""
    with migrated.copy(tmp_path_factory.mktemp("site") / "var") as live, live.up():
        live.manage(
            *("createapplication", "public", "authorization-code", "--client-id", "desk-agent"),
            # Any port: RFC 8252 section 7.3.
            *("--name", "Desk agent", "--redirect-uris", "http://127.0.0.1/callback"),
        )
        yield live


@dataclass
class Strange:
    """A site with two workers, and the internet it reads documents from."""

    site: Site
    internet: Web


@pytest.fixture(scope="module")
def strange(migrated: Migrated, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Strange]:
    """A site for clients that nobody registered; they may ask for ``example:write``, too."""
    folder = tmp_path_factory.mktemp("strange")
    with web.serve(folder) as internet:
        environment = {
            "DJANGO_SETTINGS_MODULE": "tests.clients.document_settings",
            PORT: str(internet.port),
            CERTIFICATE: str(internet.certificate),
        }
        with migrated.copy(folder / "var", environment) as site, site.up("--workers", "2"):
            # Administrators decide which scopes are for clients that nobody knows.
            decide(site, "Scope.objects.filter(name='example:write').update(self_service=True)")
            yield Strange(site, internet)


def decide(site: Site, statement: str) -> None:
    """Let an administrator's script do something."""
    site.manage("shell", "-c", f"from mcp_gateway.models import Client, Endpoint, Scope; {statement}")


@dataclass(frozen=True)
class Programs:
    """Node, and our programs in a folder where they find their packages."""

    node: str
    folder: Path

    @property
    def env(self) -> dict[str, str]:
        """The environment of the programs: whatever a client keeps goes into the folder, and no browser opens."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "BROWSER": "true"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Node there."""
        return subprocess.run(
            [self.node, *arguments],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """What is in ``typescript/``, with the packages that its ``package.json`` pins."""
    cache = cache_folder()
    node = find_node(cache)
    folder = tmp_path_factory.mktemp("programs")
    for program in TYPESCRIPT.iterdir():
        shutil.copy(program, folder)
    packages = find_packages(node, cache, TYPESCRIPT / "package.json")
    (folder / "node_modules").symlink_to(packages, target_is_directory=True)
    return Programs(node.binary, folder)


@dataclass
class Browser:
    """A person's browser: it opens the client's link, logs in, reads the page and presses a button.

    ``button`` is the next one to press, ``unticked`` the scopes to tick off before; ``pages`` are the pages the person
    saw, ``answer`` what the client got.
    """

    site: Site
    username: str = "admin"
    button: str = "Allow"
    unticked: tuple[str, ...] = ()
    pages: list[str] = field(default_factory=list)
    answer: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A client may print its link before it listens for the answer, and this person is quick.
        self._http = httpx.Client(timeout=60, transport=httpx.HTTPTransport(retries=7))

    def open(self, url: str) -> None:
        """Follow the way until it leads to the client's callback, and open that, too, where the client serves it."""
        response = self._http.get(url)
        while True:
            if response.is_redirect:
                location = urljoin(str(response.url), response.headers["Location"])
                if not location.startswith(self.site.url):
                    query = parse_qs(urlsplit(location).query)
                    self.answer = {key: values[0] for key, values in query.items()}
                    if not location.startswith(CALLBACK):
                        self._http.get(location)
                    return
                response = self._http.get(location)
                continue
            assert response.status_code == 200, response.text
            self.pages.append(response.text)
            if 'name="password"' in response.text:
                fields = {**form_fields(response.text), "username": self.username, "password": self.site.password}
            else:
                fields = form_fields(response.text, self.button)
                for scope in self.unticked:
                    fields.pop(f"grant:{scope}", None)
            response = self._http.post(str(response.url), data=fields)

    def connections(self) -> str:
        """The page of connected applications, of a person who is logged in."""
        return unescape(self._http.get(f"{self.site.url}/oauth/connections/").text)

    def disconnect(self, client_id: str) -> None:
        """Take back, on that page, what a client was allowed."""
        entry = re.search(rf"<code>{re.escape(client_id)}</code>.*?(<form.*?</form>)", self.connections(), re.DOTALL)
        assert entry is not None
        self._http.post(f"{self.site.url}/oauth/connections/", data=form_fields(entry[1]))

    def close(self) -> None:
        """Close its connections."""
        self._http.close()


@pytest.fixture
def browser(site: Site) -> Iterator[Browser]:
    """The administrator's browser, not logged in."""
    person = Browser(site)
    yield person
    person.close()
