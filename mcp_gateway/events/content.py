"""What a handler puts beside its response for people and models: texts, pictures, sounds, links, whole resources.

The blocks are those of the specification's ``ContentBlock``, written here without base64 and without an envelope.
All of them take two keywords more: ``annotations`` (``{"audience": ["user"], "priority": 0.9, "lastModified": …}``,
see server/resources, “Annotations”) and ``meta``, an object that clients get as ``_meta``. A block that is written
wrongly raises ``TypeError`` or ``ValueError`` at once, where it is written.
"""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.functional import Promise

from mcp_gateway.resources.uris import NEVER, scheme_of

AUDIENCES = ("user", "assistant")

# RFC 3986 section 3.1, and nothing that cannot stand in a URI at all.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"\\^`{|}\x00-\x1f\x7f]+")

# RFC 2045 section 5.1: type, subtype, and parameters after a semicolon.
_MIME_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:\s*;.*)?", re.ASCII)

_ICON_SOURCES = ("https://", "data:", "/")

Bytes = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What all blocks have. It is no block itself: write `Text`, `Image`, `Audio` and so on."""

    TYPE: ClassVar[str] = ""

    annotations: Mapping[str, Any] | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.annotations is not None:
            _check_annotations(self.annotations)
        if self.meta is not None and not isinstance(self.meta, Mapping):
            raise TypeError(f"The meta of a block is a dictionary, not {type(self.meta).__name__}.")

    def own_fields(self) -> dict[str, Any]:
        """The members that only this type has."""
        raise NotImplementedError(f"{type(self).__name__} is no block; write Text, Image, Audio or another.")

    def as_dict(self) -> dict[str, Any]:
        """The block as the newest version of the protocol has it; values as `mcp_gateway.encoding` takes them."""
        made = {"type": self.TYPE, **self.own_fields()}
        if self.annotations:
            made["annotations"] = dict(self.annotations)
        if self.meta:
            made["_meta"] = dict(self.meta)
        return made


@dataclass(frozen=True, slots=True)
class Text(Block):
    """A text to read; a lazy one is fine."""

    TYPE: ClassVar[str] = "text"

    text: str | Promise

    def __post_init__(self) -> None:
        Block.__post_init__(self)
        _check_text("text", self.text)

    def own_fields(self) -> dict[str, Any]:
        """``text``."""
        return {"text": self.text}


@dataclass(frozen=True, slots=True)
class Medium(Block):
    """What `Image` and `Audio` have: the bytes of a file, and what they are."""

    data: Bytes
    mime_type: str

    def __post_init__(self) -> None:
        Block.__post_init__(self)
        _check_medium(self)

    def own_fields(self) -> dict[str, Any]:
        """``data`` in base64, ``mimeType``."""
        return {"data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Image(Medium):
    """A picture: the bytes of its file, and what they are (``image/png``)."""

    TYPE: ClassVar[str] = "image"


@dataclass(frozen=True, slots=True)
class Audio(Medium):
    """A sound: the bytes of its file, and what they are (``audio/wav``)."""

    TYPE: ClassVar[str] = "audio"


@dataclass(frozen=True, slots=True)
class ResourceLink(Block):
    """A resource that the client may read by its URI, or show.

    ``name`` is for programs, ``title`` for people, ``size`` the number of its bytes; ``icons`` are as in a
    manifest, without files of modules.
    """

    TYPE: ClassVar[str] = "resource_link"

    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    icons: tuple[Mapping[str, Any], ...] | list[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        Block.__post_init__(self)
        _check_uri(self.uri)
        for field in ("name", "title", "description"):
            _check_text(field, getattr(self, field))
        if not self.name:
            raise ValueError("A ResourceLink needs a name.")
        if self.mime_type:
            _check_mime_type(self.mime_type)
        if self.size is not None and (isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 0):
            raise ValueError(f"The size of a ResourceLink is a number of bytes, not {self.size!r:.100}.")
        if not isinstance(self.icons, (list, tuple)) or not all(
            isinstance(icon, Mapping) and str(icon.get("src")).startswith(_ICON_SOURCES) for icon in self.icons
        ):
            raise ValueError(
                'The icons of a ResourceLink are a list of dictionaries such as {"src": "https://…"}; a source may '
                "also be a data: URI, or a path of the site such as /static/shop/bag.svg."
            )

    def own_fields(self) -> dict[str, Any]:
        """``uri``, ``name`` and what else was given."""
        optional = {
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
            "icons": [dict(icon) for icon in self.icons],
        }
        made = {"uri": self.uri, "name": self.name, **{key: value for key, value in optional.items() if value}}
        return made if self.size is None else {**made, "size": self.size}


@dataclass(frozen=True, slots=True)
class EmbeddedResource(Block):
    """A resource with all that is in it: a text, or the bytes of something that is none."""

    TYPE: ClassVar[str] = "resource"

    uri: str
    contents: str | Bytes
    mime_type: str = ""

    def __post_init__(self) -> None:
        Block.__post_init__(self)
        _check_uri(self.uri)
        if not isinstance(self.contents, (str, Bytes)):
            raise TypeError(
                f"The contents of an EmbeddedResource are a text or bytes, not {type(self.contents).__name__}."
            )
        if self.mime_type:
            _check_mime_type(self.mime_type)

    def own_fields(self) -> dict[str, Any]:
        """``resource``, with ``text`` or with ``blob`` in base64."""
        resource: dict[str, Any] = {"uri": self.uri}
        if self.mime_type:
            resource["mimeType"] = self.mime_type
        if isinstance(self.contents, str):
            resource["text"] = self.contents
        else:
            resource["blob"] = _base64(self.contents)
        return {"resource": resource}


def _base64(data: Bytes) -> str:
    return base64.b64encode(data).decode()


def _check_text(field: str, value: Any) -> None:
    if not isinstance(value, (str, Promise)):
        raise TypeError(f"The {field} of a block is text, not {type(value).__name__}.")


def _check_medium(block: Medium) -> None:
    kind = type(block).__name__
    if not isinstance(block.data, Bytes):
        raise TypeError(
            f"The data of an {kind} are the bytes of its file, not {type(block.data).__name__}; base64 is made of them."
        )
    _check_mime_type(block.mime_type)
    if not block.mime_type.startswith(f"{block.TYPE}/"):
        raise ValueError(
            f"The MIME type of an {kind} begins with {block.TYPE}/, and {block.mime_type!r:.100} does not. "
            "Anything else goes into an EmbeddedResource."
        )


def _check_mime_type(value: Any) -> None:
    if not isinstance(value, str) or not _MIME_TYPE.fullmatch(value):
        raise ValueError(f"{value!r:.100} is no MIME type; write one such as “image/png”.")


def _check_uri(value: Any) -> None:
    if not isinstance(value, str) or not _URI.fullmatch(value):
        raise ValueError(
            f"{value!r:.200} is no URI. It begins with a scheme, as in “https://…”, and holds no spaces or braces."
        )
    if scheme_of(value) in NEVER:
        raise ValueError(
            f"A URI of the scheme “{scheme_of(value)}” never reaches a client: it names places of a machine."
            " Name the resource by a scheme of your own, such as “shop:…”."
        )


def _check_annotations(value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"The annotations of a block are a dictionary, not {type(value).__name__}.")
    audience = value.get("audience", ())
    if not isinstance(audience, (list, tuple)) or not all(one in AUDIENCES for one in audience):
        raise ValueError(f"The audience of a block is a list of {' and '.join(AUDIENCES)}, not {audience!r:.100}.")
    priority = value.get("priority", 0)
    if isinstance(priority, bool) or not isinstance(priority, (int, float)) or not 0 <= priority <= 1:
        raise ValueError(f"The priority of a block is a number from 0 to 1, not {priority!r:.100}.")
    modified = value.get("lastModified", "")
    if not isinstance(modified, (str, datetime.datetime)):
        raise TypeError(f"The lastModified of a block is a datetime or ISO 8601 text, not {type(modified).__name__}.")
    unknown = sorted(str(key) for key in value if key not in ("audience", "priority", "lastModified"))
    if unknown:
        raise ValueError(f"Annotations have audience, priority and lastModified, and no {unknown[0]!r:.100}.")
