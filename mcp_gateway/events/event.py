"""The event that goes through all matching listeners, and its kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from asgiref.sync import sync_to_async

from mcp_gateway.events.asking import Asking
from mcp_gateway.events.background import Background
from mcp_gateway.events.channel import NOWHERE, Channel, checked_level, checked_number
from mcp_gateway.events.status import Origin, Status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from mcp_gateway.events.content import Block
    from mcp_gateway.events.questions import Question
    from mcp_gateway.rights.principal import Principal


#: Characters of a message that are kept. It is for a model or a page to read; results are for data.
MAX_MESSAGE = 10_000


class Event:
    """Something that happened. One object goes through all listeners, in order.

    ``type`` is the event's name, ``origin`` one of `Origin`, ``user`` the Django user or None, ``auth`` the
    `Principal` of a token where there is one. Without an origin an event has that of its kind: a `WebEvent` is
    ``remote``, a `CallEvent` ``mcp``, all others are ``internal``. Raises ``ValueError`` for an origin that no event
    can have.
    """

    ORIGIN: ClassVar[str] = Origin.INTERNAL

    # What a listener asked the client for, and the capabilities without which it could not.
    questions: Mapping[str, Question] | None = None
    unasked: tuple[str, ...] = ()
    # Whether a listener goes on in the background, and whether it does so now.
    left: bool = False
    in_background: bool = False

    def __init__(
        self,
        type: str,
        origin: str | None = None,
        *,
        user: Any = None,
        auth: Principal | None = None,
    ) -> None:
        self.type = type
        self.origin = self.ORIGIN if origin is None else origin
        if self.origin not in Origin.OF_EVENTS:
            known = ", ".join(sorted(Origin.OF_EVENTS))
            raise ValueError(f"No event has the origin {origin!r:.100}. Known are {known}.")
        self.user = user
        self.auth = auth
        self._status = Status.UNDETERMINED
        self._message = ""
        self.keep_changes = False
        self._stopped = False
        self._said = Status.UNDETERMINED

    @property
    def status(self) -> Status:
        """How it went so far. Assigning sets it whatever was said before; a number that is no `Status` is refused."""
        return self._status

    @status.setter
    def status(self, status: Status | int) -> None:
        self._status = Status(status)

    @property
    def message(self) -> str:
        """One sentence for the caller; after `MAX_MESSAGE` characters it is cut and ends in “…”."""
        return self._message

    @message.setter
    def message(self, message: Any) -> None:
        text = str(message)
        self._message = text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"

    def set_status(self, status: Status | int, message: Any = "") -> None:
        """Say how it went. Of several the numerically lower status wins, whichever came first.

        ``message`` is one sentence for the caller; lazy strings are fine. Raises ``ValueError`` for a number
        that is no `Status`.
        """
        said = status if isinstance(status, Status) else Status(status)
        if said is not Status.UNDETERMINED and (self._said is Status.UNDETERMINED or said < self._said):
            self._said = said
        if self.status is Status.UNDETERMINED or (said is not Status.UNDETERMINED and said < self.status):
            self._status, self.message = said, message
        elif said is self.status and not self.message:
            self.message = message

    def stop_propagation(self) -> None:
        """Let no further listener see the event."""
        self._stopped = True

    @property
    def propagation_stopped(self) -> bool:
        """Whether a listener ended it."""
        return self._stopped

    @property
    def ok(self) -> bool:
        """Whether it ended well."""
        return self.status.ok

    def dispatch(self) -> Self:
        """Take the event to its listeners, and give it back.

        Where it comes from outside (``remote``, ``mcp``, ``custom``) the right of each listener is judged for
        ``user``, or for ``auth`` where there is one; events of the site's own code and of its shell (``internal``,
        ``cli``) are not judged. Nothing that a listener does is raised: look at ``status``, which stays
        UNDETERMINED where nobody listened. Costs one statement, which tells whether listeners have changed.
        """
        from mcp_gateway.events.delivery import deliver  # needs settings and apps, as this module must not

        deliver(self)
        return self

    async def adispatch(self) -> Self:
        """The same for coroutines; listeners run in a thread."""
        return await sync_to_async(self.dispatch)()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type} {self.origin} {self.status.name}>"


class RequestEvent(Event):
    """An event that carries a request: a dictionary, whose values are JSON's."""

    def __init__(
        self,
        type: str,
        origin: str | None = None,
        request: dict[str, Any] | None = None,
        *,
        user: Any = None,
        auth: Principal | None = None,
    ) -> None:
        super().__init__(type, origin, user=user, auth=auth)
        self.request: dict[str, Any] = {} if request is None else request


