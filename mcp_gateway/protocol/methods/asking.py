"""Asking the client in the middle of a call: what answers are known, and what is asked when some are not.

A handler that asks has ended without a trace (`mcp_gateway.events.asking`). In the modern era the call ends too, with
``input_required``, and the client sends it again with the answers; in the legacy one the question goes out on the
call's own stream (`mcp_gateway.protocol.methods.waiting`). Either way the call is judged and run from its beginning.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_gateway.conf import gateway_settings
from mcp_gateway.events.asking import NOBODY, Asking, CannotAsk, Conversation
from mcp_gateway.events.capabilities import URL, declares
from mcp_gateway.events.channel import Channel
from mcp_gateway.events.questions import Page
from mcp_gateway.models import PageQuestion, Tally
from mcp_gateway.protocol import questions, request_state
from mcp_gateway.protocol.errors import invalid_params, missing_capability
from mcp_gateway.protocol.methods import pages, waiting
from mcp_gateway.protocol.methods.call import Call, Work, result_fields, result_of
from mcp_gateway.protocol.versions import has

_ONCE = (
    "This needs answers that count only once, which are kept for logged-in callers only; send an access token with "
    "the call."
)
_NO_USER = "A page of this site can only ask a user, and the call has none; send the access token of a user."
_NO_SESSION = "The client cannot be asked: it did not say in a session (initialize) what it can be asked."
_NO_STREAM = "The client cannot be asked: questions go out on a stream, and it does not accept text/event-stream."
_LATE = "The user did not answer on the page in time."
_CHANGED = "The tools of this site have changed since the question was asked; call again."

# A handler that asks more often asks in circles.
MAX_ROUNDS = 20


@dataclass(slots=True)
class Subject:
    """What is being asked about: answers to one thing never count for another.

    ``method`` is one of those that may ask (Multi Round-Trip Requests, “Supported Requests”), ``name`` the tool's or
    prompt's name or the resource's URI, ``title`` what people call it; ``once`` says that answers count only once.
    """

    method: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    once: bool = False

    def binding(self, call: Call) -> list[str]:
        """Everything that the retry must have in common with the request that was answered."""
        owner = request_state.owner(call.principal, call.endpoint.slug)
        return [
            *(*owner, self.method, self.name),
            *(request_state.digest(self.arguments), str(call.snapshot.generation)),
        ]


@dataclass(slots=True)
class Rounds(Conversation):
    """A conversation as the wire knows it.

    ``pages`` are the keys of the pages that questions were put on, by the questions' keys. ``accepted`` are the
    questions whose page the user has agreed to open, ``settled`` those that were answered there.
    """

    pages: dict[str, str] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)
    settled: set[str] = field(default_factory=set)
    count: int = 0

    def take(self, key: str, result: Mapping[str, Any]) -> None:
        """Take the client's answer to a question; that to a page only says whether it will be opened."""
        if key in self.pages and result.get("action") == "accept":
            self.accepted.add(key)
            return
        self.pages.pop(key, None)
        self.answers[key] = result

    def settle(self) -> bool:
        """Take what was answered on pages; whether nobody is at one any more."""
        found = pages.answers({key: page for key, page in self.pages.items() if key not in self.settled})
        self.answers.update(found)
        self.settled |= found.keys()
        return self.accepted <= self.settled

    @property
    def awaited(self) -> list[str]:
        """The keys of the pages that the user has agreed to open since the last round."""
        return [self.pages[key] for key in sorted(self.accepted)]

    def kept(self) -> dict[str, Any]:
        """What must be known when the handler runs again, as JSON has it.

        What was answered on a page stays there, and is looked up again.
        """
        answers = {key: result for key, result in self.answers.items() if key not in self.pages}
        return {"answers": answers, "pages": self.pages, "count": self.count}

    def resume(self, kept: Mapping[str, Any], given: Mapping[str, Mapping[str, Any]]) -> None:
        """Begin the next round with what was `kept`, and the results that the client has ``given`` since, by key."""
        self.count = kept["count"] + 1
        self.answers, self.pages = kept["answers"], kept["pages"]
        for key, result in given.items():
            self.take(key, result)


def missing(call: Call, needs: tuple[str, ...]) -> str:
    """Why the call's client cannot have what a listener ``needs``; empty where it can.

    Raises `ProtocolError` -32021 in the modern era.
    """
    names = tuple(name for name in needs if not declares(call.capabilities, name))
    if not names:
        return ""
    if call.modern:
        raise missing_capability(names)
    return f"The client must be able to do, and declare, what this needs: {', '.join(names)}."


# What a request has that nobody could be asked about.
_SILENT = Rounds()
_UNKNOWN = Rounds(closed={"": _NO_SESSION})
_NOBODY = Rounds(closed=NOBODY.closed)


