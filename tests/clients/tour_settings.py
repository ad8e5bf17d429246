"""The site with the conformance fixtures beside its own modules, and with short pages."""

from pathlib import Path

from zolinga_site.settings import *  # noqa: F403
from zolinga_site.settings import ZOLINGA

ZOLINGA["MODULE_DIRS"] = [*ZOLINGA["MODULE_DIRS"], Path(__file__).parent.parent / "conformance" / "modules"]
ZOLINGA["PAGE_SIZE"] = 5
