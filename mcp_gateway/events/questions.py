"""What a handler can ask a client for, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from mcp_gateway.events import capabilities

# Enough for a form that people fill in.
MAX_FIELDS = 100


class AnswerProblem(Exception):
    """An answer that is not what was asked for; the text says why. The question is asked again."""


class Unanswered(Exception):
    """The client answered a question with an error (only in the legacy era); the text is the client's."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answered to a form.

    ``action`` is ``accept``, ``decline`` (said no) or ``cancel`` (closed the form). ``content`` is what the form
    holds, as its schema says; empty unless accepted.
    """

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] = field(default_factory=dict)

    @property
    def accepted(self) -> bool:
        """Whether the person sent the form."""
        return self.action == "accept"

    @property
    def declined(self) -> bool:
        """Whether the person said no."""
        return self.action == "decline"

    @property
    def cancelled(self) -> bool:
        """Whether the person closed the form without a decision."""
        return self.action == "cancel"

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A field of the form, or ``default`` where it is not there."""
        return self.content.get(name, default)


@dataclass(frozen=True, slots=True)
class Sample:
    """What the client's model wrote (``CreateMessageResult``). ``content`` is a block, or a list of blocks."""

    role: str
    content: Any
    model: str
    stop_reason: str = ""

    @property
    def text(self) -> str:
        """The text blocks, joined by line breaks."""
        blocks = self.content if isinstance(self.content, list) else [self.content]
        return "\n".join(block["text"] for block in blocks if block.get("type") == "text")


@dataclass(frozen=True, slots=True)
class Root:
    """A folder or file that the client says it works on. ``uri`` begins with ``file://``."""

    uri: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """A form that the client shows (elicitation, form mode).

    ``message`` says why it is asked. ``schema`` is a flat object schema with primitive properties, as Elicitation,
    “Requested Schema” has it. Never ask for passwords or keys with it: the client sees what is typed. Raises
    ``ValueError`` for a schema that clients cannot show or that no answer could be checked with.
    """

    METHOD: ClassVar[str] = "elicitation/create"
    needs: ClassVar[tuple[str, ...]] = (capabilities.FORM,)

    message: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def __post_init__(self) -> None:
        # Translations and the like become text once, so that what is shown is what is checked.
        object.__setattr__(self, "message", _plain(str(self.message)))
        object.__setattr__(self, "schema", _plain(self.schema))
        _check_schema(self.schema)

    def params(self) -> dict[str, Any]:
        """``ElicitRequestFormParams`` of the newest version."""
        return {"mode": "form", "message": self.message, "requestedSchema": self.schema}

    def read(self, result: Mapping[str, Any]) -> Answer:
        """The answer in an ``ElicitResult``. Raises `AnswerProblem` where it is none or does not fit the schema."""
        action = result.get("action")
        if action in ("decline", "cancel"):
            return Answer(action)
        if action != "accept":
            raise AnswerProblem("“action” must be accept, decline or cancel.")
        content = result.get("content", {})
        if not isinstance(content, dict):
            raise AnswerProblem("“content” must be an object.")
        known = {name: value for name, value in content.items() if name in self.schema["properties"]}
        # This needs settings, as the package must not.
        from mcp_gateway.schemas import listing, validator

        faults = validator(json.dumps(self.schema, ensure_ascii=False)).faults(known)
        if faults:
            raise AnswerProblem(
                listing("Please answer again, the last answer did not fit:", faults, whole="the answer")
            )
        return Answer("accept", known)

    def again(self, problem: str) -> Form:
        """The same question, saying what was wrong with the answer."""
        return replace(self, message=f"{self.message}\n\n{problem}")


@dataclass(frozen=True, slots=True)
class Page(Form):
    """A form on a page of this site (elicitation, URL mode): what is typed there the client never sees.

    The page is only for the user of the call's token, who logs in there. A property whose schema says
    ``"writeOnly": true`` is typed unseen, as a password is.
    """

    needs: ClassVar[tuple[str, ...]] = (capabilities.URL,)


