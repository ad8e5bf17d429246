"""The dictionary ``ZOLINGA``: defaults, what is refused, and that a change is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from mcp_gateway import conf
from mcp_gateway.conf import gateway_settings


@pytest.fixture
def zolinga(settings: Any) -> Any:
    """Set ``ZOLINGA`` to the given keys alone."""

    def put(value: Any = None, **keys: Any) -> None:
        settings.ZOLINGA = keys if value is None else value

    return put


def test_everything_has_a_default(settings: Any) -> None:
    del settings.ZOLINGA
    settings.OAUTH2_PROVIDER = {}
    assert gateway_settings.public_url == "http://127.0.0.1:8000"
    assert not gateway_settings.has_public_url
    assert gateway_settings.module_dirs == ()
    assert gateway_settings.handler_packages == ()
    assert gateway_settings.allowed_origins == frozenset()
    assert gateway_settings.max_body_bytes == 4 * 1024 * 1024
    assert gateway_settings.max_result_bytes == 16 * 1024 * 1024
    assert gateway_settings.max_json_depth == 64
    assert gateway_settings.page_size == 1000
    assert gateway_settings.allow_tokens_without_audience is False
    assert gateway_settings.config == {}
    assert gateway_settings.unknown == []


def test_every_setting_is_documented() -> None:
    for name in conf.KNOWN:
        assert f"``{name}``" in str(conf.__doc__)


def test_a_changed_setting_is_seen(zolinga: Any) -> None:
    zolinga(PAGE_SIZE=5)
    assert gateway_settings.page_size == 5
    with override_settings(ZOLINGA={"PAGE_SIZE": 7}):
        assert gateway_settings.page_size == 7
    assert gateway_settings.page_size == 5


def test_the_public_url_may_be_said_once_in_the_oauth_options(zolinga: Any, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = conf.oauth2_provider(public_url="https://mcp.example.com/")
    zolinga()
    assert gateway_settings.public_url == "https://mcp.example.com"
    assert gateway_settings.has_public_url
    zolinga(PUBLIC_URL="https://other.example.com")
    assert gateway_settings.public_url == "https://other.example.com"


@pytest.mark.parametrize(
    ("written", "url", "origin"),
    [
        ("https://mcp.example.com", "https://mcp.example.com", "https://mcp.example.com"),
        ("https://mcp.example.com/", "https://mcp.example.com", "https://mcp.example.com"),
        ("https://MCP.example.com:443/shop/", "https://MCP.example.com:443/shop", "https://mcp.example.com"),
        ("http://[::1]:8000", "http://[::1]:8000", "http://[::1]:8000"),
        ("http://example.com:80", "http://example.com:80", "http://example.com"),
    ],
)
def test_the_public_url_and_its_origin(zolinga: Any, written: str, url: str, origin: str) -> None:
    zolinga(PUBLIC_URL=written)
    assert gateway_settings.public_url == url
    assert gateway_settings.origin == origin


@pytest.mark.parametrize(
    "written",
    [
        "mcp.example.com",
        "ftp://example.com",
        "https://",
        "https://example.com?x=1",
        "https://example.com#x",
        "https://example.com:port",
        "https://[::1",
        "https://user:secret@example.com",
        "https://…",
        "https://<host>/shop",
        8000,
    ],
)
def test_a_public_url_that_is_none_is_refused_with_the_cure(zolinga: Any, written: Any) -> None:
    zolinga(PUBLIC_URL=written)
    with pytest.raises(ImproperlyConfigured, match='for example "https://mcp'):
        gateway_settings.public_url  # noqa: B018


def test_a_loopback_site_has_three_origins(zolinga: Any) -> None:
    zolinga(PUBLIC_URL="http://localhost:8000")
    assert gateway_settings.own_origins == {
        "http://localhost:8000",
        "http://127.0.0.1:8000",
        "http://[::1]:8000",
    }
    zolinga(PUBLIC_URL="https://mcp.example.com")
    assert gateway_settings.own_origins == {"https://mcp.example.com"}


def test_allowed_origins_are_compared_as_browsers_write_them(zolinga: Any) -> None:
    zolinga(ALLOWED_ORIGINS=["https://App.Example.com:443", "http://localhost:3000/", "chrome-extension://abc"])
    assert gateway_settings.allowed_origins == {
        "https://app.example.com",
        "http://localhost:3000",
        "chrome-extension://abc",
    }


@pytest.mark.parametrize("origin", ["null", "*", "app.example.com", "https://a.example/path", "https://a.example:x"])
def test_what_is_no_origin_is_refused(zolinga: Any, origin: str) -> None:
    zolinga(ALLOWED_ORIGINS=[origin])
    with pytest.raises(ImproperlyConfigured, match="an origin is scheme, host and port"):
        gateway_settings.allowed_origins  # noqa: B018


@pytest.mark.parametrize("key", ["ALLOWED_ORIGINS", "HANDLER_PACKAGES", "ATOMIC_DATABASES", "MODULE_DIRS"])
@pytest.mark.parametrize("value", ["one", None, 5, [5], {"a": "b"}])
def test_a_list_that_is_none_is_refused(zolinga: Any, key: str, value: Any) -> None:
    zolinga(**{key: value})
    with pytest.raises(ImproperlyConfigured, match=f'ZOLINGA."{key}". must be a list'):
        getattr(gateway_settings, key.lower())


def test_module_dirs_are_paths(zolinga: Any, tmp_path: Path) -> None:
    zolinga(MODULE_DIRS=[str(tmp_path), tmp_path])
    assert gateway_settings.module_dirs == (tmp_path, tmp_path)


@pytest.mark.parametrize("key", ["MAX_BODY_BYTES", "MAX_RESULT_BYTES", "MAX_JSON_DEPTH", "PAGE_SIZE"])
@pytest.mark.parametrize("value", [0, -1, True, "10", 1.5, None])
def test_a_limit_is_a_whole_number_above_zero(zolinga: Any, key: str, value: Any) -> None:
    zolinga(**{key: value})
    with pytest.raises(ImproperlyConfigured, match=f'ZOLINGA."{key}". is .* a whole number above 0'):
        getattr(gateway_settings, key.lower())


@pytest.mark.parametrize("value", [-1, True, "8192", 1.5, None])
def test_the_length_to_compress_from_is_a_whole_number(zolinga: Any, value: Any) -> None:
    zolinga(GZIP_BYTES=0)
    assert gateway_settings.gzip_bytes == 0
    zolinga(GZIP_BYTES=value)
    with pytest.raises(ImproperlyConfigured, match=r'ZOLINGA."GZIP_BYTES". is .* 0 or more'):
        gateway_settings.gzip_bytes  # noqa: B018


@pytest.mark.parametrize("value", [[], "x", 5])
def test_what_is_no_dictionary_is_refused(zolinga: Any, value: Any) -> None:
    zolinga(value)
    with pytest.raises(ImproperlyConfigured, match="ZOLINGA must be a dictionary"):
        gateway_settings.page_size  # noqa: B018
    zolinga(CONFIG=value)
    with pytest.raises(ImproperlyConfigured, match="CONFIG"):
        gateway_settings.config  # noqa: B018


@pytest.mark.filterwarnings("ignore:Overriding setting DATABASES:UserWarning")
def test_handlers_run_in_a_transaction_on_the_default_and_on_atomic_databases(zolinga: Any, settings: Any) -> None:
    databases = {
        **settings.DATABASES,
        "replica": {**settings.DATABASES["default"]},
        "orders": {**settings.DATABASES["default"], "ATOMIC_REQUESTS": True},
    }
    with override_settings(DATABASES=databases):
        zolinga()
        assert list(gateway_settings.atomic_databases) == ["default", "orders"]
        zolinga(ATOMIC_DATABASES=["replica"])
        assert list(gateway_settings.atomic_databases) == ["replica"]
        zolinga(ATOMIC_DATABASES=["nowhere"])
        with pytest.raises(ImproperlyConfigured, match="'nowhere', which is not in DATABASES"):
            gateway_settings.atomic_databases  # noqa: B018


def test_a_key_that_means_nothing_is_reported(zolinga: Any, db: None) -> None:
    zolinga(PUBLIC_URI="https://example.com")
    messages = [message for message in run_checks() if message.id == "mcp_gateway.W001"]
    assert len(messages) == 1
    assert "PUBLIC_URI" in messages[0].msg
