"""The keys of an issuer, as this process holds them.

They are fetched when the first token comes, again when they get old, and again when a token names a key that is not
among them (key rotation), but that no oftener than ``KEYS_SECONDS`` says: a token is anybody's to make up.
"""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any

from django.core.signals import setting_changed

from mcp_gateway.conf.issuers import TrustedIssuer
from mcp_gateway.oauth import signed
from mcp_gateway.oauth.fetch import Fetched, FetchError
from mcp_gateway.oauth.issuers.asking import RETRY_SECONDS, ask, logger
from mcp_gateway.oauth.issuers.refusals import IssuerUnavailable


class KeySet:
    """The keys behind one URL. Times are those of the monotonic clock, in seconds."""

    def __init__(self, trusted: TrustedIssuer) -> None:
        self._trusted = trusted
        self._lock = threading.Lock()
        # Replaced together, so that a request which finds its key here needs no lock.
        self._held: tuple[list[dict[str, Any]], float] = ([], 0.0)
        self._asked_again = 0.0
        self._failed = False

    def find(self, kid: Any) -> list[dict[str, Any]]:
        """The keys of that name, all keys for a token that names none.

        Raises `IssuerUnavailable` where keys are needed that cannot be had.
        """
        return self._named(kid) or self._after_asking(kid)

    def find_anew(self) -> list[dict[str, Any]]:
        """All keys, asked for again if that may be: none of those held has signed a token that names none."""
        return self._after_asking(None)

    def _named(self, kid: Any) -> list[dict[str, Any]]:
        keys, end = self._held
        if monotonic() >= end:
            return []
        return keys if kid is None else [key for key in keys if key.get("kid") == kid]

    def _after_asking(self, kid: Any) -> list[dict[str, Any]]:
        # One asks, and the others wait for what it hears, no longer than it may take.
        if not self._lock.acquire(timeout=self._trusted.timeout_seconds + 1):
            raise IssuerUnavailable(RETRY_SECONDS)
        try:
            if monotonic() >= self._asked_again:
                self._ask()
            if self._failed:
                raise IssuerUnavailable(self._asked_again - monotonic())
            return self._named(kid)
        finally:
            self._lock.release()

    def _ask(self) -> None:
        url = self._trusted.jwks_uri
        fetched: Fetched | None = None
        try:
            fetched = ask(self._trusted, url, max_bytes=signed.MAX_KEYS_BYTES)
        except FetchError as error:
            logger.error("The keys of %s could not be fetched from %s. %s", self._trusted.issuer, url, error)
        now = monotonic()
        if fetched is None:
            self._asked_again = now + min(RETRY_SECONDS, self._trusted.keys_seconds)
        else:
            self._asked_again = now + self._trusted.keys_seconds
            self._held = (signed.keys(fetched.document), now + fetched.max_age)
        self._failed = fetched is None


_key_sets: dict[TrustedIssuer, KeySet] = {}


def keys_of(trusted: TrustedIssuer) -> KeySet:
    """The keys that this process holds of an issuer."""
    return _key_sets.get(trusted) or _key_sets.setdefault(trusted, KeySet(trusted))


def forget() -> None:
    """Hold no keys any more."""
    _key_sets.clear()


def _on_setting_changed(*, setting: str, **kwargs: object) -> None:
    if setting == "ZOLINGA":
        forget()


setting_changed.connect(_on_setting_changed, dispatch_uid="mcp_gateway.oauth.issuers.keys")
