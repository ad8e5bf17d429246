"""Questions as requests of each version: what an older one lacks is left out, said otherwise, or not asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp_gateway.events.asking import CannotAsk
from mcp_gateway.events.questions import Form, Page, Question, Sampling
from mcp_gateway.protocol.versions import has


def request(question: Question, version: str, *, page: str, url: Callable[[str], str]) -> dict[str, Any]:
    """``method`` and ``params`` of the request that asks the question in a version.

    ``page`` is the key of a `Page`'s page, and ``url`` tells the address of one. Raises `CannotAsk` where the version
    has no way to ask it.
    """
    if isinstance(question, Page):
        params: dict[str, Any] = {"mode": "url", "message": question.message, "url": url(page)}
        if has("ElicitRequest.elicitationId", version):
            params["elicitationId"] = page
        if not has("ElicitRequest.mode", version):
            raise _cannot(version, "open a page")
    elif isinstance(question, Form):
        params = _form(question, version)
    elif isinstance(question, Sampling):
        params = question.params()
        params["messages"] = [_message(message, version) for message in params["messages"]]
    else:
        params = question.params()
    return {"method": question.METHOD, "params": params}


def _cannot(version: str, what: str) -> CannotAsk:
    return CannotAsk(f"The client cannot be asked: its version of the protocol, {version}, has no way to {what}.")


def _form(question: Form, version: str) -> dict[str, Any]:
    if not has("ElicitRequest", version):
        raise _cannot(version, "show a form")
    params = question.params()
    if not has("ElicitRequest.mode", version):
        del params["mode"]
    schema = params["requestedSchema"]
    fields = {name: _field(field, version) for name, field in schema["properties"].items()}
    return {**params, "requestedSchema": {**schema, "properties": fields}}


def _field(field: Mapping[str, Any], version: str) -> dict[str, Any]:
    """``PrimitiveSchemaDefinition`` of a version."""
    if field["type"] == "array" and not has("ElicitRequest.multiSelect", version):
        raise _cannot(version, "let somebody choose several of a list")
    made = dict(field)
    if "oneOf" in made and not has("ElicitRequest.titledOptions", version):
        options = made.pop("oneOf")
        made["enum"] = [option["const"] for option in options]
        made["enumNames"] = [option["title"] for option in options]
    if "default" in made and made["type"] != "boolean" and not has("ElicitRequest.defaults", version):
        del made["default"]
    return made


def _message(message: Mapping[str, Any], version: str) -> dict[str, Any]:
    """``SamplingMessage`` of a version: its content was one block before it could be several."""
    content = message.get("content")
    if not isinstance(content, list) or has("SamplingMessage.contents", version):
        return dict(message)
    if len(content) != 1:
        raise _cannot(version, "give a model several blocks in one message")
    return {**message, "content": content[0]}
