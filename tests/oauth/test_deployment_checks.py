"""The system checks of what stands between clients and a deployed site."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.conf import oauth2_provider
from tests.oauth.test_checks import OPEN, PROTECTED, found

SITE = "https://mcp.example.com"


@pytest.fixture(autouse=True)
def _site(settings: Any, write_module: Callable[..., Path], db: None) -> None:
    write_module(PROTECTED)
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "modules.example"]
    settings.ROOT_URLCONF = "tests.oauth.urls"
    settings.LOGIN_URL = "oauth2_provider:login"
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": SITE, "SERVER_THREADS": 16}
    settings.OAUTH2_PROVIDER = oauth2_provider(SITE)
    settings.ALLOWED_HOSTS = ["mcp.example.com"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.CSRF_TRUSTED_ORIGINS = []


def test_a_site_that_did_everything_hears_nothing() -> None:
    assert found(deploy=True) == {}


@pytest.mark.parametrize(("hosts", "ids"), [([], {"W015"}), (["*"], set()), ([".example.com"], set())])
def test_the_site_answers_to_its_public_name(settings: Any, hosts: list[str], ids: set[str]) -> None:
    settings.ALLOWED_HOSTS = hosts
    assert set(found(deploy=True)) == ids


def test_behind_tls_django_has_to_know_of_it(settings: Any) -> None:
    settings.SECURE_PROXY_SSL_HEADER = None
    assert "SECURE_PROXY_SSL_HEADER" in str(found(deploy=True)["I002"].hint)
    settings.CSRF_TRUSTED_ORIGINS = [SITE]
    assert found(deploy=True) == {}


def test_a_path_prefix_needs_rules_at_the_proxy(settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": f"{SITE}/shop"}
    settings.OAUTH2_PROVIDER = oauth2_provider(f"{SITE}/shop")
    assert "rewrite ^(.*)$ /shop$1 last;" in str(found(deploy=True)["I003"].hint)


def test_sessions_in_the_memory_of_each_worker_are_pointed_out(settings: Any) -> None:
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    assert set(found(deploy=True)) == {"W016"}
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache"}}
    assert found(deploy=True) == {}


def test_they_are_silent_while_no_right_names_a_scope(settings: Any, write_module: Callable[..., Path]) -> None:
    write_module(OPEN)
    settings.ALLOWED_HOSTS = []
    settings.SECURE_PROXY_SSL_HEADER = None
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"
    assert found(deploy=True) == {}
