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
    middle of some request. So none is collected meanwhile, and afterwards only what is new is looked through.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
        from django.urls import get_resolver

        _ = get_resolver().url_patterns
        gc.freeze()
    finally:
        if collects:
            gc.enable()
