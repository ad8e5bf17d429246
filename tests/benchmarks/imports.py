"""How fast manifests are imported: a thousand modules of ten tools, the first time and with nothing changed.

``python -m tests.benchmarks.imports`` under the settings of a prepared site runs the command ``import_manifests`` and
prints, as its last line, the CPU seconds of the import in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from importlib import import_module
from typing import Any

from tests.benchmarks.gateway import ROOT, Site
from tests.benchmarks.rounds import Options, Results

TOOLS = 10_000


def measure(options: Options, results: Results, wanted: set[str]) -> None:
    """Whole runs of the command, each round on a new database.

    ``tools_per_second`` counts the start of the process, the command's checks and its report as well; ``cpu`` is the
    CPU time of the import alone, in seconds. Whether there is anything to do is known only after the start, which
    takes as long either way.
    """
    folder = options.folder / "imports"
    site = Site(folder, TOOLS)
    for _ in range(options.rounds):
        shutil.rmtree(folder / "data", ignore_errors=True)
        site.migrate()
        for case in ("import first", "import again"):
            whole, cpu = _timed(site)
            results.add(case, {"cpu": cpu, "seconds": whole, "tools_per_second": TOOLS / whole})


def _timed(site: Site) -> tuple[float, float]:
    """Seconds of one run of the command as a process, and CPU seconds of the import in it."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        cwd=ROOT,
        env={**os.environ, **site.environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    whole = time.perf_counter() - began
    if done.returncode:
        raise SystemExit("import_manifests failed; its output is above.")
    return whole, float(done.stdout.splitlines()[-1])


def main() -> None:
    import django
    from django.core.management import execute_from_command_line

    django.setup()
    command = import_module("mcp_gateway.management.commands.import_manifests")
    run_import, taken = command.run_import, 0.0

    def timed(**keys: Any) -> Any:
        nonlocal taken
        began = time.process_time()
        plan = run_import(**keys)
        taken = time.process_time() - began
        return plan

    command.run_import = timed  # type: ignore[attr-defined]
    execute_from_command_line(["manage.py", "import_manifests"])
    print(taken)


if __name__ == "__main__":
    main()
