"""The settings the tests run under: the site's own, on a database and folders of the tests.

``DATABASE_URL`` switches to PostgreSQL; without it the tests use SQLite in a file, because they open it from
several threads.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_folder = tempfile.mkdtemp(prefix="zolinga-tests-")
os.environ.setdefault("ZOLINGA_DATA_DIR", _folder)
os.environ.setdefault("SECRET_KEY", "only-for-tests-" + "x" * 40)
os.environ.setdefault("PUBLIC_URL", "http://testserver")
os.environ.setdefault("ALLOWED_HOSTS", "testserver,127.0.0.1,localhost,[::1]")

from zolinga_site.settings import *  # noqa: E402, F403
from zolinga_site.settings import DATABASES, ZOLINGA  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ZOLINGA = {**ZOLINGA, "MODULE_DIRS": []}
DATABASES["default"].setdefault("TEST", {})
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["TEST"]["NAME"] = str(Path(_folder) / "test.sqlite3")
