"""URIs of resources: what is one (RFC 3986), which two are the same, and which of them a client may see."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import quote

#: The scheme of everything that a module's files publish without naming a URI of their own.
PUBLISHED = "mcp-system"

#: Schemes that name places of a machine, or code. No module can declare them.
NEVER = frozenset(
    {
        "about", "blob", "data", "dist", "file", "filesystem", "jar", "javascript", "module", "private", "public",
        "vbscript", "view-source", "wiki",
    }
)  # fmt: skip

_EVERYONES = frozenset({"http", "https"})

# RFC 3986 section 3.1; a single letter would be the drive of a path.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+")
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]++|%[0-9A-Fa-f]{2})++")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
# After user information; a variable of a template keeps its letters.
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@{]*@)?([^/?#@{]+)(?=[/?#]|$)")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def is_uri(text: str) -> bool:
    """Whether a text is an absolute URI with something after its scheme."""
    return _URI.fullmatch(text) is not None


def scheme_of(uri: str) -> str:
    """The scheme in lower case; empty where there is none."""
    head, colon, _rest = uri.partition(":")
    return head.lower() if colon and _SCHEME.fullmatch(head) else ""


def normal(uri: str) -> str:
    """The form in which URIs are compared (RFC 3986 sections 6.2.2.1 and 6.2.2.2).

    Dots are not resolved: a path with ``..`` in it is never the name of a published file.
    """
    head, colon, rest = uri.partition(":")
    return f"{head.lower()}{colon}{_ESCAPE.sub(_plain, rest)}"


def with_small_host(uri: str) -> str:
    """A URI, or a template, with its host in small letters: hosts have no case (RFC 3986 section 6.2.2.1)."""
    found = _HOST.match(uri)
    return uri if found is None else uri[: found.start(1)] + found[1].lower() + uri[found.end(1) :]


def loose(uri: str) -> str:
    """What a URI in its normal form asks for, as one who takes URLs apart may see it: its host has no case, and its
    fragment is no part of it (RFC 3986 section 3.5).
    """
    return with_small_host(uri.partition("#")[0])


def _plain(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def published(module_id: str, basename: str) -> str:
    """``mcp-system:<module>:<basename>``, whose basename is percent-encoded."""
    return f"{PUBLISHED}:{module_id}:{quote(basename, safe='', errors='surrogateescape')}"


def may_leave(uri: str, declared: Collection[str]) -> bool:
    """Whether clients may see a URI: ``mcp-*``, ``http(s)`` and the schemes that its module declares."""
    scheme = scheme_of(uri)
    if scheme in NEVER:
        return False
    return scheme.startswith("mcp-") or scheme in _EVERYONES or (scheme != "" and scheme in declared)


def is_of_the_web(uri: str) -> bool:
    """Whether clients can fetch what has a URI themselves."""
    return scheme_of(uri) in _EVERYONES


def declaration_problem(scheme: object) -> str:
    """Why a module cannot declare a scheme; empty where it can."""
    if not isinstance(scheme, str) or not _SCHEME.fullmatch(scheme):
        return "A scheme is two or more letters, digits and + . - that begin with a letter."
    if scheme.lower() in NEVER:
        return f"The scheme “{scheme}” names places of a machine, or code; it never reaches a client. Choose another."
    return ""
