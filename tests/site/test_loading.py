"""What a process of the site has loaded when its first request comes, and what it does without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import ROOT, Site

LOADED = """
import gc, importlib, sys
importlib.import_module(sys.argv[1])
print(gc.isenabled(), gc.get_freeze_count() > 50_000)
print(*sys.modules)
"""

# Of those that import, check, write and look into modules: what no request to an endpoint needs.
NOT_SERVING = {
    "httpx",
    "jsonschema_specifications",
    "mcp_gateway.authoring",
    "mcp_gateway.doctor.walk",
    "mcp_gateway.manifest.document",
    "mcp_gateway.manifest.drift",
    "mcp_gateway.manifest.plan",
    "referencing",
}


@pytest.mark.once
@pytest.mark.parametrize("application", ["zolinga_site.wsgi", "zolinga_site.asgi"])
def test_a_process_that_serves_has_its_views_and_nothing_that_only_imports_need(
    application: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, application],
        cwd=ROOT,
        env=Site(tmp_path).env,
        capture_output=True,
        text=True,
        check=True,
    )
    collected, names = done.stdout.splitlines()
    assert collected == "True True"
    loaded = set(names.split())
    assert {"mcp_gateway.views.endpoint", "mcp_gateway.oauth.token_views", "mcp_gateway.admin"} <= loaded
    assert {"mcp_gateway.protocol.methods.tool_calls", "mcp_gateway.schemas.rust", "jsonschema_rs"} <= loaded
    assert loaded & NOT_SERVING == set()


SPARED = """
import zolinga_site.wsgi
from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.db import reset_queries
print(request_started.disconnect(reset_queries), request_finished.disconnect(close_caches))
"""

CLOSING = """
from django.core.cache.backends.locmem import LocMemCache
from zolinga_site.settings import *

class Closing(LocMemCache):
    def close(self, **kwargs):
        print("closed")

CACHES = {"default": {"BACKEND": "closing_settings.Closing"}}
"""


@pytest.mark.once
@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({}, "False False"),
        ({"DEBUG": "on"}, "True False"),
        ({"CACHE_URL": "redis://127.0.0.1:1/0"}, "False False"),
        ({"DJANGO_SETTINGS_MODULE": "closing_settings"}, "False True"),
    ],
)
def test_requests_are_spared_what_has_nothing_to_do(environment: dict[str, str], asked: str, tmp_path: Path) -> None:
    (tmp_path / "closing_settings.py").write_text(CLOSING)
    done = subprocess.run(
        [sys.executable, "-c", SPARED],
        cwd=ROOT,
        env={**Site(tmp_path).env, "PYTHONPATH": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[0] == asked
