"""Going on in the background: the rest of a call is run by a worker, and its client asks for the result later.

As with a question the run ends and what it wrote is rolled back; the worker runs the handler again from its start,
with the answers that the client has given until then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Left(BaseException):
    """Ends the run of a handler that goes on in the background. Let it pass."""

    def __init__(self, event: Any) -> None:
        super().__init__("The call goes on in the background; the handler runs again there.")
        self.event = event


class Background:
    """Mixin of the events whose handlers may go on in the background."""

    #: Whether the call can be answered with a task. Whoever dispatches the event over the wire attaches it.
    can_leave: Callable[[], bool] | None = None
    #: Whether it runs as a task, in a worker.
    in_background: bool = False
    left: bool = False

    def background(self, *, required: bool = False) -> None:
        """From here on the call is a task, where its client knows tasks and the site has a worker for them.

        The handler then runs again from its start, in the worker, where this does nothing; so whatever comes before it
        should be questions and checks. Elsewhere, at the site's own pages and on the command line too, the handler
        just goes on while its caller waits. With ``required`` a client that knows no tasks is refused instead
        (JSON-RPC error -32021). Let pass what it raises: it is no `Exception`.
        """
        if self.can_leave is not None and (required or self.can_leave()):
            # Kept here as well, because a handler may swallow what is raised.
            self.left = True
            raise Left(self)
