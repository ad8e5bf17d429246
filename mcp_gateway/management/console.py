"""The console script ``zolinga``.

::

    zolinga                          imports the manifests, as manage.py import_manifests does
    zolinga --dry-run                the same with that command's options
    zolinga my:event --key=value     dispatches an event, as manage.py dispatch_event does

The project is that of the ``manage.py`` in the current folder; without one that of ``DJANGO_SETTINGS_MODULE``.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

MANAGE = "manage.py"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the arguments (those of the process, without its name) mean.

    Ends by ``SystemExit`` where the command does; 2 where there is no project.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given in (["-h"], ["--help"]):
        print((__doc__ or "").split("::", 1)[1].strip("\n"))
        return
    # After "--" nothing is an option: Django would take --settings and --pythonpath anywhere in a line for its own.
    command = ["dispatch_event", "--"] if given and not given[0].startswith("-") else ["import_manifests"]
    folder = Path.cwd()
    if (folder / MANAGE).is_file():
        # As Python itself does for a script: its folder, and not that of this one, comes first.
        sys.path[0:1] = [str(folder)]
        sys.argv = [MANAGE, *command, *given]
        runpy.run_path(str(folder / MANAGE), run_name="__main__")
        return
    if os.environ.get("DJANGO_SETTINGS_MODULE"):
        from django.core.management import execute_from_command_line

        sys.path.insert(0, str(folder))
        execute_from_command_line(["zolinga", *command, *given])
        return
    print(
        "zolinga: there is no Django project here. Run it in the folder of the project's manage.py, or name the "
        "project's settings in DJANGO_SETTINGS_MODULE.",
        file=sys.stderr,
    )
    sys.exit(2)


if __name__ == "__main__":
    main()
