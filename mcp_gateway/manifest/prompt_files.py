"""``mcp/prompts/<basename>.meta.json``: a prompt with its arguments and messages."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_gateway.manifest import meta_files
from mcp_gateway.manifest.meta_files import (
    COMMON_KEYS,
    FOLDERS,
    PROMPT,
    SUFFIX,
    ModuleContext,
)
from mcp_gateway.manifest.meta_files import PublishedState as State
from mcp_gateway.manifest.meta_remarks import remark_keys, remark_rest
from mcp_gateway.manifest.uris import SCHEME
from mcp_gateway.models.prompt import MAX_NAME
from mcp_gateway.resources import mime, uris
from mcp_gateway.resources.annotations import ROLES
from mcp_gateway.resources.members import contents_faults, member_faults
from mcp_gateway.resources.placeholders import PLACEHOLDER, is_placeholder
from mcp_gateway.resources.providing import get_event
from mcp_gateway.schemas import Refused
from mcp_gateway.schemas.dialects import pointer as to_pointer
from mcp_gateway.schemas.faults import names, shown, type_name
from mcp_gateway.schemas.reading import to_text

KNOWN_KEYS = COMMON_KEYS | {"messages", "uri"}
TYPES = ("text", "image", "audio", "resource", "resource_link")

_NO_RESOURCE = (
    "“resource” is missing: an object with the “uri” that clients see, and with a “text”, unless a “uri” beside “type” "
    'names a file: {"type": "resource", "uri": "notes.md", "resource": {"uri": "mcp-system:shop:notes.md"}}.'
)

_NAME = re.compile(r"[^\x00-\x1f\x7f]+")


def read_prompt(filename: str, context: ModuleContext) -> State:
    """Read a meta file; never raises: what is wrong with it is in its ``faults``."""
    basename = filename.removesuffix(SUFFIX)
    state = State(PROMPT, f"{FOLDERS[PROMPT]}/{filename}", uris.published(context.module_id, basename)[:MAX_NAME])
    raw = meta_files.read_object(state, context)
    if raw is None:
        return state
    name = meta_files.text(state, raw, "name", MAX_NAME)
    if name and not _NAME.fullmatch(name):
        state.refuse("/name", "The name holds control characters. Remove them.")
    elif name:
        state.key = name
    meta_files.read_common(state, raw)
    meta_files.read_arguments(state, raw)
    messages = raw.get("messages")
    if messages is None:
        if not context.answered(get_event(state.key)):
            state.refuse("/messages", f"“messages” is missing, and no listener answers to {get_event(state.key)}.")
    elif not isinstance(messages, list) or not messages:
        state.refuse("/messages", f"“messages” must be a list of at least one message, not {type_name(messages)}.")
    else:
        read = [_message(state, message, index, context) for index, message in enumerate(messages)]
        _unknown_placeholders(state, read)
        if not state.faults:
            state.take(to_text(read).encode())
            if len(state.content or b"") > context.limit:
                state.refuse("/messages", f"The messages have more than {context.limit} bytes (MAX_RESULT_BYTES).")
    meta_files.read_extras(state, raw, KNOWN_KEYS, context)
    remark_keys(state, raw, KNOWN_KEYS)
    remark_rest(state, context, get_event(state.key), "every other prompt whose name begins so")
    return state


def _message(state: State, message: Any, index: int, context: ModuleContext) -> Any:
    where = to_pointer("messages", index)
    if not isinstance(message, Mapping):
        state.refuse(where, f"A message is an object with “role” and “content”, not {shown(message)}.")
        return None
    role = message.get("role")
    if role not in ROLES:
        state.warn(f"{where}/role", f"The role is {' or '.join(ROLES)}, not {shown(role)}; it counts as user.")
        role = "user"
    content = message.get("content")
    if not isinstance(content, Mapping) or content.get("type") not in TYPES:
        state.refuse(f"{where}/content", f"“content” is one object whose “type” is {', '.join(TYPES)}.")
        return None
    block = dict(content)
    for at, fault in member_faults(block):
        state.refuse(f"{where}/content{at}", fault)
    _block(state, block, f"{where}/content", context)
    return {"role": role, "content": block}


def _block(state: State, block: dict[str, Any], where: str, context: ModuleContext) -> None:
    """Put the content of a file in its place, and see that nothing is missing that a client needs."""
    kind = block["type"]
    if kind == "resource_link":
        _visible(state, block.get("uri"), f"{where}/uri", context)
        if not isinstance(block.get("name"), str):
            state.refuse(f"{where}/name", "A link needs a “name”.")
        return
    data = None
    reference = block.pop("uri", None)
    if reference is not None:
        try:
            if not isinstance(reference, str):
                raise Refused("“uri” must be text.")
            data = meta_files.file_content(context, meta_files.file_uri(context, state, reference))
        except Refused as refused:
            state.refuse(f"{where}/uri", str(refused))
            return
    if kind == "text":
        if data is not None and "text" not in block:
            block["text"] = _decoded(state, data, f"{where}/uri")
        if not isinstance(block.get("text"), str):
            state.refuse(f"{where}/text", "A text needs a “text”, or the “uri” of a file of the module.")
    elif kind == "resource":
        _embedded(state, block, data, reference, where, context)
    else:
        if data is not None:
            block["data"] = base64.b64encode(data).decode()
            block.setdefault("mimeType", mime.guess(str(reference), data))
        if not mime.is_base64(block.get("data")):
            state.refuse(f"{where}/data", f"An {kind} needs “data” in base64, or the “uri” of a file of the module.")
        if not isinstance(block.get("mimeType"), str) or not mime.is_mime_type(block["mimeType"]):
            state.refuse(f"{where}/mimeType", f"An {kind} needs a “mimeType”.")


def _embedded(
    state: State, block: dict[str, Any], data: bytes | None, reference: Any, where: str, context: ModuleContext
) -> None:
    given = block.get("resource")
    if not isinstance(given, Mapping):
        state.refuse(f"{where}/resource", _NO_RESOURCE)
        return
    resource = block["resource"] = dict(given)
    _visible(state, resource.get("uri"), f"{where}/resource/uri", context)
    if data is not None:
        mime_type = resource.get("mimeType")
        if not isinstance(mime_type, str):
            resource["mimeType"] = mime_type = mime.guess(str(reference), data)
        try:
            resource |= {k: v for k, v in mime.contents("", mime_type, data).items() if k in ("text", "blob")}
        except UnicodeDecodeError:
            state.refuse(f"{where}/uri", f"The file is not UTF-8, and {mime_type} is text. Save it as UTF-8.")
    for pointer, fault in contents_faults(resource):
        state.refuse(f"{where}/resource{pointer}", fault)


def _visible(state: State, uri: Any, where: str, context: ModuleContext) -> None:
    """A URI that a client will see; one that an argument makes is judged when it is made."""
    if not isinstance(uri, str) or not uri:
        state.refuse(where, "A “uri” is needed.")
    elif uri.startswith(SCHEME):
        state.refuse(where, "Clients never see module:// URIs. Name the URI under which the file is published.")
    elif not is_placeholder(uri):
        if not uris.is_uri(uri):
            state.refuse(where, f"{shown(uri)} is no URI (RFC 3986).")
        elif not uris.may_leave(uri, context.schemes):
            state.refuse(where, f"The module does not declare the scheme {shown(uris.scheme_of(uri))} (“schemes”).")


def _decoded(state: State, data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        state.refuse(where, f"The file is not UTF-8 (byte {error.start}). Save it as UTF-8.")
        return ""


def _unknown_placeholders(state: State, messages: list[Any]) -> None:
    """Point out what looks like a placeholder and stays as it is."""
    known = {argument["name"] for argument in state.arguments}
    unknown = {name.strip() for text in _texts(messages) for name in PLACEHOLDER.findall(text)} - known
    if unknown:
        state.warn("/messages", f"No argument is called {names(unknown)}; the text stays as it is.")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _texts(entry)
