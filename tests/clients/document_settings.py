"""The site with an internet of one server on this machine, which the run of the tests started (tests/oauth/web.py)."""

from zolinga_site.settings import *  # noqa: F403
from zolinga_site.settings import ZOLINGA

# More clients register from this one address than a site would let.
ZOLINGA["REGISTRATION"] = {"FETCHER": "tests.clients.document_fetcher.Fetcher", "PER_HOUR": 1000}
