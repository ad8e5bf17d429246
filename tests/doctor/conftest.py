"""A deployed site, and the road to it: a test plays the proxy, or whatever else stands between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from mcp_gateway.conf import oauth2_provider
from mcp_gateway.doctor.report import Finding, Level, Report
from mcp_gateway.doctor.visit import Options
from mcp_gateway.doctor.walk import examine
from mcp_gateway.doctor.web import Reply, Web
from mcp_gateway.models import Scope
from tests.demo import Demo
from tests.wire_fixtures import demo

__all__ = ["demo"]

SITE = "https://mcp.example.com"
MCP = f"{SITE}/mcp"
ADDRESS = "93.184.216.34"


@dataclass
class Request:
    """What the doctor sends, for a proxy to change."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None

    @property
    def path(self) -> str:
        return urlsplit(self.url).path


def reply(url: str, status: int, body: bytes = b"", **headers: str) -> Reply:
    """An answer that a proxy gives by itself."""
    message = HTTPMessage()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return Reply(url, status, message, body)


@dataclass
class Road(Web):
    """Leads to Django without a network. ``before`` may answer or change a request, ``after`` an answer."""

    before: Callable[[Request], Reply | None] = lambda request: None
    after: Callable[[Request, Reply], Reply] = lambda request, reply: reply
    meta: dict[str, Any] = field(default_factory=lambda: {"REMOTE_ADDR": ADDRESS})
    secure: bool = True
    asked: list[Request] = field(default_factory=list)

    def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        with_cookies: bool = False,
    ) -> Reply:
        request = Request(method, url, dict(headers or {}), body)
        self.asked.append(request)
        if with_cookies and self.cookies:
            request.headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answered = self.before(request) or self._django(request, url)
        answered = self.after(request, answered)
        if with_cookies:
            self._keep(answered)
        return answered

    def _django(self, request: Request, url: str) -> Reply:
        parts = urlsplit(request.url)
        kind = request.headers.pop("Content-Type", "application/octet-stream")
        sent = {**request.headers, "Host": parts.netloc}
        response = Client(enforce_csrf_checks=True, raise_request_exception=False).generic(
            request.method,
            f"{parts.path}?{parts.query}" if parts.query else parts.path,
            request.body or b"",
            kind,
            secure=self.secure,
            headers=sent,
            **self.meta,
        )
        message = HTTPMessage()
        for name, value in response.items():
            message[name] = value
        for morsel in response.cookies.values():
            message["Set-Cookie"] = morsel.OutputString()
        body = b"".join(response.streaming_content) if response.streaming else response.content  # type: ignore[attr-defined]
        return Reply(url, response.status_code, message, body)


@pytest.fixture(autouse=True)
def _site(settings: Any, demo: Demo, write_module: Callable[..., Path]) -> None:
    """All URLs, behind TLS; a tool for everyone, one for a token, one for more."""
    settings.ROOT_URLCONF = "tests.oauth.urls"
    settings.OAUTH2_PROVIDER = oauth2_provider(SITE)
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": SITE}
    settings.ALLOWED_HOSTS = ["mcp.example.com"]
    settings.LOGIN_URL = "oauth2_provider:login"
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "modules.example"]
    # The checks of settings look at the files.
    write_module(
        {"listen": [{"event": "x", "class": "a.B", "method": "c", "right": "oauth2:scope mcp:tools"}]}, module="y"
    )
    Scope.objects.create(name="orders:write", description="Change orders", self_service=True)
    demo.add("orders-list", lambda event: {"orders": []}, right="oauth2:scope mcp:tools")
    demo.add("orders-change", lambda event: {}, right="oauth2:scope mcp:tools orders:write")


@pytest.fixture
def road() -> Road:
    """The way there, with nothing in between."""
    return Road()


@pytest.fixture
def ada(db: None) -> Any:
    """Somebody who may allow a client something."""
    return get_user_model().objects.create_user("ada", "ada@example.com", "secret")


@pytest.fixture
def examined(road: Road) -> Callable[..., Report]:
    """What the doctor says of the site as it is reached by that road."""

    def run(url: str = MCP, **options: Any) -> Report:
        return examine(Options(url, **options), web=road)

    return run


def wrong(report: Report) -> list[tuple[str, Level]]:
    """The steps at which it found something to mend, apart from what the system checks say."""
    return [
        (finding.step, finding.level)
        for finding in report.findings
        if finding.level in (Level.WARNING, Level.FAULT) and finding.step != "system check"
    ]


def of(report: Report, step: str) -> Finding:
    """The last finding of a step."""
    return [finding for finding in report.findings if finding.step == step][-1]
