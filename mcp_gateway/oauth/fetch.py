"""Fetching what a stranger's URL points to: a client's metadata document, or its keys.

The URL comes from the client, so the request must reach nothing that only this server can reach (server-side request
forgery; MCP specification, authorization, security considerations; draft-ietf-oauth-client-id-metadata-document
section 6): https on its own port, public addresses only, no redirects, and bounds on time, size and number.
"""

from __future__ import annotations

import http.client
import ipaddress
import logging
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import SplitResult, urlsplit

import orjson
from django.utils.module_loading import import_string

from mcp_gateway.conf import gateway_settings

#: Seconds that a document is held at least, and at most; and where its headers say nothing.
LEAST_AGE, LARGEST_AGE, USUAL_AGE = 300, 24 * 3600, 3600

MAX_URL_LENGTH = 2000

logger = logging.getLogger("mcp_gateway")

# Of a host with many addresses, only so many are tried.
_TRIED = 3

_UNREACHABLE = "The server could not be reached."

_VISIBLE = re.compile(r"[!-\[\]_a-z~]+")
_MAX_AGE = re.compile(r'(?:^|,)\s*max-age\s*=\s*"?(\d{1,9})', re.IGNORECASE)
_NOT_STORED = re.compile(r"(?:^|,)\s*(?:no-store|no-cache)\s*(?:,|=|$)", re.IGNORECASE)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


class FetchError(Exception):
    """Nothing usable came back; the text may be shown to whoever sent the URL, and holds no address."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A JSON object, and for how many seconds it may be held."""

    document: dict[str, Any]
    max_age: int


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked; `GET` for a document."""

    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


GET = Request()


def fetch(url: str, *, max_bytes: int) -> Fetched:
    """Fetch a JSON object with the class that ``ZOLINGA["REGISTRATION"]["FETCHER"]`` names."""
    fetcher: SafeFetcher = import_string(gateway_settings.registration.fetcher)()
    return fetcher.fetch(url, max_bytes=max_bytes)


def checked_url(url: str) -> SplitResult:
    """The parts of a URL that may be fetched; raises `FetchError` for any other."""
    if len(url) > MAX_URL_LENGTH or not _VISIBLE.fullmatch(url):
        raise FetchError("The URL is too long or holds characters that no URL has.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise FetchError("The URL cannot be read.") from None
    # In one spelling: a client's document is known by the letters of its URL.
    if not url.startswith("https://") or not parts.hostname:
        raise FetchError("The URL must be https, with a host; it begins with https:// in small letters.")
    if "@" in parts.netloc or "#" in url:
        raise FetchError("The URL must hold neither user information nor a fragment.")
    if port not in (None, 443):
        raise FetchError("The URL must use the port of https.")
    return parts


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet's; forms that carry an IPv4 address are judged by that."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            # What a network without IPv4 reaches the rest of the internet by.
            return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
        if ip not in _GLOBAL_UNICAST or ip.sixtofour is not None or ip.teredo is not None:
            return False
    return ip.is_global and not (ip.is_private or ip.is_multicast or ip.is_reserved or ip.is_unspecified)


class SafeFetcher:
    """Connects to the very address that it has judged, so that no second look-up can lead elsewhere.

    A subclass may go another way, through a proxy for example: only `fetch` is called from outside.
    """

    #: Seconds for everything together: name, connection, TLS, headers and body.
    timeout = 5.0

    #: Fetches that a process has under way at once; each holds a thread of the server for some seconds.
    at_once: ClassVar[threading.BoundedSemaphore] = threading.BoundedSemaphore(4)

    def fetch(self, url: str, *, max_bytes: int, request: Request = GET) -> Fetched:
        """The JSON object at a URL.

        Raises `FetchError` for whatever does not answer in time with status 200 and at most ``max_bytes`` of JSON.
        """
        parts = self.checked(url)
        if not self.at_once.acquire(blocking=False):
            raise FetchError("The server is fetching too much at the moment; try again.")
        attempt = _Attempt(self, parts, max_bytes, request)
        thread = threading.Thread(target=attempt.run, daemon=True)
        thread.start()
        # Nothing ends a name's look-up, nor a server that sends one byte at a time, but leaving it alone.
        thread.join(self.timeout)
        if thread.is_alive():
            attempt.abort()
            raise FetchError("The server did not answer in time.")
        if attempt.result is None:
            raise attempt.error
        return attempt.result

    def checked(self, url: str) -> SplitResult:
        """The parts of a URL that may be fetched."""
        return checked_url(url)

    def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, if it may be asked."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not self.are_allowed(addresses):
            # The client hears what it hears of a host that does not exist: else it could ask for names of this network.
            logger.info("%s was not fetched from: not all of its addresses are public.", host)
            raise FetchError(_UNREACHABLE)
        return addresses

    def are_allowed(self, addresses: list[str]) -> bool:
        """Whether a host may be asked: all its addresses must be public."""
        return bool(addresses) and all(is_public(address) for address in addresses)

    def connect(self, address: str, port: int, timeout: float) -> socket.socket:
        """A connection to one of those addresses."""
        return socket.create_connection((address, port), timeout=timeout)

    def context(self) -> ssl.SSLContext:
        """How the host's certificate is checked."""
        return ssl.create_default_context()


