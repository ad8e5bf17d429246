"""What the steps hand on to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from mcp_gateway.conf import LOOPBACK_HOSTS
from mcp_gateway.doctor.report import Finding, Level, Report
from mcp_gateway.doctor.web import Reply, Web
from mcp_gateway.models import Tool
from mcp_gateway.oauth.scopes import self_service
from mcp_gateway.protocol.versions import MODERN
from mcp_gateway.registry import Snapshot, ToolEntry
from mcp_gateway.rights import Outcome, Principal, decide, not_grantable

_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "mcp_doctor", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True)
class Options:
    """What the person at the shell wants.

    ``user`` is a user of this site in whose name a client is let in; ``tool`` one to call with ``arguments``;
    ``register`` whether a client may be registered, which is deleted again at the end; ``document`` the URL of a
    client's metadata document to come with.
    """

    url: str
    user: Any = None
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    register: bool = True
    document: str = ""


@dataclass
class Visit:
    """One walk: what is known so far.

    ``is_open`` says that nobody needs a token to enter. ``slug`` and ``snapshot`` are those of this site's own endpoint
    at the URL; None where the URL is not one of them. ``endpoints`` are the URLs of those there are.
    """

    options: Options
    report: Report
    web: Web = field(default_factory=Web)
    slug: str | None = None
    is_open: bool = False
    endpoints: tuple[str, ...] = ()
    snapshot: Snapshot | None = None
    scopes: str = ""
    metadata_url: str = ""
    issuer: str = ""
    server: dict[str, Any] = field(default_factory=dict)
    client: dict[str, Any] = field(default_factory=dict)
    token: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The endpoint's URL as it was typed."""
        return self.options.url

    @property
    def origin(self) -> str:
        """Its scheme and authority."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def path(self) -> str:
        """Its path."""
        return urlsplit(self.url).path

    @property
    def is_beside(self) -> bool:
        """Whether it is none of this site's endpoints, though on the host of one."""
        hosts = {urlsplit(url).netloc for url in self.endpoints}
        return self.slug is None and urlsplit(self.url).netloc in hosts

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return (urlsplit(self.url).hostname or "") in LOOPBACK_HOSTS

    def say(self, step: str, level: Level, saw: str, client: str = "", cure: str = "", check: str = "") -> Finding:
        """Report a finding."""
        return self.report.add(step, level, saw, client, cure, check)

    def send(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        url: str = "",
        token: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """A request of the newest revision of MCP to the endpoint."""
        params = {**(params or {}), "_meta": _META}
        sent = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
            **({"Mcp-Name": str(params["name"])} if "name" in params else {}),
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **(headers or {}),
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.web.post_json(url or self.url, message, sent)

    def refused_tool(self, scopes: frozenset[str] | None) -> ToolEntry | None:
        """The tool that was named, else the one that needs least, of those refused to who holds these scopes with a
        challenge to ask for more; last come those whose scopes a client of this user cannot get.

        ``scopes`` None: who has no token. It is safe to call: rights are judged before anything of it runs. None
        where there is no such tool, or the endpoint is not this site's.
        """
        if self.snapshot is None or self.slug is None:
            return None
        wanted = Outcome.UNAUTHENTICATED if scopes is None else Outcome.INSUFFICIENT_SCOPE
        user = self.options.user if scopes is not None else None
        who = Principal(
            user=user, scopes=scopes or frozenset(), authenticated=scopes is not None, may_request=self_service()
        )
        baseline = self.snapshot.endpoints[self.slug].baseline
        refused: list[tuple[bool, bool, int, str]] = []
        for tool in self.snapshot.tools.values():
            decision = decide(tool.rights, who, self.snapshot, baseline=baseline)
            if decision.outcome is wanted and tool.visibility != Tool.Visibility.AUTHORIZED:
                in_vain = not self._can_be_had(decision.scopes)
                refused.append((tool.name != self.options.tool, in_vain, len(decision.scopes), tool.name))
        return self.snapshot.tools[min(refused)[-1]] if refused else None

    def _can_be_had(self, scopes: Iterable[str]) -> bool:
        names = frozenset(scopes)
        if self.options.user is None or self.snapshot is None:
            return names <= self_service()
        return names <= self_service() and not not_grantable(self.options.user, names, self.snapshot)
