"""Icons as pictures: those that a page of admin can show without asking anybody else for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.urls import get_script_prefix
from django.utils.html import format_html
from django.utils.translation import gettext

from mcp_gateway.admin.display import lines, pretty_json

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

# In an <img> a browser runs no script of an SVG, and lets it load nothing.
_INLINE = re.compile(r"data:image/(png|jpeg|webp|gif|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}")


def pictures(icons: Iterable[Mapping[str, Any]]) -> SafeString:
    """Each icon with its theme and sizes; one of another site is named only, so that nobody hears who looks at it."""
    rows = [_picture(icon) for icon in icons]
    return lines(rows) if rows else pretty_json("")


def _picture(icon: Mapping[str, Any]) -> SafeString:
    src = str(icon.get("src", ""))
    about = ", ".join([icon.get("theme", ""), *icon.get("sizes", ())]).strip(", ")
    shown = _address(src)
    if not shown:
        return format_html("{} {}", about, gettext("not shown: it is at %(host)s") % {"host": src[:100]})
    return format_html(
        '<img class="mcp-icon mcp-icon-{}" src="{}" alt="{}"> {}',
        icon.get("theme", "any"),
        shown,
        gettext("icon"),
        about,
    )


def _address(src: str) -> str:
    """What an ``<img>`` of this site's pages may load; empty where it is anything else."""
    # A browser takes tabs and line breaks out, and two slashes lead to another site.
    if src.startswith("/") and not src.startswith(("//", "/\\")) and src.isprintable():
        return get_script_prefix().rstrip("/") + src
    return src if _INLINE.fullmatch(src) else ""
