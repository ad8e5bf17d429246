"""The report of an import, for a person at a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from mcp_gateway.manifest.plan import Plan
from mcp_gateway.manifest.remarks import Remark


def render(plan: Plan, *, dry_run: bool, verbose: bool = False) -> str:
    """The report as text: what was added, changed, removed and refused, warnings, and a last line that sums up.

    ``verbose`` lists what did not change, too.
    """
    lines: list[str] = []
    sections: list[tuple[str, Sequence[Remark]]] = [
        ("Added", plan.added),
        ("Changed", plan.changed),
        ("Removed", plan.removed),
        *([("Unchanged", plan.unchanged)] if verbose else []),
        ("Warnings", plan.warnings),
        ("Refused", plan.refused),
    ]
    for title, remarks in sections:
        if remarks:
            lines.append(f"{title}:")
            lines.extend(_line(remark, with_place=title in ("Warnings", "Refused")) for remark in remarks)
            lines.append("")
    if plan.held:
        lines.append(f"Kept as it was, because of what is refused or warned of above: {', '.join(plan.held)}.")
    lines.append(_summary(plan, dry_run=dry_run))
    return "\n".join(lines)


def _line(remark: Remark, *, with_place: bool) -> str:
    what = f"{remark.kind} {visible(remark.name)}".strip()
    if remark.module and remark.kind != "module":
        what += f" ({remark.module})"
    text = f"  {what}"
    if with_place and remark.module:
        text += (
            f"\n      at {remark.module}/{remark.place}" if "://" not in remark.file else f"\n      at {remark.place}"
        )
    if remark.message:
        message = visible(remark.message)
        text += f"\n      {message}" if with_place else f": {message}"
    return text


def visible(text: str) -> str:
    """A manifest's words without what would steer the terminal, or turn the line around."""
    if text.isprintable():
        return text
    return "".join(ascii(char)[1:-1] if unicodedata.category(char) in ("Cc", "Cf") else char for char in text)


def _summary(plan: Plan, *, dry_run: bool) -> str:
    counts = [
        f"{len(remarks)} {word}"
        for word, remarks in (
            ("added", plan.added),
            ("changed", plan.changed),
            ("removed", plan.removed),
            ("unchanged", plan.unchanged),
            ("refused", plan.refused),
        )
        if remarks
    ]
    summary = ", ".join(counts) or "no modules found"
    if dry_run:
        return f"Dry run, nothing was written: {summary}."
    if not plan.writes:
        return f"Nothing to do: {summary}." if not plan.refused else f"Nothing was written: {summary}."
    return f"Imported: {summary}."
