"""The site with short pages, so that a list is read in several requests."""

from zolinga_site.settings import *  # noqa: F403
from zolinga_site.settings import ZOLINGA

ZOLINGA["PAGE_SIZE"] = 4
