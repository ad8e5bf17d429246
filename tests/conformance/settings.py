"""The site's settings for the conformance suite: the fixture module and no other."""

from __future__ import annotations

from pathlib import Path

from zolinga_site.settings import *  # noqa: F403
from zolinga_site.settings import INSTALLED_APPS, ZOLINGA

INSTALLED_APPS = [app for app in INSTALLED_APPS if not app.startswith("modules.")]
ZOLINGA = {**ZOLINGA, "MODULE_DIRS": [Path(__file__).parent / "modules"]}
