"""What a person sees: the table, and the same as a chart; what a program sees: every number as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from xml.sax.saxutils import escape

from tests.benchmarks.goals import Verdict
from tests.benchmarks.rounds import Results

#: A client busy for a larger share of the time than this is itself part of what was measured.
BUSY = 0.9

_UNITS = {"per_second": "/s", "p50": " µs", "cpu": " µs", "rss": " MiB", "seconds": " s", "tools_per_second": "/s"}


def number(name: str, value: float) -> str:
    """A number with its unit; seconds of requests and operations in microseconds."""
    if name in ("p50", "cpu"):
        value *= 1e6
    shown = f"{value:.0f}" if value >= 100 else f"{value:.1f}"
    return shown + _UNITS[name]


def table(verdicts: Sequence[Verdict]) -> str:
    """Ours, peer, ratio of medians with its 95 % interval, goal, and whether it is met."""
    lines = [("", "ours", "peer", "ratio", "95 %", "goal", "")]
    for verdict in verdicts:
        goal, ratio = verdict.goal, verdict.ratio
        if ratio is None:
            lines.append(
                (goal.name, "", "", "", "", goal.words, "not met (not measured)" if goal.bound else "not measured")
            )
            continue
        peer = number(goal.number, median(verdict.peers)) if goal.peer else ""
        lines.append(
            (
                goal.name,
                number(goal.number, median(verdict.ours)),
                peer,
                f"{ratio.value:.2f}" if goal.peer else "",
                f"{ratio.low:.2f} to {ratio.high:.2f}" if goal.peer else "",
                goal.words,
                {True: "met", False: "not met", None: ""}[verdict.met],
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    out = []
    for line in lines:
        cells = [
            cell.ljust(width) if column in (0, 6) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)


def remarks(results: Results) -> list[str]:
    """What a reader of the table must know: measurements in which the client was at its limit."""
    return [
        f"The client was busy {100 * max(numbers['busy']):.0f} % of the time in “{case}”: that server may be faster."
        for case, numbers in results.series.items()
        if numbers.get("busy") and max(numbers["busy"]) > BUSY
    ]


def write(folder: Path, results: Results, verdicts: Sequence[Verdict]) -> None:
    """``numbers.json`` with every round of every case, ``table.txt`` and ``chart.svg`` in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "facts": results.facts,
        "goals": [
            {
                "name": verdict.goal.name,
                "ours": verdict.goal.ours,
                "peer": verdict.goal.peer,
                "number": verdict.goal.number,
                "goal": verdict.goal.words,
                "ratio": None
                if verdict.ratio is None
                else [verdict.ratio.value, verdict.ratio.low, verdict.ratio.high],
                "met": verdict.met,
            }
            for verdict in verdicts
        ],
        "rounds": results.series,
    }
    (folder / "numbers.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "table.txt").write_text(table(verdicts) + "\n", encoding="utf-8")
    (folder / "chart.svg").write_text(chart(verdicts), encoding="utf-8")


_ROW, _LEFT, _BAR, _RIGHT, _TOP = 22, 400, 420, 150, 60


def chart(verdicts: Sequence[Verdict]) -> str:
    """One bar per row with a goal: how much of it is reached, cut off at three times; the line is the goal."""
    verdicts = [verdict for verdict in verdicts if verdict.goal.bound is not None]
    height, width = _TOP + _ROW * len(verdicts) + 20, _LEFT + _BAR + _RIGHT
    line = _LEFT + _BAR / 3
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="How much of each goal is reached">',
        "<style>svg{background:#fff}text{fill:#1c2733}.met{fill:#1f7a4d}.not{fill:#b4552d}.line{stroke:#1c2733}"
        "@media (prefers-color-scheme:dark){svg{background:#12181f}text{fill:#e4eaf0}.met{fill:#4fb286}"
        ".not{fill:#e08a5f}.line{stroke:#e4eaf0}}</style>",
        f'<text x="{_LEFT - 10}" y="24" text-anchor="end" font-weight="600">How much of each goal is reached</text>',
        f'<text x="{line:.0f}" y="{_TOP - 12}" text-anchor="middle">goal</text>',
    ]
    for index, verdict in enumerate(verdicts):
        y = _TOP + index * _ROW
        length = max(1.0, min(verdict.reach, 3.0) / 3 * _BAR)
        ratio = (
            "not measured" if verdict.ratio is None else f"{verdict.ratio.value:.3g}{'x' if verdict.goal.peer else ''}"
        )
        kind = "met" if verdict.met else "not"
        parts += [
            f'<text x="{_LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(verdict.goal.name)}</text>',
            f'<rect class="{kind}" x="{_LEFT}" y="{y + 3}" width="{length:.1f}" height="{_ROW - 7}" rx="2"/>',
            f'<text x="{_LEFT + max(length, _BAR / 3) + 8:.0f}" y="{y + 15}">'
            f"{ratio} ({escape(verdict.goal.words)})</text>",
        ]
    parts.append(f'<line class="line" x1="{line:.0f}" x2="{line:.0f}" y1="{_TOP - 6}" y2="{height - 16}"/>')
    return "\n".join([*parts, "</svg>", ""])