@dataclass(frozen=True, slots=True)
class Sampling:
    """A completion by the client's model (sampling; deprecated since 2026-07-28: ask a provider's API instead).

    ``messages`` is a text, or ``SamplingMessage`` objects. ``max_tokens`` is the most that the model may write.
    The rest are the members of ``CreateMessageRequestParams``.
    """

    METHOD: ClassVar[str] = "sampling/createMessage"

    messages: str | Sequence[Mapping[str, Any]]
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] | None = None
    model_preferences: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    include_context: Literal["none", "thisServer", "allServers"] | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    tool_choice: Mapping[str, Any] | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """What the client must have declared."""
        names = [capabilities.SAMPLING]
        if self.tools is not None or self.tool_choice is not None:
            names.append(capabilities.SAMPLING_TOOLS)
        if self.include_context not in (None, "none"):
            names.append(capabilities.SAMPLING_CONTEXT)
        return tuple(names)

    def params(self) -> dict[str, Any]:
        """``CreateMessageRequestParams``."""
        messages: Any = self.messages
        if isinstance(messages, str):
            messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
        given = {
            "messages": list(messages),
            "modelPreferences": self.model_preferences,
            "systemPrompt": self.system_prompt,
            "includeContext": self.include_context,
            "temperature": self.temperature,
            "maxTokens": self.max_tokens,
            "stopSequences": None if self.stop_sequences is None else list(self.stop_sequences),
            "metadata": self.metadata,
            "tools": None if self.tools is None else list(self.tools),
            "toolChoice": self.tool_choice,
        }
        params: dict[str, Any] = _plain({name: value for name, value in given.items() if value is not None})
        return params

    def read(self, result: Mapping[str, Any]) -> Sample:
        """The sample in a ``CreateMessageResult``. Raises `AnswerProblem` where it is none."""
        role, content, model = result.get("role"), result.get("content"), result.get("model")
        blocks = content if isinstance(content, list) else [content]
        if role not in ("user", "assistant") or not isinstance(model, str) or not all(map(_is_block, blocks)):
            raise AnswerProblem("A message of a model has “role”, “content” and “model”.")
        reason = result.get("stopReason")
        return Sample(role, content, model, reason if isinstance(reason, str) else "")

    def again(self, problem: str) -> Sampling:
        """The same question; a model is not told what was wrong with the answer."""
        return self


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders that the client works on (roots; deprecated since 2026-07-28: take them as arguments instead)."""

    METHOD: ClassVar[str] = "roots/list"
    needs: ClassVar[tuple[str, ...]] = (capabilities.ROOTS,)

    def params(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def read(self, result: Mapping[str, Any]) -> list[Root]:
        """The roots in a ``ListRootsResult``. Raises `AnswerProblem` where it is none."""
        roots = result.get("roots")
        if not isinstance(roots, list) or not all(map(_is_root, roots)):
            raise AnswerProblem("“roots” is a list of objects with a “uri” that begins with file://.")
        return [Root(root["uri"], str(root.get("name") or "")) for root in roots]

    def again(self, problem: str) -> Roots:
        """The same question."""
        return self


Question = Form | Sampling | Roots


def _is_block(block: Any) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        return False
    return block["type"] != "text" or isinstance(block.get("text"), str)


def _is_root(root: Any) -> bool:
    return isinstance(root, dict) and isinstance(root.get("uri"), str) and root["uri"].startswith("file://")


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT, "minItems": 1}
_TITLED = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "object", "properties": {"const": _TEXT, "title": _TEXT}, "required": ["const", "title"]},
}
_LENGTH = {"type": "integer", "minimum": 0}
_NUMBER = {"type": "number"}


def _of_type(name: str, **own: Any) -> dict[str, Any]:
    properties = {"type": {"const": name}, "title": _TEXT, "description": _TEXT, **own}
    return {"if": {"properties": {"type": {"const": name}}}, "then": {"properties": properties}}


# PrimitiveSchemaDefinition. What else stands in a schema is left to clients, as the specification's own schema does.
_REQUESTED: dict[str, Any] = {
    "type": "object",
    "required": ["type", "properties"],
    "properties": {
        "type": {"const": "object"},
        "required": {"type": "array", "items": _TEXT},
        "properties": {
            "type": "object",
            "maxProperties": MAX_FIELDS,
            "additionalProperties": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"enum": ["string", "number", "integer", "boolean", "array"]}},
                "allOf": [
                    _of_type(
                        "string",
                        minLength=_LENGTH,
                        maxLength=_LENGTH,
                        format={"enum": ["email", "uri", "date", "date-time"]},
                        default=_TEXT,
                        enum=_TEXTS,
                        enumNames=_TEXTS,
                        oneOf=_TITLED,
                    ),
                    _of_type("number", minimum=_NUMBER, maximum=_NUMBER, default=_NUMBER),
                    _of_type("integer", minimum=_NUMBER, maximum=_NUMBER, default={"type": "integer"}),
                    _of_type("boolean", default={"type": "boolean"}),
                    {
                        "if": {"properties": {"type": {"const": "array"}}},
                        "then": {
                            "required": ["items"],
                            "properties": {
                                "minItems": _LENGTH,
                                "maxItems": _LENGTH,
                                "default": {"type": "array", "items": _TEXT},
                                "items": {
                                    "type": "object",
                                    "anyOf": [
                                        {
                                            "required": ["type", "enum"],
                                            "properties": {"type": {"const": "string"}, "enum": _TEXTS},
                                        },
                                        {"required": ["anyOf"], "properties": {"anyOf": _TITLED}},
                                    ],
                                },
                            },
                        },
                    },
                ],
            },
        },
    },
}


# Neither forms nor prompts nest.
_MAX_DEPTH = 64


def _plain(value: Any) -> Any:
    """A value in JSON's own types. Raises ``ValueError`` for what JSON cannot carry."""
    from mcp_gateway.encoding import encode

    return encode(value, max_depth=_MAX_DEPTH).value


def _check_schema(schema: Any) -> None:
    from mcp_gateway.schemas import listing, validator

    faults = validator(json.dumps(_REQUESTED)).faults(schema)
    unknown = [] if faults else sorted(set(schema.get("required", ())) - set(schema["properties"]))
    if faults:
        raise ValueError(listing("Clients cannot show a form of this schema:", faults, whole="the schema"))
    if unknown:
        raise ValueError(f"“required” names {unknown[0]!r}, which is not in “properties”.")
    # Now, and not when somebody has filled it in.
    try:
        validator(json.dumps(schema, ensure_ascii=False))
    except ValueError as error:
        raise ValueError(f"What is typed into a form of this schema cannot be checked: {error}") from None
