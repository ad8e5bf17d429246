"""Asking an issuer that an administrator has configured."""

from __future__ import annotations

import logging
import threading
from typing import ClassVar
from urllib.parse import SplitResult, urlsplit

from mcp_gateway.conf.issuers import TrustedIssuer
from mcp_gateway.oauth.fetch import GET, Fetched, Request, SafeFetcher

logger = logging.getLogger("mcp_gateway")

#: Seconds after which to try again, where an issuer could not be asked.
RETRY_SECONDS = 5


class TrustedFetcher(SafeFetcher):
    """The fetcher of strangers' documents, but for an address from the settings.

    It may lie in a private network and have a port of its own, and with http on this machine itself; time, size and
    number are bounded as ever, and no redirect is followed.
    """

    # Not those of the strangers: they could keep the issuer from being asked.
    at_once: ClassVar[threading.BoundedSemaphore] = threading.BoundedSemaphore(8)

    def __init__(self, trusted: TrustedIssuer) -> None:
        self.timeout = float(trusted.timeout_seconds)

    def checked(self, url: str) -> SplitResult:
        """The settings were checked when they were read."""
        return urlsplit(url)

    def are_allowed(self, addresses: list[str]) -> bool:
        """Whatever its name stands for."""
        return bool(addresses)


def ask(trusted: TrustedIssuer, url: str, *, max_bytes: int, request: Request = GET) -> Fetched:
    """The JSON object that an issuer answers; raises `mcp_gateway.oauth.fetch.FetchError`."""
    return TrustedFetcher(trusted).fetch(url, max_bytes=max_bytes, request=request)
