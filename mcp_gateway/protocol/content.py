"""Blocks of content in the versions of the protocol: what one lacks is left out, or becomes a text that says it."""

from __future__ import annotations

from typing import Any

from mcp_gateway import encoding
from mcp_gateway.events.content import Block
from mcp_gateway.protocol.icons import published
from mcp_gateway.protocol.versions import has


class ContentError(ValueError):
    """What a handler left as its content is none; the text says where and why."""


def encode(content: Any, version: str, *, max_depth: int) -> bytes:
    """The blocks of an event's ``content`` in a version, as JSON separated by commas.

    ``max_depth`` is as in `mcp_gateway.encoding.encode`. Raises `ContentError`.
    """
    if not isinstance(content, (list, tuple)):
        raise ContentError(f"its content is a list of blocks, and no {type(content).__name__}")
    for index, block in enumerate(content):
        if not isinstance(block, Block):
            raise ContentError(
                f"its content holds a {type(block).__name__} at /{index}, which is no block; "
                "write it as Text, Image, Audio, ResourceLink or EmbeddedResource"
            )
    try:
        shown = [in_version(block.as_dict(), version) for block in content]
        return encoding.encode(shown, max_depth=max_depth).text[1:-1]
    except encoding.EncodingError as error:
        raise ContentError(f"its content cannot be sent as JSON, {error}") from None


def in_version(block: dict[str, Any], version: str) -> dict[str, Any]:
    """A ``ContentBlock`` as a version has it.

    ``block`` is written as the newest version has it, and is not changed; site-relative icons in it become public.
    """
    if not has(f"ContentBlock.{block['type']}", version):
        shown = _kept(block, version, "annotations")
        return {**shown, "type": "text", "text": _described(block)}
    made = _kept(block, version, *block)
    if "resource" in block and not has("ResourceContents._meta", version):
        made["resource"] = {key: value for key, value in block["resource"].items() if key != "_meta"}
    if "icons" in block:
        if has("ResourceLink.icons", version):
            made["icons"] = published(block["icons"])
        else:
            del made["icons"]
    return made


def _kept(block: dict[str, Any], version: str, *fields: str) -> dict[str, Any]:
    made = {field: block[field] for field in fields if field in block}
    if "_meta" in made and not has("ContentBlock._meta", version):
        del made["_meta"]
    annotations = made.get("annotations", {})
    if "lastModified" in annotations and not has("Annotations.lastModified", version):
        made["annotations"] = {key: value for key, value in annotations.items() if key != "lastModified"}
    return made


def _described(block: dict[str, Any]) -> str:
    """A block that a version lacks, in words: what it is called, where it is, what it is."""
    name = block.get("title") or block.get("name") or block["type"]
    where = f": {block['uri']}" if "uri" in block else ""
    kind = f" ({block['mimeType']})" if "mimeType" in block else ""
    about = f". {block['description']}" if "description" in block else ""
    return f"{name}{where}{kind}{about}"
