"""What stands between a server and Django, where no middleware can. Paste into a project's ``wsgi.py`` or ``asgi.py``::

application = served_by_wsgi(get_wsgi_application())
application = served_by_asgi(get_asgi_application())
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from mcp_gateway.hosting.content_type import guard_asgi, guard_wsgi
from mcp_gateway.hosting.unread_body import read_to_end
from mcp_gateway.streams.stopping import end_streams_at_stop

__all__ = ["served_by_asgi", "served_by_wsgi"]


def served_by_wsgi(application: Callable[..., Any]) -> Callable[..., Iterable[bytes]]:
    """The WSGI application, which reads the bodies of refused requests to their end (the connection stays good), and
    answers a ``Content-Type`` that Django cannot read.
    """
    return guard_wsgi(read_to_end(application))


def served_by_asgi(application: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """The ASGI application, which ends streams when the server is told to stop, and answers such a ``Content-Type``.

    What a refused request still sends is the server's to read under ASGI.
    """
    return end_streams_at_stop(guard_asgi(application))
