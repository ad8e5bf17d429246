"""``ZOLINGA["REGISTRATION"]``: how clients may make themselves known.

=====================  ================================================================================
``DYNAMIC``            Dynamic client registration (RFC 7591): ``open``, ``approval`` (a new client waits until an
                       administrator enables it) or ``off``. Default ``open``.
``DOCUMENTS``          Client ID metadata documents, with the same three words. Default ``open``.
``DOCUMENT_HOSTS``     Hosts whose documents are read, as in ``ALLOWED_HOSTS`` (``.example.com`` with subdomains).
                       Default: every public host.
``REDIRECT_SCHEMES``   Private-use URI schemes (RFC 8252 section 7.1) that redirect URIs may have, beside https and
                       http on a loopback address. Default ``cursor``, ``vscode``, ``vscode-insiders``, ``windsurf``.
``PER_HOUR``           New clients an hour from one address. Default 20.
``PER_DAY``            New clients a day from everywhere. Default 1000.
``UNUSED_DAYS``        Days after which a client that never got a token is deleted. Default 7.
``FETCHER``            Dotted path of the class that fetches documents and keys, for sites whose way out is a proxy.
                       Default ``mcp_gateway.oauth.fetch.SafeFetcher``.
=====================  ================================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from django.core.exceptions import ImproperlyConfigured

OPEN, APPROVAL, OFF = "open", "approval", "off"

_NAME = 'ZOLINGA["REGISTRATION"]'

# RFC 3986 section 3.1. Those that a browser runs, opens or reads as something else are no place for an answer.
_SCHEME = re.compile(r"[a-z][a-z0-9+.\-]*")
_NEVER = frozenset({"about", "blob", "data", "file", "ftp", "http", "https", "javascript", "vbscript", "ws", "wss"})


@dataclass(frozen=True, slots=True)
class RegistrationPolicy:
    """The dictionary with its defaults."""

    dynamic: str = OPEN
    documents: str = OPEN
    document_hosts: tuple[str, ...] = ()
    redirect_schemes: tuple[str, ...] = ("cursor", "vscode", "vscode-insiders", "windsurf")
    per_hour: int = 20
    per_day: int = 1000
    unused_days: int = 7
    fetcher: str = "mcp_gateway.oauth.fetch.SafeFetcher"


def read(value: Any) -> RegistrationPolicy:
    """The policy that a project's dictionary means.

    Raises ``ImproperlyConfigured`` with the key's name and what to write.
    """
    if not isinstance(value, dict):
        raise ImproperlyConfigured(f'{_NAME} must be a dictionary, for example {{"DYNAMIC": "off"}}.')
    known = {field.name.upper(): field for field in fields(RegistrationPolicy)}
    chosen: dict[str, Any] = {}
    for key, given in value.items():
        field = known.get(key)
        if field is None:
            raise ImproperlyConfigured(f"{_NAME} holds {key!r}, which is none of {', '.join(known)}.")
        chosen[field.name] = _checked(key, given, field.default)
    return RegistrationPolicy(**chosen)


def _checked(key: str, value: Any, default: Any) -> Any:
    where = f'{_NAME}["{key}"]'
    if key in ("DYNAMIC", "DOCUMENTS"):
        if value not in (OPEN, APPROVAL, OFF):
            raise ImproperlyConfigured(f"{where} is {value!r}: write “open”, “approval” or “off”.")
    elif isinstance(default, int):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ImproperlyConfigured(f"{where} is {value!r}: a whole number above 0 is needed.")
    elif isinstance(default, tuple):
        if not isinstance(value, (list, tuple, set, frozenset)) or not all(isinstance(word, str) for word in value):
            raise ImproperlyConfigured(f"{where} must be a list of strings.")
        value = tuple(value)
        if key == "REDIRECT_SCHEMES":
            for scheme in value:
                if not _SCHEME.fullmatch(scheme) or scheme in _NEVER:
                    raise ImproperlyConfigured(
                        f"{where} holds {scheme!r}: write the private scheme of an app, in lower case and without “:”."
                    )
    elif not isinstance(value, str) or "." not in value:
        raise ImproperlyConfigured(f"{where} is {value!r}: write the dotted path of a class.")
    return value
