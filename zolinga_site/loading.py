"""Loading the site into a process that serves it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Within it the site's application is imported and made; the views behind its URLs are loaded at the end.

    So the first request does not wait for them. Nearly everything that is loaded stays until the process ends: to look
    through it for garbage again and again takes a fifth of the time, and later a part of every full collection, in the
    middle of some request. So none is collected meanwhile, and afterwards only what is new is looked through. Requests
    are spared what has nothing to do under the site's settings.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
        from django.urls import get_resolver

        _ = get_resolver().url_patterns
        _spare_requests()
        gc.freeze()
    finally:
        if collects:
            gc.enable()


def _spare_requests() -> None:
    """Disconnect what Django would do at the beginning and the end of every request for nothing.

    Statements are logged with ``DEBUG`` alone, and only some caches (Memcached's) have connections to let go of.
    """
    from django.conf import settings
    from django.core.cache import BaseCache, caches, close_caches
    from django.core.signals import request_finished, request_started
    from django.db import reset_queries

    if not settings.DEBUG:
        request_started.disconnect(reset_queries)
    if all(type(cache).close is BaseCache.close for cache in caches.all()):
        request_finished.disconnect(close_caches)
