"""The fetcher of a site under test, in the site's own processes: told by the environment where the internet is."""

from __future__ import annotations

import os
from pathlib import Path

from tests.oauth.web import LocalFetcher, Web

PORT, CERTIFICATE = "ZOLINGA_TEST_WEB_PORT", "ZOLINGA_TEST_WEB_CERTIFICATE"


class Fetcher(LocalFetcher):
    """All hosts are the one server."""

    web = Web(int(os.environ.get(PORT, "0")), Path(os.environ.get(CERTIFICATE, "")))
