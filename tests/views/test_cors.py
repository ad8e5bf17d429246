"""Browser clients: what their preflights and their answers say, and that nobody else gets any of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client as Browser

from mcp_gateway.models import Endpoint

pytestmark = pytest.mark.django_db

PAGE = "https://inspector.example"
ENDPOINTS = ["/mcp", "/oauth/token/", "/oauth/revoke_token/", "/oauth/register/"]
DOCUMENTS = [
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
]
HEADERS = "authorization,content-type,mcp-method,mcp-param-region,mcp-protocol-version,x-anything"
LIST = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'


@pytest.fixture(autouse=True)
def _allowed(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.oauth.urls"
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": "http://testserver", "ALLOWED_ORIGINS": [PAGE]}


def preflight(path: str, origin: str = PAGE, method: str = "POST", **headers: Any) -> Any:
    asked = {"HTTP_ORIGIN": origin, "HTTP_ACCESS_CONTROL_REQUEST_METHOD": method, **headers}
    asked.setdefault("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", HEADERS)
    return Browser(enforce_csrf_checks=True).options(path, **asked)


@pytest.mark.parametrize("path", ENDPOINTS)
def test_a_preflight_is_answered_before_anybody_is_asked_who_he_is(path: str) -> None:
    Endpoint.objects.update(access=Endpoint.Access.TOKEN)
    response = preflight(path)
    assert response.status_code == 204
    assert response["Access-Control-Allow-Origin"] == PAGE
    assert response["Access-Control-Allow-Methods"] == "POST"
    assert response["Access-Control-Allow-Headers"] == HEADERS
    assert int(response["Access-Control-Max-Age"]) > 0
    assert "Origin" in response["Vary"]
    assert "Access-Control-Request-Headers" in response["Vary"]
    assert "Access-Control-Allow-Credentials" not in response


def test_a_login_that_a_whole_site_requires_is_not_asked_of_a_preflight(settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    for path in (*ENDPOINTS, "/oauth/register/some-client/"):
        assert preflight(path).status_code == 204


@pytest.mark.parametrize("path", DOCUMENTS)
def test_any_page_may_read_the_metadata_with_whatever_headers(path: str) -> None:
    response = preflight(path, "https://anybody.example", "GET")
    assert response.status_code == 204
    assert response["Access-Control-Allow-Origin"] == "*"
    assert response["Access-Control-Allow-Headers"] == HEADERS
    found = Browser().get(path, HTTP_ORIGIN="https://anybody.example")
    assert found["Access-Control-Allow-Origin"] == "*"
    missing = Browser().get(f"{path}/nosuch", HTTP_ORIGIN="https://anybody.example")
    assert (missing.status_code, missing["Access-Control-Allow-Origin"]) == (404, "*")


def test_the_challenge_of_a_401_can_be_read_by_the_page() -> None:
    """HTTP-13 of the handed cases."""
    Endpoint.objects.update(access=Endpoint.Access.TOKEN)
    response = Browser().post("/mcp", LIST, content_type="application/json", HTTP_ORIGIN=PAGE)
    assert response.status_code == 401
    assert response["Access-Control-Allow-Origin"] == PAGE
    exposed = {name.strip() for name in response["Access-Control-Expose-Headers"].split(",")}
    assert {"WWW-Authenticate", "Mcp-Session-Id", "Retry-After"} <= exposed
    assert "Origin" in response["Vary"]


def test_answers_and_errors_alike_can_be_read_by_the_page() -> None:
    for body, status in ((LIST, 200), ("{", 400)):
        response = Browser().post("/mcp", body, content_type="application/json", HTTP_ORIGIN=PAGE)
        assert (response.status_code, response["Access-Control-Allow-Origin"]) == (status, PAGE)
    for path in ENDPOINTS[1:]:
        response = Browser().post(path, {}, HTTP_ORIGIN=PAGE)
        assert response.status_code >= 400
        assert response["Access-Control-Allow-Origin"] == PAGE, path


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://inspector.example.evil.example"])
@pytest.mark.parametrize("path", ENDPOINTS)
def test_a_page_of_another_origin_gets_nothing(path: str, origin: str) -> None:
    response = preflight(path, origin)
    assert not [name for name in response.headers if name.lower().startswith("access-control")]
    if path == "/mcp":
        assert response.status_code == 403
    response = Browser().post(path, "{}", content_type="application/json", HTTP_ORIGIN=origin)
    assert not [name for name in response.headers if name.lower().startswith("access-control")]


def test_without_a_page_nothing_is_said_of_pages() -> None:
    response = Browser().post("/mcp", LIST, content_type="application/json")
    assert response.status_code == 200
    assert not [name for name in response.headers if name.lower().startswith("access-control")]
    assert "Origin" not in response.headers.get("Vary", "")
    assert "Access-Control-Allow-Methods" not in Browser().options("/mcp")


def test_no_page_may_ask_for_consent_in_the_background() -> None:
    response = preflight("/oauth/authorize/")
    assert "Access-Control-Allow-Origin" not in response


@pytest.mark.parametrize("asked", ["x\r\ny", "x" * 5000, "ü", ""])
def test_headers_that_are_none_are_not_repeated(asked: str) -> None:
    response = preflight("/mcp", HTTP_ACCESS_CONTROL_REQUEST_HEADERS=asked)
    assert response.status_code == 204
    assert "Access-Control-Allow-Headers" not in response
