"""The settings of the gateway: one dictionary, ``ZOLINGA``, with a default for everything.

===========================  ==========================================================================
``PUBLIC_URL``               The address clients use, without a trailing slash (``https://mcp.example.com``).
                             All URLs that leave the site start with it; the Host header is never used.
                             Default: what ``oauth2_provider(public_url=…)`` was given, else
                             ``http://127.0.0.1:8000``.
``MODULE_DIRS``              Folders whose sub-folders are modules (each with a ``zolinga.json``). Default
                             none. Installed apps with a ``zolinga.json`` are modules without it.
``HANDLER_PACKAGES``         Dotted packages outside the installed apps from which a manifest may name a
                             class. Default none.
``ALLOWED_ORIGINS``          Web origins (``https://app.example.com``) whose pages may call the endpoint,
                             beside the site's own. Default none.
``PROXIES``                  How many proxies stand in front of the site and add to ``X-Forwarded-For``. Default 0:
                             the caller's address is the connection's.
``AUDIT_DAYS``               For how many days OAuth events are kept. Default 365.
``REGISTRATION``             How clients may register themselves: see `mcp_gateway.conf.registration`.
``ISSUERS``                  Endpoints that trust an authorization server elsewhere instead of the site's own: see
                             `mcp_gateway.conf.issuers`. Default none.
``MAX_BODY_BYTES``           The largest request body, in bytes. Default 4 MiB.
``MAX_RESULT_BYTES``         The largest encoded tool result, in bytes. Default 16 MiB.
``GZIP_BYTES``               The shortest JSON answer of an endpoint that is sent as gzip to clients that accept it;
                             event streams never are. Default 8 KiB; 0: none is.
``MAX_JSON_DEPTH``           How deep JSON in requests and results may nest. Default 64.
``PAGE_SIZE``                Entries per page of a list. Default 1000.
``KEEP_ALIVE_SECONDS``       A call that takes longer than this is answered as a stream, where its client
                             accepts one, and a quiet stream is kept open by a comment this often: proxies and
                             clients give up on silence. Also how soon it is noticed that a client has gone.
                             (A tool whose last calls all took less than a twentieth of it is trusted once: its
                             first long call is answered when it ends.)
                             0: no call is answered as a stream, and none can talk while it runs. Default 5.
``ANSWER_SECONDS``           How long a call waits for what its client was asked on its stream (2025-11-25 and
                             older), and for a page of this site that its user has agreed to open. Default 120.
``MAX_WAITING_CALLS``        How many calls of one worker wait so at a time; each holds a thread. Default 8.
``MAX_CONCURRENT_CALLS``     How many calls of a tool run at a time in each worker process, by its name; ``*`` for
                             each other tool: ``{"slow_report": 4, "*": 12}``. What is more is told to try again.
                             Default none: a tool may hold every thread.
``MAX_SUBSCRIPTIONS``        Streams of changes (``subscriptions/listen``) that a worker process keeps open. Each
                             holds a thread for as long as its client stays. Default 4.
``SERVER_THREADS``           How many requests a worker process handles at a time; ``manage.py up`` says so itself.
                             Changes are announced only where that is more than ``MAX_SUBSCRIPTIONS``, so that
                             streams never hold all threads. Default 0: unknown, nothing is announced.
``ATOMIC_DATABASES``         Aliases on which each handler runs in a transaction. Default: ``default`` and
                             every alias with ``ATOMIC_REQUESTS``.
``ALLOW_TOKENS_WITHOUT_AUDIENCE``  Accept access tokens that are bound to no resource. Default False:
                             RFC 8707 tokens only.
``REFRESH_GRACE_SECONDS``    How long a refresh token that was just used works once more, because two windows of one
                             client may refresh at the same moment. Default 60; 0 forgives nothing.
``CONFIG``                   The site's settings for modules: a tree that is merged over the ``config`` of every
                             manifest; a list replaces a list. Read it with ``mcp_gateway.manifest.config``.
``IMPORT_ON_MIGRATE``        Import the manifests at the end of every ``migrate``. Default False.
``REFUSE_OPEN_TOOLS``        Neither list nor call a tool that needs no right, and say so at import. Default
                             False: such a tool is open to everyone, and drift shows it.
``TASK_BACKEND``             The entry of Django's ``TASKS`` that runs tools in the background. Default ``default``.
``TASK_QUEUE``               Its queue. Default ``default``.
``TASK_TTL_SECONDS``         How long a task is kept after the last that happened to it. Default 3600.
===========================  ==========================================================================
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from mcp_gateway.conf import concurrency, issuers, registration
from mcp_gateway.conf.addresses import LOOPBACK_HOSTS, checked_url, origin_of, split
from mcp_gateway.conf.provider import PROVIDER_OPTIONS, RFC_9700, SCOPES_PLACEHOLDER, oauth2_provider

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "LOOPBACK_HOSTS",
    "PROVIDER_OPTIONS",
    "RFC_9700",
    "SCOPES_PLACEHOLDER",
    "checked_url",
    "gateway_settings",
    "oauth2_provider",
]

COLLECTIONS = (list, tuple, set, frozenset)

KNOWN = frozenset(
    {
        "PUBLIC_URL",
        "MODULE_DIRS",
        "HANDLER_PACKAGES",
        "ALLOWED_ORIGINS",
        "PROXIES",
        "AUDIT_DAYS",
        "REGISTRATION",
        "ISSUERS",
        "MAX_BODY_BYTES",
        "MAX_RESULT_BYTES",
        "GZIP_BYTES",
        "MAX_JSON_DEPTH",
        "PAGE_SIZE",
        "KEEP_ALIVE_SECONDS",
        "ANSWER_SECONDS",
        "MAX_CONCURRENT_CALLS",
        "MAX_WAITING_CALLS",
        "MAX_SUBSCRIPTIONS",
        "SERVER_THREADS",
        "ATOMIC_DATABASES",
        "ALLOW_TOKENS_WITHOUT_AUDIENCE",
        "REFRESH_GRACE_SECONDS",
        "CONFIG",
        "IMPORT_ON_MIGRATE",
        "REFUSE_OPEN_TOOLS",
        "TASK_BACKEND",
        "TASK_QUEUE",
        "TASK_TTL_SECONDS",
    }
)


class GatewaySettings:
    """``settings.ZOLINGA`` with its defaults; each value is read once and again after ``setting_changed``.

    Raises ``ImproperlyConfigured`` with the setting's name and what to write when a value cannot be used.
    """

    @cached_property
    def _own(self) -> dict[str, Any]:
        own = getattr(settings, "ZOLINGA", {})
        if not isinstance(own, dict):
            raise ImproperlyConfigured(
                'ZOLINGA must be a dictionary, for example ZOLINGA = {"PUBLIC_URL": "https://…"}.'
            )
        return own

    @cached_property
    def unknown(self) -> list[str]:
        """Keys of ``ZOLINGA`` that mean nothing here (a system check reports them)."""
        return sorted(set(self._own) - KNOWN)

    @cached_property
    def has_public_url(self) -> bool:
        """Whether the site says its own address, instead of living on the default."""
        return bool(self._own.get("PUBLIC_URL") or self._provider_url)

    @cached_property
    def _provider_url(self) -> str:
        provider = getattr(settings, "OAUTH2_PROVIDER", None)
        return str(provider.get("PUBLIC_URL") or "") if isinstance(provider, dict) else ""

    @cached_property
    def public_url(self) -> str:
        """The address clients use: scheme, host, port, and the path prefix if the site has one."""
        url = self._own.get("PUBLIC_URL") or self._provider_url or "http://127.0.0.1:8000"
        return checked_url(url, 'ZOLINGA["PUBLIC_URL"]')

    @cached_property
    def origin(self) -> str:
        """Scheme, host and port of the public URL, in lower case and without a default port."""
        parts = urlsplit(self.public_url)
        return origin_of(parts.scheme, parts.hostname or "", parts.port)

    @cached_property
    def own_origins(self) -> frozenset[str]:
        """The site's own web origins: the public one, and for a loopback site its three spellings."""
        parts = urlsplit(self.public_url)
        host = parts.hostname or ""
        hosts: Sequence[str] = LOOPBACK_HOSTS if host in LOOPBACK_HOSTS else (host,)
        return frozenset(origin_of(parts.scheme, name, parts.port) for name in hosts)

    @cached_property
    def allowed_origins(self) -> frozenset[str]:
        """Further web origins whose pages may call the endpoint."""
        allowed = set()
        for origin in self._strings("ALLOWED_ORIGINS"):
            parts = split(origin)
            if parts is None or parts.path not in ("", "/") or parts.query or parts.fragment:
                raise ImproperlyConfigured(
                    f'ZOLINGA["ALLOWED_ORIGINS"] holds {origin!r}: '
                    'an origin is scheme, host and port, for example "https://app.example.com".'
                )
            allowed.add(origin_of(parts.scheme, parts.hostname or "", parts.port))
        return frozenset(allowed)

    @cached_property
    def module_dirs(self) -> tuple[Path, ...]:
        """The folders whose sub-folders are modules."""
        value = self._own.get("MODULE_DIRS", ())
        if not isinstance(value, COLLECTIONS) or not all(isinstance(entry, (str, Path)) for entry in value):
            raise ImproperlyConfigured(
                'ZOLINGA["MODULE_DIRS"] must be a list of folders, for example [BASE_DIR / "modules"].'
            )
        return tuple(Path(entry) for entry in value)

    @cached_property
    def handler_packages(self) -> tuple[str, ...]:
        """Dotted packages, beside the installed apps, whose classes a manifest may name."""
        return self._strings("HANDLER_PACKAGES")

    @cached_property
    def proxies(self) -> int:
        """How many proxies add the caller's address to ``X-Forwarded-For``."""
        return self._whole("PROXIES", 0, least=0)

    @cached_property
    def audit_days(self) -> int:
        """Days after which an OAuth event is deleted."""
        return self._positive("AUDIT_DAYS", 365)

    @cached_property
    def registration(self) -> registration.RegistrationPolicy:
        """How clients may make themselves known."""
        return registration.read(self._own.get("REGISTRATION", {}))

    @cached_property
    def issuers(self) -> Mapping[str, issuers.TrustedIssuer]:
        """The authorization servers elsewhere, by the slug of the endpoint that trusts them instead of this one."""
        return issuers.read(self._own.get("ISSUERS", {}))

    @cached_property
    def max_body_bytes(self) -> int:
        """The largest request body, in bytes."""
        return self._positive("MAX_BODY_BYTES", 4 * 1024 * 1024)

    @cached_property
    def max_result_bytes(self) -> int:
        """The largest encoded tool result, in bytes."""
        return self._positive("MAX_RESULT_BYTES", 16 * 1024 * 1024)

    @cached_property
    def gzip_bytes(self) -> int:
        """From how many bytes on a JSON answer is compressed; 0 for never."""
        return self._whole("GZIP_BYTES", 8 * 1024, least=0)

    @cached_property
    def max_json_depth(self) -> int:
        """How deep JSON may nest."""
        return self._positive("MAX_JSON_DEPTH", 64)

    @cached_property
    def page_size(self) -> int:
        """Entries per page of a list."""
        return self._positive("PAGE_SIZE", 1000)

    @cached_property
    def keep_alive_seconds(self) -> int:
        """After how many seconds a quiet call becomes a stream, and a quiet stream says that it lives; 0 for never."""
        return self._whole("KEEP_ALIVE_SECONDS", 5, least=0)

    @cached_property
    def answer_seconds(self) -> int:
        """How long a call waits for an answer."""
        return self._positive("ANSWER_SECONDS", 120)

    @cached_property
    def max_waiting_calls(self) -> int:
        """How many calls of one worker wait for answers at a time."""
        return self._positive("MAX_WAITING_CALLS", 8)

    @cached_property
    def max_concurrent_calls(self) -> Mapping[str, int]:
        """How many calls of a tool run at a time in a worker process, by name; ``*`` stands for each other tool."""
        return concurrency.limits(self._own.get("MAX_CONCURRENT_CALLS", {}))

    @cached_property
    def max_subscriptions(self) -> int:
        """How many streams of changes a worker process keeps open."""
        return self._whole("MAX_SUBSCRIPTIONS", 4, least=0)

    @cached_property
    def server_threads(self) -> int:
        """How many requests a worker process handles at a time, 0 where it is not known."""
        return self._whole("SERVER_THREADS", 0, least=0)

    @cached_property
    def announces_changes(self) -> bool:
        """Whether clients can be told of changes: streams leave a thread for everyone else."""
        return bool(self.keep_alive_seconds and 0 < self.max_subscriptions < self.server_threads)

    @cached_property
    def atomic_databases(self) -> tuple[str, ...]:
        """Aliases on which each handler runs in a transaction."""
        if "ATOMIC_DATABASES" in self._own:
            aliases = self._strings("ATOMIC_DATABASES")
            missing = [alias for alias in aliases if alias not in settings.DATABASES]
            if missing:
                raise ImproperlyConfigured(
                    f'ZOLINGA["ATOMIC_DATABASES"] names {missing[0]!r}, which is not in DATABASES.'
                )
            return aliases
        return tuple(
            alias
            for alias, options in settings.DATABASES.items()
            if alias == "default" or options.get("ATOMIC_REQUESTS")
        )

    @cached_property
    def allow_tokens_without_audience(self) -> bool:
        """Whether an access token that is bound to no resource is accepted."""
        return bool(self._own.get("ALLOW_TOKENS_WITHOUT_AUDIENCE", False))

    @cached_property
    def refresh_grace_seconds(self) -> int:
        """How long a refresh token that was just used works once more, in seconds."""
        return self._whole("REFRESH_GRACE_SECONDS", 60, least=0)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The site's settings for modules, to be merged over those of the manifests."""
        config = self._own.get("CONFIG", {})
        if not isinstance(config, dict):
            raise ImproperlyConfigured(
                'ZOLINGA["CONFIG"] must be a dictionary like the “config” of a manifest, '
                'for example {"mailer": {"retries": 3}}.'
            )
        return config

    @cached_property
    def import_on_migrate(self) -> bool:
        """Whether ``migrate`` ends with an import of the manifests."""
        return bool(self._own.get("IMPORT_ON_MIGRATE", False))

    @cached_property
    def refuse_open_tools(self) -> bool:
        """Whether a tool that needs no right is left out."""
        return bool(self._own.get("REFUSE_OPEN_TOOLS", False))

    @cached_property
    def task_backend(self) -> str:
        """The alias in ``TASKS`` of the backend that runs tools in the background."""
        return self._word("TASK_BACKEND", "default")

    @cached_property
    def task_queue(self) -> str:
        """The queue of that backend."""
        return self._word("TASK_QUEUE", "default")

    @cached_property
    def task_ttl_seconds(self) -> int:
        """How long a task is kept after the last that happened to it, in seconds."""
        return self._positive("TASK_TTL_SECONDS", 3600)

    def _word(self, name: str, default: str) -> str:
        value = self._own.get(name, default)
        if not isinstance(value, str) or not value:
            raise ImproperlyConfigured(f'ZOLINGA["{name}"] is {value!r}: write a name, for example {default!r}.')
        return value

    def _strings(self, name: str) -> tuple[str, ...]:
        value = self._own.get(name, ())
        if not isinstance(value, COLLECTIONS) or not all(isinstance(entry, str) for entry in value):
            raise ImproperlyConfigured(f'ZOLINGA["{name}"] must be a list of strings.')
        return tuple(value)

    def _positive(self, name: str, default: int) -> int:
        return self._whole(name, default, least=1)

    def _whole(self, name: str, default: int, *, least: int) -> int:
        value = self._own.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            wanted = "a whole number above 0" if least else "a whole number, 0 or more,"
            raise ImproperlyConfigured(f'ZOLINGA["{name}"] is {value!r}: {wanted} is needed.')
        return value

    def reset(self) -> None:
        """Forget every value read so far."""
        self.__dict__.clear()


gateway_settings = GatewaySettings()


def _on_setting_changed(*, setting: str, **kwargs: Any) -> None:
    if setting in ("ZOLINGA", "OAUTH2_PROVIDER", "DATABASES"):
        gateway_settings.reset()


setting_changed.connect(_on_setting_changed, dispatch_uid="mcp_gateway.conf")
