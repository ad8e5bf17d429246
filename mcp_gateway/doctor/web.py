"""HTTP as MCP clients speak it: certificates are judged, redirects are seen and not followed.

Unlike `mcp_gateway.oauth.fetch`, which strangers make the server use, this is for a person at a shell: loopback and
private addresses are what they ask about.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

#: Seconds that a step of a connection may take.
TIMEOUT = 15

#: Bytes of an answer that are read.
MAX_BYTES = 4 * 1024 * 1024

_AGENT = "django-zolinga mcp_doctor"


class Unreachable(Exception):
    """Nobody answered in HTTP; the text says why."""


@dataclass(frozen=True)
class Reply:
    """An HTTP answer."""

    url: str
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def header(self, name: str) -> str:
        """A header's value, the first where it stands several times; empty where it is missing."""
        return str(self.headers.get(name, ""))

    @property
    def document(self) -> dict[str, Any] | None:
        """The JSON object of the body; from an event stream the last one. None where there is none."""
        text = self.body
        if self.header("Content-Type").startswith("text/event-stream"):
            events = [line[5:] for line in self.body.splitlines() if line.startswith(b"data:") and line[5:].strip()]
            text = events[-1] if events else b""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    @property
    def location(self) -> str:
        """Where a redirect leads, as an absolute URL; empty for what is none."""
        target = self.header("Location")
        return urljoin(self.url, target) if 300 <= self.status < 400 and target else ""

    @property
    def is_page(self) -> bool:
        """Whether it is a page for people."""
        return self.header("Content-Type").startswith("text/html")

    @property
    def shown(self) -> str:
        """What it is, in few words."""
        if self.location:
            return f"{self.status}, a redirect to {self.location}"
        kind = self.header("Content-Type").partition(";")[0] or "no type"
        return f"{self.status} ({kind})"


@dataclass
class Web:
    """Asks; keeps the cookies of one site, as a browser does."""

    cookies: dict[str, str] = field(default_factory=dict)

    def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        with_cookies: bool = False,
    ) -> Reply:
        """One request. Raises `Unreachable` where no HTTP answer comes, or the URL is none."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or not url.isascii() or not url.isprintable():
            raise Unreachable(f"{url[:200]!r} is no URL of a site")
        sent = {"User-Agent": _AGENT, "Accept": "*/*", **(headers or {})}
        if with_cookies and self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection = self._connection(parts.scheme, parts.hostname, parts.port)
            try:
                target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                connection.request(method, target, body=body, headers=sent)
                response = connection.getresponse()
                reply = Reply(url, response.status, response.headers, response.read(MAX_BYTES))
            finally:
                connection.close()
        except ssl.SSLError as error:
            raise Unreachable(f"TLS with {parts.netloc} failed: {error.reason or error}") from None
        except socket.gaierror:
            raise Unreachable(f"the name {parts.hostname} does not resolve") from None
        except TimeoutError:
            raise Unreachable(f"{parts.netloc} did not answer within {TIMEOUT} seconds") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"{parts.netloc}: {error or type(error).__name__}") from None
        if with_cookies:
            self._keep(reply)
        return reply

    def post_json(self, url: str, document: Any, headers: Mapping[str, str] | None = None) -> Reply:
        """POST an object as JSON."""
        sent = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
        return self.ask("POST", url, headers=sent, body=json.dumps(document).encode())

    def post_form(
        self, url: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None, *, as_browser: bool = False
    ) -> Reply:
        """POST a form; ``as_browser`` with the cookies, origin and referrer that a browser sends."""
        sent = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        if as_browser:
            parts = urlsplit(url)
            sent |= {"Origin": f"{parts.scheme}://{parts.netloc}", "Referer": url}
        return self.ask("POST", url, headers=sent, body=urlencode(fields).encode(), with_cookies=as_browser)

    @staticmethod
    def _connection(scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        if scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT)

    def _keep(self, reply: Reply) -> None:
        for line in reply.headers.get_all("Set-Cookie") or ():
            try:
                self.cookies.update({name: morsel.value for name, morsel in SimpleCookie(line).items()})
            except CookieError:
                continue
