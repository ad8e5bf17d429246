"""Digests of several parts as one."""

from __future__ import annotations

import hashlib


def digest(*parts: bytes) -> str:
    """The SHA-256 of some bytes, each part apart from the next."""
    made = hashlib.sha256()
    for part in parts:
        made.update(b"%d:" % len(part))
        made.update(part)
    return made.hexdigest()
