"""The system checks: silent where nothing is protected, else id, consequence and the line to paste."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, Error, run_checks

from mcp_gateway.conf import RFC_9700, oauth2_provider
from mcp_gateway.models import Endpoint, Tool

PROTECTED = {"listen": [{"event": "x", "class": "a.B", "method": "c", "right": "oauth2:scope mcp:tools"}]}
OPEN = {"listen": [{"event": "x", "class": "a.B", "method": "c", "right": "member of users"}]}


@pytest.fixture(autouse=True)
def _only_written_modules(settings: Any, module_dir: Path, db: None) -> None:
    """The example module protects a tool; here only the modules of the test count.

    Django's own checks of models ask the database what it can do.
    """
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "modules.example"]
    settings.LOGIN_URL = "oauth2_provider:login"
    settings.ZOLINGA = {"PUBLIC_URL": "http://testserver", "MODULE_DIRS": [module_dir], "SERVER_THREADS": 16}
    settings.ROOT_URLCONF = "tests.oauth.urls"


@pytest.fixture
def protected(write_module: Callable[..., Path]) -> None:
    write_module(PROTECTED)


def found(deploy: bool = False) -> dict[str, CheckMessage]:
    """Our messages by id, without the part before the dot."""
    messages = run_checks(include_deployment_checks=deploy)
    return {
        str(message.id).removeprefix("mcp_gateway."): message
        for message in messages
        if str(message.id).startswith("mcp_gateway.")
    }


@pytest.mark.usefixtures("protected")
def test_a_project_that_did_everything_hears_nothing() -> None:
    assert found() == {}


@pytest.mark.parametrize("manifest", [{}, OPEN, "{", "[]", {"listen": {"right": 5}}, {"listen": [5, {"right": 5}]}])
def test_oauth_checks_are_silent_while_no_right_names_a_scope(
    write_module: Callable[..., Path], settings: Any, manifest: Any
) -> None:
    write_module(manifest)
    settings.OAUTH2_PROVIDER = {}
    settings.ROOT_URLCONF = "tests.oauth.urls_endpoint_only"
    assert found(deploy=True) == {}


@pytest.mark.usefixtures("protected")
def test_each_omission_has_the_line_to_paste(settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {}
    settings.ROOT_URLCONF = "tests.oauth.urls_endpoint_only"
    messages = found()
    assert set(messages) == {"W003", "W004", "W011", "W012", "W013", "W014"}
    assert 'path("oauth/", include("mcp_gateway.oauth.urls"))' in str(messages["W003"].hint)
    assert 'path("", include("mcp_gateway.urls.well_known"))' in str(messages["W004"].hint)
    assert 'OAUTH2_PROVIDER = oauth2_provider(public_url="https://…")' in str(messages["W012"].hint)
    assert "plain text" in messages["W012"].msg


@pytest.mark.usefixtures("protected")
def test_each_option_is_named_alone(settings: Any) -> None:
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver")
    del settings.OAUTH2_PROVIDER["ALLOW_LOCALHOST_LOOPBACK"]
    assert set(found()) == {"W014"}
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver", ALLOW_LOCALHOST_LOOPBACK=False)
    assert found() == {}


def test_an_endpoint_without_url_is_noticed(settings: Any) -> None:
    settings.ROOT_URLCONF = "mcp_gateway.urls.well_known"
    messages = found()
    assert set(messages) == {"W002"}
    assert 'path("", include("mcp_gateway.urls"))' in str(messages["W002"].hint)


def test_the_toolkits_urls_beside_ours_are_an_error(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.oauth.urls_both"
    message = found()["E003"]
    assert isinstance(message, Error)
    assert "“/o/” and “/oauth/”" in message.msg


@pytest.mark.usefixtures("protected")
def test_the_toolkits_urls_instead_of_ours_and_misplaced_documents(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.oauth.urls_misplaced"
    messages = found()
    assert set(messages) == {"W003", "W004"}
    assert "instead of oauth2_provider.urls" in str(messages["W003"].hint)
    assert "/api/.well-known/oauth-protected-resource" in messages["W004"].msg


@pytest.mark.usefixtures("protected")
def test_a_login_url_that_leads_nowhere_or_to_the_admin(settings: Any) -> None:
    settings.LOGIN_URL = "/accounts/login/"
    assert "/oauth/login/" in found()["W005"].msg
    settings.LOGIN_URL = "nosuchname"
    assert set(found()) == {"W005"}
    settings.ROOT_URLCONF = "tests.oauth.urls_admin"
    settings.LOGIN_URL = "admin:login"
    assert set(found()) == {"W006"}
    settings.LOGIN_URL = "https://login.example/"
    assert found() == {}


def test_the_endpoints_address_in_place_of_the_sites(settings: Any) -> None:
    settings.ZOLINGA = {"PUBLIC_URL": "https://mcp.example/tools/mcp/"}
    told = found()["W021"]
    assert told.msg == (
        "The site's address is https://mcp.example/tools/mcp, so clients are told that its MCP endpoint is at "
        "https://mcp.example/tools/mcp/mcp."
    )
    assert "https://mcp.example/tools. " in str(told.hint)
    for address in ("https://mcp.example", "https://mcp.example/tools", "https://mcp.example/mcp2"):
        settings.ZOLINGA = {"PUBLIC_URL": address}
        assert "W021" not in found()


@pytest.mark.usefixtures("protected")
def test_a_deployment_says_its_address_and_uses_tls(settings: Any, module_dir: Path) -> None:
    settings.ZOLINGA = {"MODULE_DIRS": [module_dir], "SERVER_THREADS": 16}
    settings.ALLOWED_HOSTS = ["*"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.OAUTH2_PROVIDER = oauth2_provider("")
    assert set(found(deploy=True)) == {"W007"}
    assert found() == {}
    settings.OAUTH2_PROVIDER = oauth2_provider("http://mcp.example")
    assert set(found(deploy=True)) == {"W008"}
    for address in ("https://mcp.example", "http://127.0.0.1:8000"):
        settings.OAUTH2_PROVIDER = oauth2_provider(address)
        assert found(deploy=True) == {}


@pytest.mark.usefixtures("protected")
def test_two_addresses_are_one_too_many(settings: Any) -> None:
    settings.OAUTH2_PROVIDER = oauth2_provider("https://other.example")
    assert isinstance(found()["E004"], Error)


def test_a_setting_that_cannot_be_used_is_an_error_with_its_name(settings: Any) -> None:
    settings.ZOLINGA = {"PUBLIC_URL": "mcp.example", "PAGE_SIZE": 0}
    messages = [message for message in run_checks() if str(message.id) == "mcp_gateway.E001"]
    assert any('ZOLINGA["PUBLIC_URL"]' in message.msg for message in messages)
    assert any('ZOLINGA["PAGE_SIZE"]' in message.msg for message in messages)


def test_the_toolkit_has_nothing_against_our_options(settings: Any) -> None:
    settings.OAUTH2_PROVIDER = oauth2_provider("https://mcp.example", **RFC_9700)
    messages = run_checks(include_deployment_checks=True)
    ids = {str(message.id) for message in messages if str(message.id).startswith("oauth2_provider.")}
    # http stays for programs that listen on this computer (RFC 8252 section 7.3).
    assert ids == {"oauth2_provider.W008"}


def test_a_manifest_that_is_no_file_is_not_read(module_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: Path) -> bytes:
        pytest.fail(f"{path} is a device whose reading never ends")

    folder = module_dir / "odd"
    folder.mkdir()
    (folder / "zolinga.json").symlink_to("/dev/zero")
    monkeypatch.setattr(Path, "read_bytes", read)
    assert found() == {}


def test_django_cors_headers_before_the_endpoint_is_pointed_out(settings: Any) -> None:
    settings.MIDDLEWARE = ["corsheaders.middleware.CorsMiddleware", *settings.MIDDLEWARE]
    assert "CORS_URLS_REGEX" in str(found()["W009"].hint)
    settings.CORS_URLS_REGEX = r"^/api/"
    assert "W009" not in found()


def test_an_endpoint_at_which_nobody_would_ever_log_in_is_pointed_out(
    write_module: Callable[..., Path], import_manifests: Callable[..., Any]
) -> None:
    def warned() -> bool:
        return any(message.id == "mcp_gateway.W010" for message in run_checks(databases=["default"]))

    entry = {
        "class": "\\Demo\\Handler",
        "method": "run",
        "origin": ["mcp"],
        "description": "x",
        "schema": {"response": {}},
    }
    code = "class Handler:\n    def run(self, event):\n        pass\n"
    guarded = {**entry, "event": "guarded", "right": "oauth2:scope mcp:tools", "visibility": "authorized"}
    write_module({"listen": [{**entry, "event": "open"}, guarded]}, {"handler.py": code})
    import_manifests()
    assert warned()
    Tool.objects.filter(name="guarded").update(visibility_override="listed")
    assert not warned()
    Tool.objects.filter(name="guarded").update(visibility_override=None)
    Endpoint.objects.update(access=Endpoint.Access.TOKEN)
    assert not warned()