class _Attempt:
    """One fetch in a thread of its own, which can be left alone."""

    def __init__(self, fetcher: SafeFetcher, parts: SplitResult, max_bytes: int, request: Request) -> None:
        self.result: Fetched | None = None
        self.error = FetchError(_UNREACHABLE)
        self._fetcher, self._parts, self._max_bytes, self._request = fetcher, parts, max_bytes, request
        self._ends = time.monotonic() + fetcher.timeout
        self._socket: socket.socket | None = None
        self._given_up = False

    def run(self) -> None:
        try:
            self.result = self._fetch()
        except FetchError as error:
            self.error = error
        except ssl.SSLError:
            self.error = FetchError("The server's certificate is not trusted, or TLS failed.")
        except (OSError, http.client.HTTPException, UnicodeError, ValueError):
            # What the system says of it would tell an attacker what there is in this network.
            pass
        finally:
            self._fetcher.at_once.release()

    def abort(self) -> None:
        """Let the thread end soon."""
        self._given_up = True
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                self._socket.close()

    def _fetch(self) -> Fetched:
        host, port = str(self._parts.hostname), self._parts.port or (443 if self._parts.scheme == "https" else 80)
        addresses = self._fetcher.addresses(host, port)[:_TRIED]
        context = self._fetcher.context() if self._parts.scheme == "https" else None
        for address in addresses[:-1]:
            try:
                return self._read(context, host, address, port)
            except (OSError, http.client.HTTPException):
                continue
        return self._read(context, host, addresses[-1], port)

    def _read(self, context: ssl.SSLContext | None, host: str, address: str, port: int) -> Fetched:
        left = self._ends - time.monotonic()
        if self._given_up or left <= 0:
            raise FetchError("The server did not answer in time.")
        connection = (
            http.client.HTTPConnection(host, port, timeout=left)
            if context is None
            else http.client.HTTPSConnection(host, port, timeout=left, context=context)
        )
        connection.sock = self._socket = self._fetcher.connect(address, port, left)
        try:
            # The name for TLS and for the Host header is the URL's, the address the one that was judged.
            if context is not None:
                secure = context.wrap_socket(self._socket, server_hostname=host, do_handshake_on_connect=False)
                connection.sock = self._socket = secure
                if self._given_up:
                    raise FetchError(_UNREACHABLE)
                secure.do_handshake()
            path = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
            request = self._request
            headers = {"Accept": "application/json, application/*+json", **request.headers}
            connection.request(request.method, path, request.body, headers)
            with connection.getresponse() as response:
                return self._judged(response)
        finally:
            connection.close()
            self._socket.close()

    def _judged(self, response: http.client.HTTPResponse) -> Fetched:
        if response.status != 200:
            raise FetchError(f"The server answered with status {response.status} instead of 200.")
        kind = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
            raise FetchError("The answer is no JSON by its Content-Type.")
        if (response.getheader("Content-Encoding") or "identity").strip().lower() != "identity":
            raise FetchError("The answer is compressed.")
        body = response.read(self._max_bytes + 1)
        if len(body) > self._max_bytes:
            raise FetchError(f"The answer is longer than {self._max_bytes} bytes.")
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            document = None
        if not isinstance(document, dict):
            raise FetchError("The answer is no JSON object.")
        return Fetched(document, _max_age(response))


def _max_age(response: http.client.HTTPResponse) -> int:
    """For how long an answer may be held (RFC 9111 section 5.2.2), within our bounds."""
    control = response.getheader("Cache-Control") or ""
    if _NOT_STORED.search(control):
        return LEAST_AGE
    given = _MAX_AGE.search(control)
    age = USUAL_AGE
    if given is not None:
        age = int(given[1])
    elif response.getheader("Expires"):
        try:
            age = int(parsedate_to_datetime(str(response.getheader("Expires"))).timestamp() - time.time())
        except (ValueError, OverflowError):
            age = LEAST_AGE
    return max(LEAST_AGE, min(age, LARGEST_AGE))
