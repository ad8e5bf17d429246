"""Where a request comes from, for limits and for the audit trail."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from mcp_gateway.conf import gateway_settings


def client_address(meta: Mapping[str, Any]) -> str:
    """The caller's IP address, or an empty string where the server names none (a Unix socket).

    Parameters: the request's ``META``. Behind ``ZOLINGA["PROXIES"]`` proxies it is that entry of ``X-Forwarded-For``
    which the outermost of them added; what stands before it, anybody may have written.
    """
    direct = _address(str(meta.get("REMOTE_ADDR") or ""))
    proxies = gateway_settings.proxies
    if not proxies:
        return direct
    forwarded = str(meta.get("HTTP_X_FORWARDED_FOR") or "").split(",")
    entry = forwarded[-proxies] if len(forwarded) >= proxies else forwarded[0]
    return _address(entry) or direct


def network(address: str) -> str:
    """What a limit counts by: an IPv4 address, or the /64 that one subscriber of IPv6 has to himself."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address


def _address(text: str) -> str:
    """An address in its one spelling, without the port that some proxies add; empty for what is none."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return str(mapped or parsed)
