"""Icons in a manifest: which sources can leave the site, and files of a module as part of what is listed.

A file (``module://shop/icons/bag.svg``) becomes a ``data:`` URI at import: no server has to hand it out, and clients
that show icons of the server's own origin alone show it too. ``/static/…`` stays as it is; it is put below the site's
public URL whenever it is listed.
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_gateway.manifest.uris import SCHEME, Files
from mcp_gateway.schemas import Refused
from mcp_gateway.schemas.dialects import pointer
from mcp_gateway.schemas.faults import shown

THEMES = ("light", "dark")

# Every list of tools carries it.
MAX_ICON_BYTES = 32 * 1024


class IconRefused(Exception):
    """An icon's file cannot be taken: where in the list (a pointer), and why."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where


def icons_problem(value: Any) -> tuple[str, str] | None:
    """What is wrong with a list of icons as it is written: a pointer below it and a message; None if nothing is."""
    if not isinstance(value, list):
        return "", f"“icons” must be a list of objects, not {shown(value)}."
    for index, icon in enumerate(value):
        if not isinstance(icon, Mapping) or not isinstance(icon.get("src"), str):
            return f"/{index}", "An icon is an object with a “src”, a URI."
        src = icon["src"]
        if src.startswith("//") or not src.startswith(("https://", "data:", SCHEME, "/")):
            return f"/{index}/src", (
                f"The “src” of an icon is {shown(src)}, which clients refuse. Write an https: or data: URI, a path of "
                f"the site such as /static/shop/bag.svg, or a file of a module, {SCHEME}shop/icons/bag.svg."
            )
        if not isinstance(icon.get("mimeType", ""), str):
            return f"/{index}/mimeType", "The “mimeType” of an icon must be text."
        sizes = icon.get("sizes", [])
        if not isinstance(sizes, list) or not all(isinstance(size, str) for size in sizes):
            return f"/{index}/sizes", 'The “sizes” of an icon are a list of texts such as "48x48".'
        if icon.get("theme", "light") not in THEMES:
            return f"/{index}/theme", 'The “theme” of an icon is "light" or "dark".'
    return None


def with_files(icons: Sequence[Mapping[str, Any]], files: Files) -> list[dict[str, Any]]:
    """Sound icons, those of module files as ``data:`` URIs. Raises `IconRefused` for a file that is no picture."""
    made = []
    for index, icon in enumerate(icons):
        if icon["src"].startswith(SCHEME):
            made.append(_inline(icon, files, pointer(index)))
        else:
            made.append(dict(icon))
    return made


def _inline(icon: Mapping[str, Any], files: Files, where: str) -> dict[str, Any]:
    src = icon["src"]
    try:
        canonical, data = files.read(src)
    except Refused as error:
        raise IconRefused(f"{where}/src", str(error)) from None
    kind = icon.get("mimeType") or mimetypes.guess_type(canonical)[0] or ""
    if not kind.startswith("image/"):
        raise IconRefused(
            f"{where}/mimeType" if icon.get("mimeType") else f"{where}/src",
            f"{src} is no picture by its {'“mimeType”' if icon.get('mimeType') else 'name'}. "
            'Give the icon a “mimeType” such as "image/png".',
        )
    if len(data) > MAX_ICON_BYTES:
        raise IconRefused(
            f"{where}/src",
            f"{src} has more than {MAX_ICON_BYTES} bytes, and every list of tools would carry it. Make it smaller, or "
            "serve it among the static files and write /static/….",
        )
    encoded = base64.b64encode(data).decode()
    return {**icon, "src": f"data:{kind};base64,{encoded}", "mimeType": kind}
