"""The messages of a prompt, as a version of the protocol has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mcp_gateway.events.content import Block
from mcp_gateway.protocol.content import in_version
from mcp_gateway.resources.annotations import ROLES
from mcp_gateway.resources.members import contents_faults, member_faults
from mcp_gateway.resources.mime import is_base64
from mcp_gateway.resources.uris import is_uri, may_leave

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}


class Unsendable(ValueError):
    """A message that no client could use; the text says why."""


def message_for(version: str, message: Any, schemes: Collection[str]) -> dict[str, Any]:
    """A ``PromptMessage`` in a version.

    Parameters: the message, whose content is a text, a block of `mcp_gateway.events`, or what the newest version's
    ``ContentBlock`` says; and the schemes that its module declares. A block alone, or a text, is the user's. Raises
    `Unsendable`.
    """
    if not isinstance(message, Mapping):
        message = {"role": "user", "content": message}
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise Unsendable(f"The role of a message is {' or '.join(ROLES)}.")
    if isinstance(content, str):
        content = {"type": "text", "text": content}
    elif isinstance(content, Block):
        content = content.as_dict()
    if not isinstance(content, Mapping):
        raise Unsendable("The content of a message is a text or one block.")
    _check(content, schemes)
    return {"role": role, "content": in_version(dict(content), version)}


def _check(block: Mapping[str, Any], schemes: Collection[str]) -> None:
    kind = block.get("type")
    if kind == "resource":
        resource = block.get("resource")
        if not isinstance(resource, Mapping):
            raise Unsendable("An embedded resource is an object with “uri”, “mimeType” and “text”.")
        for _where, fault in contents_faults(resource):
            raise Unsendable(fault)
        _check_uri(resource.get("uri"), schemes)
    elif isinstance(kind, str) and kind in _NEEDED:
        for name in _NEEDED[kind]:
            if not isinstance(block.get(name), str):
                raise Unsendable(f"The {kind} of a message needs a text “{name}”.")
        if "data" in _NEEDED[kind] and not is_base64(block["data"]):
            raise Unsendable(f"The “data” of an {kind} is no base64.")
        if kind == "resource_link":
            _check_uri(block["uri"], schemes)
    else:
        raise Unsendable(f"The content of a message is {', '.join([*_NEEDED, 'resource'])}.")
    for _where, fault in member_faults(block):
        raise Unsendable(fault)


def _check_uri(uri: Any, schemes: Collection[str]) -> None:
    if not isinstance(uri, str) or not is_uri(uri):
        raise Unsendable(f"{uri!r:.200} is no URI (RFC 3986).")
    if not may_leave(uri, schemes):
        raise Unsendable(f"The scheme of {uri!r:.200} is none that this prompt's module declares.")
