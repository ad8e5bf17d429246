"""Which events can be the name of a tool."""

from __future__ import annotations

import re

from mcp_gateway.schemas.faults import shown

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_PORTABLE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def name_problem(event: str) -> str:
    """Why an event's name cannot be a tool's, or nothing."""
    if _NAME.fullmatch(event):
        return ""
    return (
        f"The name {shown(event)} cannot be a tool's: 1 to 128 ASCII letters, digits and _ . : - are allowed. "
        "Rename the event."
    )


def name_warning(event: str) -> str:
    """Why some hosts would refuse a tool's name, or nothing."""
    if _PORTABLE.fullmatch(event):
        return ""
    return "Some hosts refuse this tool's name: they allow letters, digits, “_” and “-” only, and at most 64 of them."
