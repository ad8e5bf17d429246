"""Asking the client in the middle of a call.

A question ends the run. The transaction is rolled back, the client is asked, and the handler runs again from its
start; what was answered is known then. So a handler asks first, and does what cannot be undone after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_gateway.events.capabilities import declares
from mcp_gateway.events.questions import (
    Answer,
    AnswerProblem,
    Form,
    Page,
    Question,
    Root,
    Roots,
    Sample,
    Sampling,
    Unanswered,
)

MAX_KEY = 100


class Asked(BaseException):
    """Ends the run of a handler that asked; ``event`` holds the questions. Let it pass."""

    def __init__(self, event: Any) -> None:
        super().__init__("The client is being asked; the handler runs again with the answers.")
        self.event = event


class CannotAsk(Exception):
    """There is nobody to ask, or the client cannot be asked that. A handler that has another way may catch it.

    ``needs`` are the capabilities that the client would have to declare; empty where that would not help.
    """

    def __init__(self, message: str, needs: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.needs = tuple(needs)


@dataclass(slots=True)
class Conversation:
    """What is known of the client of one call: what it can be asked, and what it has answered.

    ``capabilities`` is its ``ClientCapabilities`` object. ``answers`` are results as the client sent them, by key;
    one that does not fit is taken out again. ``errors`` are what it said of questions that it did not answer.
    ``closed`` says why something cannot be asked, by the name of a capability, with ``""`` for all of them.
    """

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    closed: Mapping[str, str] = field(default_factory=dict)

    def refuse(self, questions: Iterable[Question]) -> None:
        """Raise `CannotAsk` if not all of the questions can be asked."""
        if "" in self.closed:
            raise CannotAsk(self.closed[""])
        names = dict.fromkeys(name for question in questions for name in question.needs)
        missing = [name for name in names if not declares(self.capabilities, name)]
        if missing:
            raise CannotAsk(f"The client cannot be asked: it does not declare {' and '.join(missing)}.", missing)
        for name in names:
            if name in self.closed:
                raise CannotAsk(self.closed[name])


NOBODY = Conversation(closed={"": "Nobody can be asked here: the call did not come from an MCP client."})


class Asking:
    """Mixin of the events whose handlers may ask the client."""

    conversation: Conversation = NOBODY
    questions: Mapping[str, Question] | None = None

    def client_can(self, name: str) -> bool:
        """Whether the client can be asked: ``elicitation`` (or ``elicitation.url``), ``sampling``, ``roots``."""
        return declares(self.conversation.capabilities, name) and not self.conversation.closed.keys() & {"", name}

    def ask(
        self, key: str, message: str, schema: Mapping[str, Any] | None = None, *, mode: Literal["form", "url"] = "form"
    ) -> Answer:
        """Ask the person at the client to fill in a form (elicitation).

        ``key`` names the question within the call: the same question has the same key at every run. ``message``
        says why it is asked. ``schema`` is the form: an object schema with primitive properties; without it there
        is only yes or no. ``mode`` ``url`` shows the form on a page of this site, behind its login, for what the
        client must not see. The answer fits the schema, or is a ``decline`` or ``cancel``.

        Raises `CannotAsk` where the client cannot be asked, ``ValueError`` for a schema that is no form's.
        """
        kind = {"form": Form, "url": Page}[mode]
        answer: Answer = self.ask_all({key: kind(message) if schema is None else kind(message, schema)})[key]
        return answer

    def sample(self, key: str, messages: str | Sequence[Mapping[str, Any]], *, max_tokens: int, **own: Any) -> Sample:
        """Let the client's model write something (sampling).

        Deprecated in MCP since 2026-07-28: call the API of a model's provider instead. Parameters: see `Sampling`.
        Raises `CannotAsk` where the client offers no model, `Unanswered` where it refused.
        """
        sample: Sample = self.ask_all({key: Sampling(messages, max_tokens, **own)})[key]
        return sample

    def roots(self, key: str = "roots") -> list[Root]:
        """The folders that the client works on (roots); they bind nobody.

        Deprecated in MCP since 2026-07-28: let the tool take paths as arguments instead. Raises `CannotAsk` where
        the client tells none.
        """
        roots: list[Root] = self.ask_all({key: Roots()})[key]
        return roots

    def ask_all(self, questions: Mapping[str, Question | tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
        """Ask several things at once, by key: a `Form` (or its message and schema), `Page`, `Sampling`, `Roots`.

        Gives the answers by key: `Answer`, `Sample` or a list of `Root`. Those that are missing or do not fit are
        asked again, the others are not. Raises as `ask` and `sample` do.
        """
        asked = {key: Form(*value) if isinstance(value, tuple) else value for key, value in questions.items()}
        for key in asked:
            if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY or not key.isprintable():
                raise ValueError(f"The key of a question is a printable text of at most {MAX_KEY} characters.")
        conversation = self.conversation
        conversation.refuse(asked.values())
        answers: dict[str, Any] = {}
        open_questions: dict[str, Question] = {}
        for key, question in asked.items():
            result = conversation.answers.get(key)
            if key in conversation.errors:
                raise Unanswered(f"The client did not answer: {conversation.errors[key]}")
            if result is None:
                open_questions[key] = question
                continue
            try:
                answers[key] = question.read(result)
            except AnswerProblem as problem:
                del conversation.answers[key]
                open_questions[key] = question.again(str(problem))
        if open_questions:
            # Kept here as well, because a handler may swallow what is raised.
            self.questions = {**(self.questions or {}), **open_questions}
            raise Asked(self)
        return answers
