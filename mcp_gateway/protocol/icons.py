"""Icons as clients get them (2026-07-28, basic, “icons”): every ``src`` a URI that leads somewhere from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcp_gateway.conf import gateway_settings


def published(icons: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Icons with site-relative sources (``/static/shop/bag.svg``) below the site's public URL, the rest as they are."""
    return [{**icon, "src": _public(icon["src"])} for icon in icons]


def _public(src: str) -> str:
    return gateway_settings.public_url + src if src.startswith("/") else src