def conversation(call: Call, subject: Subject) -> Rounds:
    """What the client can be asked, and what it has answered to this subject so far.

    Raises `ProtocolError` -32602 for a ``requestState`` of another request, one that was used up, and for
    ``inputResponses`` that are none.
    """
    if call.rounds is not None:
        return call.rounds
    params = call.params
    retried = call.modern and ("requestState" in params or "inputResponses" in params)
    if not retried and not call.capabilities:
        if call.meta is None:
            return _NOBODY
        return _SILENT if call.modern else _UNKNOWN
    known = begin(call, subject)
    if retried:
        _resume(call, subject, known)
    return known


def begin(call: Call, subject: Subject) -> Rounds:
    """A conversation in which nothing was said yet."""
    closed: dict[str, str] = {}
    if call.principal.user is None:
        closed[URL] = _NO_USER
    if subject.once and not call.principal.authenticated:
        closed[""] = _ONCE
    return Rounds(call.capabilities, closed=closed)


def _resume(call: Call, subject: Subject, known: Rounds) -> None:
    responses = call.params.get("inputResponses", {})
    if not isinstance(responses, dict) or not all(isinstance(response, dict) for response in responses.values()):
        raise invalid_params('The member "inputResponses" must be an object of results, by the keys of inputRequests.')
    if "requestState" not in call.params:
        # Nobody was asked, so nothing was answered.
        return
    state = request_state.unseal(call.params["requestState"], request_state.LIFETIME)
    if state["binding"] != subject.binding(call):
        raise request_state.refused()
    if state["once"] and Tally.take(f"requestState {state['once']}", limit=1, seconds=request_state.LIFETIME):
        raise request_state.refused()
    known.resume(state, {key: responses[key] for key in state["asked"] if key in responses})


def prepare(call: Call, known: Rounds, channel: Channel) -> Rounds:
    """The conversation as the handler gets it, once what is being answered on pages is there.

    A client that has agreed to open a page is answered when the page was, or after ``ZOLINGA["ANSWER_SECONDS"]``.
    In the legacy era, where it cannot come back, raises `CannotAsk` then. Nobody waits in a task, which is not run
    while its user is at a page.
    """
    if not call.modern and known.capabilities and not channel.can_ask:
        return Rounds(closed={"": _NO_STREAM})
    if not known.pages:
        return known
    in_time = known.settle() or (call.put is None and waiting.until(known.settle, channel))
    if not call.modern:
        if not in_time:
            raise CannotAsk(_LATE)
        if has("ElicitRequest.elicitationId", call.version):
            for key in known.accepted:
                channel.notify("notifications/elicitation/complete", {"elicitationId": known.pages[key]})
    return known


def ask(call: Call, subject: Subject, event: Asking, channel: Channel, method: Callable[[Call], Work | bytes]) -> bytes:
    """What comes of a run that asked: ``input_required``, or what the ``method`` gives once the answers are there.

    Raises `CannotAsk` where the questions cannot be put to this client, or were not answered, and whatever the
    method raises when it judges the call anew.
    """
    known, asked = event.conversation, event.questions or {}
    if not isinstance(known, Rounds):
        raise TypeError("only calls that came over the wire can ask")
    if known.count >= MAX_ROUNDS:
        raise CannotAsk(f"The client was asked {MAX_ROUNDS} times and the tool still wants to know more.")
    for key, question in asked.items():
        if isinstance(question, Page) and (
            key not in known.pages or key in known.settled or PageQuestion.open_for(known.pages[key]) is None
        ):
            known.pages[key] = pages.put(call, subject.title or subject.name, question)
            known.settled.discard(key)
    requests = {
        key: questions.request(question, call.version, page=known.pages.get(key, ""), url=pages.url)
        for key, question in asked.items()
    }
    known.accepted.clear()
    # In a task they are asked for as long as the task is kept.
    seconds = request_state.LIFETIME if call.put is None else gateway_settings.task_ttl_seconds
    PageQuestion.keep_open(list(known.pages.values()), seconds)
    if call.put is not None:
        return call.put(known, requests)
    if call.modern:
        return _input_required(call, subject, known, requests)
    waiting.answers(call, known, requests, channel)
    known.count += 1
    again = call.again(known)
    if again.snapshot.generation != call.snapshot.generation:
        raise CannotAsk(_CHANGED)
    return result_of(method(again), channel)


def _input_required(call: Call, subject: Subject, known: Rounds, requests: Mapping[str, Any]) -> bytes:
    state = request_state.seal(
        {
            "binding": subject.binding(call),
            "asked": list(requests),
            **known.kept(),
            "once": secrets.token_hex(16) if subject.once else "",
        }
    )
    if len(state) > gateway_settings.max_body_bytes // 2:
        raise invalid_params("The answers so far are too long to be kept with the client; give shorter ones.")
    answer = {
        **result_fields(call),
        "resultType": "input_required",
        "inputRequests": requests,
        "requestState": state,
    }
    # Not orjson: integers keep every digit.
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
