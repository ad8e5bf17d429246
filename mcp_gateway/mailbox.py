"""Answers on their way to the worker that waits for them, whichever worker they arrive at.

They go through the project's default cache where all workers of all machines share it, as they do Redis; else through
the table of `Note`. Never through the memory of a process.
"""

from __future__ import annotations

from django.core.cache import DEFAULT_CACHE_ALIAS, caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.memcached import BaseMemcachedCache

from mcp_gateway.models import Note

# One process's, one machine's, or (Memcached) only for values up to a megabyte.
_NOT_SHARED = (LocMemCache, DummyCache, FileBasedCache, BaseMemcachedCache)

_PREFIX = "mcp_gateway.mailbox."


# Seconds that a text is kept for the worker that waits; it looks several times a second.
_KEPT = 60


def expect(key: str, owner: str, seconds: int) -> None:
    """Let ``owner`` leave one text under ``key`` within so many seconds."""
    cache = _shared_cache()
    if cache is None:
        Note.leave(key, owner, seconds)
    else:
        cache.set(f"{_PREFIX}owner.{key}", owner, seconds)


def deliver(key: str, owner: str, text: str) -> bool:
    """Leave a text; False where none is expected under this key from this owner, or no second one."""
    cache = _shared_cache()
    if cache is None:
        return Note.fill(key, owner, text)
    return bool(cache.get(f"{_PREFIX}owner.{key}") == owner and cache.add(f"{_PREFIX}text.{key}", text, _KEPT))


def put(key: str, seconds: int) -> None:
    """Leave an empty text that nobody has to expect, for so many seconds."""
    cache = _shared_cache()
    if cache is None:
        Note.put(key, seconds)
    else:
        cache.set(f"{_PREFIX}text.{key}", "", seconds)


def collect(keys: list[str]) -> dict[str, str]:
    """The texts that have arrived, by key."""
    cache = _shared_cache()
    if cache is None:
        return Note.collect(keys)
    found = cache.get_many([f"{_PREFIX}text.{key}" for key in keys])
    return {name.removeprefix(f"{_PREFIX}text."): text for name, text in found.items()}


def discard(keys: list[str]) -> None:
    """Expect nothing more under these keys."""
    cache = _shared_cache()
    if cache is None:
        Note.discard(keys)
    else:
        cache.delete_many([f"{_PREFIX}{kind}.{key}" for key in keys for kind in ("owner", "text")])


def road() -> str:
    """What the texts go through, in words."""
    cache = _shared_cache()
    return "the database" if cache is None else f"the default cache ({type(cache).__name__})"


def _shared_cache() -> BaseCache | None:
    cache = caches[DEFAULT_CACHE_ALIAS]
    return None if isinstance(cache, _NOT_SHARED) else cache
