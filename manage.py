#!/usr/bin/env python
"""Django's command line for the site."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command of the arguments."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zolinga_site.settings")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line

        try:
            execute_from_command_line(sys.argv)
        except ImproperlyConfigured as problem:
            # It says what to write, and where; a trace says where that was noticed.
            if "--traceback" in sys.argv:
                raise
            sys.exit(str(problem))
    except KeyboardInterrupt:
        # What a shell expects of a command that Ctrl-C ended; where it was when it ended interests nobody.
        sys.exit(130)


if __name__ == "__main__":
    main()
