"""The site's own settings, without the example module: what is measured has exactly the tools it was given."""

from __future__ import annotations

from zolinga_site.settings import *  # noqa: F403
from zolinga_site.settings import INSTALLED_APPS, ZOLINGA

INSTALLED_APPS = [app for app in INSTALLED_APPS if app != "modules.example"]

# For tests.benchmarks.slow; no other case has a tool of that name.
ZOLINGA = {**ZOLINGA, "MAX_CONCURRENT_CALLS": {"slow": 8}}
