"""What a change does while ``manage.py up --reload`` serves: an import, and new workers if they would have all code.

``python -m zolinga_site.reloading`` imports the manifests and looks whether a new process can load what is served. The
server, which never loads the site's code itself, runs it after every change and keeps its workers until it ends well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from io import StringIO
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent

COMMAND = (sys.executable, "-m", "zolinga_site.reloading")

# Seconds between two looks at the files while something has to be mended.
LOOK = 0.5

HELD = "Not restarted: the workers go on with the code that they have until this is mended."

# Folders that no worker loads code from, and what loading it writes.
SKIPPED = frozenset({"__pycache__", "node_modules"})


def import_until_sound(folders: Sequence[Path], stopping: threading.Event) -> None:
    """Import the manifests, and again after every change in the folders, until new workers can be started.

    They cannot be while the site does not load or the code of something served does not; the terminal says why.
    """
    while not stopping.is_set():
        seen = dict(_files(folders))
        if subprocess.run(COMMAND, cwd=BASE_DIR, check=False).returncode == 0:  # noqa: S603
            return
        print(HELD, flush=True)
        while not stopping.wait(LOOK) and dict(_files(folders)) == seen:
            pass


def _files(folders: Iterable[Path]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Every file with its time and size."""
    for top in folders:
        for folder, names, files in os.walk(top):
            names[:] = [name for name in names if name not in SKIPPED and not name.startswith(".")]
            for file in files:
                try:
                    status = os.stat(os.path.join(folder, file))
                except OSError:
                    continue
                yield os.path.join(folder, file), (status.st_mtime_ns, status.st_size)


def main() -> int:
    """Import, and look at the code: 0 where new workers have it all. What cannot be loaded at all is raised."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zolinga_site.settings")
    import_module("zolinga_site.wsgi")

    from django.conf import settings
    from django.core.management import call_command
    from django.core.management.base import CommandError
    from django.db import DatabaseError

    import_module(settings.ROOT_URLCONF)
    said = StringIO()
    try:
        call_command("import_manifests", hold=True, stdout=said)
    except SystemExit:
        # Something was refused, and the report says so.
        pass
    except CommandError as error:
        said.write(f"{error}\n")
    try:
        lacking = list(_lacking())
    except DatabaseError:
        # New workers would have the same to say as the old ones.
        lacking = []
    # Last, so that whoever reads it finds the new workers soon.
    print(said.getvalue(), *lacking, sep="\n", flush=True)
    return 1 if lacking else 0


def _lacking() -> Iterator[str]:
    """What a new process would not have of the code that is served, each with what it is for."""
    from mcp_gateway import registry
    from mcp_gateway.events.handlers import HandlerNotFound, check_handler
    from mcp_gateway.manifest.discovery import locate

    reasons: dict[str, list[str]] = {}
    for listener in registry.snapshot().listeners:
        module = listener.module
        source = locate(module.module_id)
        try:
            if source is None:
                raise HandlerNotFound(f"The module {module.module_id} is gone.")
            check_handler(source, module.autoload, listener.class_name, listener.method)
        except HandlerNotFound as missing:
            reasons.setdefault(str(missing), []).append(listener.event)
    for reason, events in reasons.items():
        yield f"Lacking for {', '.join(dict.fromkeys(events))}: {reason}"


if __name__ == "__main__":
    sys.exit(main())
