"""``mcp/resources/<basename>.meta.json``: a resource with its content, or a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from mcp_gateway.manifest import meta_files
from mcp_gateway.manifest.meta_files import COMMON_KEYS, FOLDERS, MAX_TEXT, RESOURCE, SUFFIX, ModuleContext
from mcp_gateway.manifest.meta_files import PublishedState as State
from mcp_gateway.manifest.meta_remarks import remark_keys, remark_rest
from mcp_gateway.manifest.uris import SCHEME
from mcp_gateway.models.resource import MAX_URI
from mcp_gateway.resources import mime, uris
from mcp_gateway.resources.providing import read_event
from mcp_gateway.resources.templates import Template
from mcp_gateway.schemas import Refused
from mcp_gateway.schemas.faults import shown

KNOWN_KEYS = COMMON_KEYS | {"uri", "uriTemplate", "mimeType", "content", "size"}


def read_resource(filename: str, context: ModuleContext) -> State:
    """Read a meta file; never raises: what is wrong with it is in its ``faults``."""
    basename = filename.removesuffix(SUFFIX)
    state = State(RESOURCE, f"{FOLDERS[RESOURCE]}/{filename}", uris.published(context.module_id, basename))
    state.name = basename.encode("utf-8", "replace").decode()[:MAX_TEXT]
    raw = meta_files.read_object(state, context)
    if raw is None:
        return state
    state.name = meta_files.text(state, raw, "name", MAX_TEXT) or state.name
    meta_files.read_common(state, raw)
    state.mime_type = meta_files.text(state, raw, "mimeType", 200)
    if state.mime_type and not mime.is_mime_type(state.mime_type):
        state.refuse("/mimeType", f"{shown(state.mime_type)} is no MIME type, such as text/markdown.")
    internal = _identity(state, raw, context)
    if len(state.key) > MAX_URI:
        state.refuse("/uri", f"The URI has more than {MAX_URI} characters. Shorten it.")
        state.key = state.key[:MAX_URI]
    if state.is_template:
        if "content" in raw:
            state.refuse("/content", "A template has no content of its own: a listener answers for its URIs.")
    elif not state.faults:
        _content(state, raw, context, internal, basename)
    meta_files.read_extras(state, raw, KNOWN_KEYS, context)
    remark_keys(state, raw, KNOWN_KEYS)
    remark_rest(state, context, read_event(state.key), "every other URI of its scheme")
    if state.mime_type == "" and state.content is not None:
        state.mime_type = mime.guess(basename, state.content)
    if not state.faults and state.content is not None:
        try:
            mime.contents(state.key, state.mime_type, state.content)
        except UnicodeDecodeError:
            state.refuse("/mimeType", f"The content is not UTF-8, and {state.mime_type} is text. Save it as UTF-8.")
    return state


def _identity(state: State, raw: Mapping[str, Any], context: ModuleContext) -> str:
    """Settle the URI or the template; gives back the ``module://`` URI of the content where ``uri`` is one."""
    uri = meta_files.text(state, raw, "uri", None)
    template = meta_files.text(state, raw, "uriTemplate", MAX_URI)
    if template:
        if uri:
            state.refuse("/uriTemplate", "A file names a “uri” or a “uriTemplate”, not both.")
            return ""
        _template(state, raw, template, context)
        return ""
    if "arguments" in raw:
        state.refuse("/arguments", "Only prompts and templates have arguments.")
    if not uri or uri.startswith(SCHEME):
        # As in the original: the place of the content, which no client ever sees.
        return uri
    problem = _uri_problem(uri, context)
    if problem:
        state.refuse("/uri", problem)
    else:
        state.key = uri
    return ""


def _uri_problem(uri: str, context: ModuleContext) -> str:
    if not uris.is_uri(uri):
        return f"{shown(uri)} is no URI (RFC 3986). Write a scheme, a colon and encoded characters."
    if not uris.may_leave(uri, context.schemes):
        scheme = uris.scheme_of(uri)
        cure = uris.declaration_problem(scheme) or f'Declare it: "schemes": [{shown(scheme)}] in zolinga.json.'
        return f"The module does not declare the scheme {shown(scheme)}. {cure}"
    return ""


def _template(state: State, raw: Mapping[str, Any], text: str, context: ModuleContext) -> None:
    state.is_template = True
    try:
        template = Template(text)
    except ValueError as error:
        state.refuse("/uriTemplate", f"The template cannot be used: {error}")
        return
    # Judged by what it expands to; a variable never stands where the scheme is.
    problem = _uri_problem("x".join(template.literals), context)
    if problem:
        state.refuse("/uriTemplate", problem)
        return
    state.key = text
    meta_files.read_arguments(state, raw, template.variables)
    if not context.answered(read_event(text)):
        state.warn(
            "/uriTemplate", f"No listener of the module answers for it. Add one to the event {read_event(text)}."
        )


def _content(state: State, raw: Mapping[str, Any], context: ModuleContext, internal: str, basename: str) -> None:
    """Read the content: ``content.text``, ``content.uri``, a ``module://`` URI, or the file beside the meta file."""
    value = raw.get("content")
    where = "/content"
    if value is not None:
        given = value if isinstance(value, Mapping) else {}
        inline, reference = given.get("text"), given.get("uri")
        if isinstance(inline, str) and reference is None:
            state.take(inline.encode())
            if not state.mime_type:
                state.mime_type = mime.TEXT
            return
        if not isinstance(reference, str) or inline is not None:
            state.refuse(where, "“content” is an object with a “text”, or with the “uri” of a file of the module.")
            return
        where, uri = "/content/uri", meta_files.file_uri(context, state, reference)
    elif internal:
        where, uri = "/uri", internal
    else:
        where, uri = "", meta_files.file_uri(context, state, quote(basename))
        lacks = not context.files.has(uri)
        if lacks and context.answered(read_event(state.key)):
            return
        if lacks and uris.is_of_the_web(state.key):
            state.warn("/uri", "It has no content here: clients fetch it from the web themselves.")
            return
    try:
        state.take(meta_files.file_content(context, uri))
    except Refused as refused:
        state.refuse(where, f"Its content cannot be taken. {refused}")