class RequestResponseEvent(RequestEvent):
    """An event that is answered: ``response`` begins as ``{}`` and may be filled or replaced.

    A handler that takes a while may say how far it is, and look whether anyone still waits. It never has to know
    whether somebody listens: at the site's own pages and on the command line, in tests, and for a client that did
    not ask for it, nothing is sent.

    ``content`` begins as an empty list and takes blocks (`Text`, `Image`, …) for whoever reads the answer: an MCP
    client gets them beside the response. Pages and services get the response alone.
    """

    def __init__(
        self,
        type: str,
        origin: str | None = None,
        request: dict[str, Any] | None = None,
        *,
        user: Any = None,
        auth: Principal | None = None,
    ) -> None:
        super().__init__(type, origin, request, user=user, auth=auth)
        self.response: Any = {}
        self.content: list[Block] = []
        #: Where `progress` and `log` go. Whoever dispatches the event attaches it.
        self.channel: Channel = NOWHERE

    def progress(self, done: float, total: float | None = None, message: Any = None) -> None:
        """Tell the caller how far the work is: ``done`` of ``total``, in any unit, and a sentence for people.

        What is not more than was told before is dropped, and so is what comes too fast to be of use. Raises
        ``TypeError`` and ``ValueError`` for what is no finite number. (2026-07-28, “Progress”.)
        """
        checked_number("done", done)
        if total is not None:
            checked_number("total", total)
        text = None if message is None else str(message)[:MAX_MESSAGE]
        self.channel.progress(done, total, text)

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send the caller a log message: a `level <mcp_gateway.events.channel.LEVELS>`, and any JSON value.

        Deprecated in MCP 2026-07-28, and on its way out of the protocol: what the site's operator should see belongs
        into Python's ``logging``, what the caller should know into the response. It must hold no secrets, no personal
        data and nothing of the site's inside (“Logging”, Security). Data that JSON cannot carry is not sent, and the
        server's log says so. Raises ``ValueError`` for a level that there is not.
        """
        self.channel.log(checked_level(level), data, logger)

    @property
    def cancelled(self) -> bool:
        """Whether the caller has gone or called the work off, so that a handler can stop; it then just returns.

        Nothing is sent any more, and what the handler wrote in its transaction is rolled back however it ends, unless
        it sets ``keep_changes``.
        """
        return self.channel.cancelled


class WebEvent(RequestResponseEvent):
    """A request from the site's own pages, with a session."""

    ORIGIN = Origin.REMOTE


class CallEvent(Asking, Background, RequestResponseEvent):
    """A tool call from an MCP client, with a token or anonymous.

    Its handler may ask the client (`Asking`), and go on while the client does something else (`Background`).
    """

    ORIGIN = Origin.MCP


class AuthorizeEvent(Event):
    """``system:authorize``: does ``user`` hold ``right``, whose provider is a word that the gateway does not know?

    ``right`` is the manifest's text, ``provider`` its first word, ``clauses`` the words after it: all clauses are
    needed, and of each one word. A listener that does not know the provider leaves the event alone; one that does
    calls `grant` or `deny`, and the first that answers decides. If nobody answers, or a listener fails, the right is
    not held. A status alone is no answer: whoever watches all events sets one, too. ``user`` is None for an
    anonymous caller and for a client that acts for itself; ``auth`` tells how the caller is known (without scopes:
    by a session), None for nobody.
    """

    def __init__(
        self,
        type: str,
        origin: str | None = None,
        *,
        right: str,
        provider: str,
        clauses: tuple[tuple[str, ...], ...] = (),
        user: Any = None,
        auth: Principal | None = None,
    ) -> None:
        super().__init__(type, origin, user=user, auth=auth)
        self.right = right
        self.provider = provider
        self.clauses = clauses
        self._granted: bool | None = None

    @property
    def answered(self) -> bool:
        """Whether a listener said yes or no."""
        return self._granted is not None

    @property
    def granted(self) -> bool:
        """Whether a listener said yes, and none failed."""
        return self._granted is True and self.ok

    def grant(self) -> None:
        """Say yes."""
        if self._granted is None:
            self._granted = True
        self.set_status(Status.OK, "Granted.")
        self.stop_propagation()

    def deny(self) -> None:
        """Say no. For an anonymous caller it means: whoever logs in may hold the right."""
        self._granted = False
        self.set_status(Status.FORBIDDEN, "Denied.")
        self.stop_propagation()
