"""What the doctor found, for people and for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

_WIDTH = 110
_INDENT = " " * 10


class Level(StrEnum):
    """How bad it is. Only a fault keeps clients out."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAULT = "fault"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One step: what was seen, what a client does with it, and where something is wrong, how to mend it.

    ``check`` is the id of the system check with the same rule, where there is one.
    """

    step: str
    level: Level
    saw: str
    client: str = ""
    cure: str = ""
    check: str = ""


@dataclass
class Report:
    """All findings in the order of the walk; ``told`` hears of each as it is made."""

    url: str
    findings: list[Finding] = field(default_factory=list)
    told: Callable[[Finding], None] = lambda finding: None

    def add(self, step: str, level: Level, saw: str, client: str = "", cure: str = "", check: str = "") -> Finding:
        """Write a finding down."""
        finding = Finding(step, level, saw, client, cure, check)
        self.findings.append(finding)
        self.told(finding)
        return finding

    @property
    def faults(self) -> int:
        """How many findings keep clients out."""
        return self._count(Level.FAULT)

    def _count(self, level: Level) -> int:
        return sum(finding.level is level for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The report as ``--json`` prints it: ``url``, ``faults``, ``warnings`` and ``findings``."""
        return {
            "url": self.url,
            "faults": self.faults,
            "warnings": self._count(Level.WARNING),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def summary(self) -> str:
        """The last line."""
        faults, warnings = self.faults, self._count(Level.WARNING)
        skipped = self._count(Level.SKIPPED)
        words = [f"{faults} fault{'s'[: faults != 1]}", f"{warnings} warning{'s'[: warnings != 1]}"]
        if skipped:
            words.append(f"{skipped} not looked at")
        return f"{self.url}: {', '.join(words)}."


def render(finding: Finding) -> str:
    """A finding as text of some lines."""
    check = f" ({finding.check})" if finding.check else ""
    parts = [(f"{finding.level:<9} ", f"{finding.step}{check}: {finding.saw}")]
    if finding.client:
        parts.append((_INDENT, f"A client: {finding.client}"))
    if finding.cure:
        parts.append((_INDENT, f"To mend it: {finding.cure}"))
    lines: list[str] = []
    for lead, text in parts:
        first, *verbatim = text.split("\n")
        lines += textwrap.wrap(
            first,
            _WIDTH,
            initial_indent=lead,
            subsequent_indent=_INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += [f"{_INDENT}{line}" for line in verbatim]
    return "\n".join(lines)
