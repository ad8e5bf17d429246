"""``python -m tests.benchmarks.instructions``: machine instructions per request, held against what is stored.

A request's instructions do not depend on how busy the machine is, so this can run anywhere. callgrind counts them,
from when the process is warm: the difference of two numbers of requests, divided by how many more there were, is
what one costs. Stored are the ratios to a bare Django view, so that a newer Python or another processor changes
both sides. A ratio more than 5 % above the stored one fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Self

from tests.benchmarks.gateway import ROOT, Site

STORED = Path(__file__).with_name("instructions.json")
TOOLS = 100
#: Requests of a kind before its counting begins, and the two numbers whose difference is taken.
WARM_UP, COUNTED = 40, (20, 120)
COMMAND_SECONDS = 120
TOLERANCE = 1.05
KINDS = ("tools/list", "tools/call", "401")
BARE = "bare Django view"


def main() -> int:
    arguments = _parser().parse_args()
    if not _valgrind():
        print("valgrind is not installed, and without it no instructions can be counted: apt-get install valgrind")
        return 2
    counts = measure()
    bare = counts.pop(BARE)
    ratios = {kind: count / bare for kind, count in counts.items()}
    versions = {name: version(name) for name in ("Django", "djangorestframework", "jsonschema-rs", "orjson")}
    versions["Python"] = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(f"{BARE}: {bare:,} instructions per request")
    if arguments.store:
        document = {"versions": versions, "ratios": {kind: round(ratio, 3) for kind, ratio in ratios.items()}}
        STORED.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        print("\n".join(f"{kind}: {counts[kind]:,}, {ratio:.3f} times as many" for kind, ratio in ratios.items()))
        return 0
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    risen = compare(ratios, stored["ratios"])
    for kind, ratio in ratios.items():
        before = stored["ratios"][kind]
        print(
            f"{kind}: {counts[kind]:,}, {ratio:.3f} times as many; stored {before:.3f}, "
            f"{100 * (ratio / before - 1):+.1f} %{', more than 5 % above' if kind in risen else ''}"
        )
    if versions != stored["versions"]:
        print(f"Stored with {stored['versions']}, counted with {versions}.")
    if risen:
        print(
            "A request costs more than before. If that is wanted, store the new ratios with "
            "“python -m tests.benchmarks.instructions --store” and say in the commit what they buy."
        )
    return 1 if risen else 0


def _valgrind() -> bool:
    """Whether valgrind is there; a CI machine's root installs it where it is missing."""
    if shutil.which("valgrind") is None and os.environ.get("CI") and os.geteuid() == 0 and shutil.which("apt-get"):
        for words in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", "valgrind"]):
            subprocess.run(["apt-get", *words], check=False, stdin=subprocess.DEVNULL)
    return shutil.which("valgrind") is not None


def compare(ratios: dict[str, float], stored: dict[str, float]) -> list[str]:
    """The kinds of request whose ratio rose by more than the tolerance."""
    return [kind for kind, ratio in ratios.items() if ratio > TOLERANCE * stored[kind]]


def measure() -> dict[str, int]:
    """Instructions per request, by kind."""
    with tempfile.TemporaryDirectory(prefix="zolinga-instructions-") as name:
        folder = Path(name)
        site = Site(folder / "site", TOOLS)
        site.prepare()
        environment = {**site.environment, "BENCHMARK_TOKEN": site.token, "BENCHMARK_TOOL": site.protected}
        counts: dict[str, int] = {}
        for application, kinds, variables in (("bare", (BARE,), {}), ("site", KINDS, environment)):
            with Counted(folder / application, application, variables) as counted:
                for kind in kinds:
                    counted.serve(kind, WARM_UP)
                counted.command("instrumentation", "on")
                counts |= {kind: counted.per_request(kind) for kind in kinds}
        return counts


class Counted:
    """A process under callgrind that serves requests on demand; it counts nothing before it is told to."""

    def __init__(self, folder: Path, application: str, environment: dict[str, str]) -> None:
        folder.mkdir(exist_ok=True)
        self._out = folder / "callgrind"
        self._dumps = 0
        self._errors = (folder / "stderr").open("w+")
        self._process = subprocess.Popen(
            [
                *("valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={self._out}"),
                *(sys.executable, "-m", "tests.benchmarks.counted", application),
            ],
            cwd=ROOT,
            # Hashes decide how dictionaries are laid out, and so how many steps a look-up takes.
            env={**os.environ, **environment, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def serve(self, kind: str, count: int) -> None:
        """Have ``count`` requests of a kind served."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count} {kind}\n")
        self._process.stdin.flush()
        self._answer()

    def per_request(self, kind: str) -> int:
        """Instructions of one request, once everything the kind needs is warm."""
        self.serve(kind, WARM_UP)
        few, many = (self._count(kind, number) for number in COUNTED)
        return (many - few) // (COUNTED[1] - COUNTED[0])

    def _count(self, kind: str, number: int) -> int:
        self.command("zero")
        self.serve(kind, number)
        self.command("dump")
        self._dumps += 1
        dump = self._out.with_name(f"{self._out.name}.{self._dumps}").read_text()
        found = re.search(r"^summary: (\d+)$", dump, re.MULTILINE)
        if found is None:
            raise SystemExit("callgrind's dump has no summary; does this version of valgrind write another format?")
        return int(found[1])

    def command(self, *words: str) -> None:
        """Tell callgrind something while the process waits for its next line."""
        told = subprocess.run(
            ["vgdb", f"--pid={self._process.pid}", *words], capture_output=True, text=True, timeout=COMMAND_SECONDS
        )
        if told.returncode:
            raise SystemExit(f"vgdb {' '.join(words)} failed; is ptrace allowed here?\n{told.stderr}")

    def _answer(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "done\n":
            self._errors.seek(0)
            raise SystemExit(f"The process whose instructions are counted ended:\n{self._errors.read()[-4000:]}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.instructions", description=__doc__)
    parser.add_argument("--store", action="store_true", help="keep these ratios as the ones to compare with")
    return parser


if __name__ == "__main__":
    sys.exit(main())
