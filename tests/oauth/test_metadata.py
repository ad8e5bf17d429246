"""The metadata documents: where they are, what they say, and where there are none."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from mcp_gateway.models import Endpoint, Scope

pytestmark = pytest.mark.django_db

RESOURCE = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


def document(client: Client, path: str, **headers: Any) -> dict[str, Any]:
    response = client.get(path, **headers)
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "application/json"
    found: dict[str, Any] = response.json()
    return found


def test_the_path_form_describes_the_endpoint_at_that_path(client: Client) -> None:
    Scope.objects.create(name="orders:read")
    Scope.objects.create(name="secret", advertised=False)
    Scope.objects.create(name="gone", enabled=False)
    found = document(client, f"{RESOURCE}/mcp")
    assert found["resource"] == "http://testserver/mcp"
    assert found["authorization_servers"] == ["http://testserver"]
    assert found["bearer_methods_supported"] == ["header"]
    assert {"mcp:tools", "orders:read"} <= set(found["scopes_supported"])
    assert not {"secret", "gone", "offline_access"} & set(found["scopes_supported"])
    assert found["resource_name"] == "MCP gateway"


def test_the_slash_form_is_the_url_that_was_typed(client: Client) -> None:
    assert document(client, f"{RESOURCE}/mcp/")["resource"] == "http://testserver/mcp/"


def test_the_root_form_describes_the_default_endpoint(client: Client) -> None:
    assert document(client, RESOURCE)["resource"] == "http://testserver/mcp"


def test_a_further_endpoint_has_a_document_while_it_is_enabled(client: Client) -> None:
    endpoint = Endpoint.objects.create(slug="billing", title="Billing")
    found = document(client, f"{RESOURCE}/mcp/billing")
    assert (found["resource"], found["resource_name"]) == ("http://testserver/mcp/billing", "Billing")
    endpoint.enabled = False
    endpoint.save()
    assert client.get(f"{RESOURCE}/mcp/billing").status_code == 404


@pytest.mark.parametrize("document_path", [RESOURCE, SERVER, OPENID])
@pytest.mark.parametrize("suffix", ["/nosuch", "/mcp/nosuch", "/mcpx", "/mcp//", "//mcp", "/http://testserver/mcp"])
def test_what_does_not_exist_is_404(client: Client, document_path: str, suffix: str) -> None:
    response = client.get(document_path + suffix)
    assert response.status_code == 404
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("path", [SERVER, f"{SERVER}/mcp", OPENID, f"{OPENID}/mcp"])
def test_the_authorization_server_says_only_what_it_does(client: Client, path: str) -> None:
    found = document(client, path)
    assert found["issuer"] == "http://testserver"
    assert found["authorization_endpoint"] == "http://testserver/oauth/authorize/"
    assert found["token_endpoint"] == "http://testserver/oauth/token/"
    assert found["revocation_endpoint"] == "http://testserver/oauth/revoke_token/"
    assert found["response_types_supported"] == ["code"]
    assert found["grant_types_supported"] == ["authorization_code", "refresh_token", "client_credentials"]
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert "none" in found["token_endpoint_auth_methods_supported"]
    assert found["authorization_response_iss_parameter_supported"] is True
    assert found["registration_endpoint"] == "http://testserver/oauth/register/"


def test_the_host_header_is_never_believed(client: Client, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    found = document(client, f"{RESOURCE}/mcp", HTTP_HOST="evil.example")
    assert found["resource"] == "http://testserver/mcp"
    assert found["authorization_servers"] == ["http://testserver"]


@pytest.mark.parametrize("header", [None, ("HTTP_X_FORWARDED_PROTO", "https")])
def test_behind_a_proxy_everything_is_https(client: Client, settings: Any, header: tuple[str, str] | None) -> None:
    settings.ZOLINGA = {"PUBLIC_URL": "https://mcp.example"}
    settings.ALLOWED_HOSTS = ["mcp.example"]
    settings.SECURE_PROXY_SSL_HEADER = header
    sent: dict[str, Any] = {"HTTP_HOST": "mcp.example", "HTTP_X_FORWARDED_PROTO": "https"}
    found = document(client, f"{RESOURCE}/mcp", **sent)
    assert found["resource"] == "https://mcp.example/mcp"
    assert found["authorization_servers"] == ["https://mcp.example"]
    server = document(client, SERVER, **sent)
    assert all(url.startswith("https://mcp.example/") for name, url in server.items() if name.endswith("_endpoint"))


def test_under_a_path_prefix_issuer_and_documents_carry_it(client: Client, settings: Any) -> None:
    settings.ZOLINGA = {"PUBLIC_URL": "https://h.example/prefix"}
    for suffix in ("/mcp", "/prefix/mcp"):
        assert document(client, RESOURCE + suffix)["resource"] == "https://h.example/prefix/mcp"
    for path in (SERVER, f"{SERVER}/prefix"):
        found = document(client, path)
        assert found["issuer"] == "https://h.example/prefix"
        assert found["token_endpoint"] == "https://h.example/prefix/oauth/token/"


def test_no_login_is_asked_for(client: Client, settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    for path in (RESOURCE, f"{RESOURCE}/mcp", SERVER, OPENID):
        assert document(client, path)
    assert client.get(f"{RESOURCE}/nosuch").status_code == 404


@pytest.mark.parametrize("path", [f"{RESOURCE}/mcp", SERVER, OPENID])
def test_only_reading_is_served_and_told_so(path: str) -> None:
    response = Client(enforce_csrf_checks=True).post(path)
    assert response.status_code == 405
    assert "GET" in response["Allow"]


def test_web_pages_may_read_the_documents(client: Client) -> None:
    assert client.get(f"{RESOURCE}/mcp", HTTP_ORIGIN="https://app.example")["Access-Control-Allow-Origin"] == "*"


def test_without_an_authorization_server_there_is_no_document(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.oauth.urls_misplaced"
    assert client.get(f"/api{RESOURCE}/api/mcp").status_code == 200
    settings.ROOT_URLCONF = "mcp_gateway.urls.well_known"
    assert client.get(SERVER).status_code == 404
    assert client.get(RESOURCE).status_code == 404


def test_an_openid_provider_keeps_its_own_discovery(client: Client, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "OIDC_ENABLED": True}
    assert document(client, OPENID)["userinfo_endpoint"] == "http://testserver/oauth/userinfo/"
    assert "userinfo_endpoint" not in document(client, SERVER)


@pytest.mark.parametrize("path", [RESOURCE, f"{RESOURCE}/mcp", SERVER, OPENID, "/mcp/zolinga.schema.json"])
def test_a_document_that_a_client_still_has_is_not_sent_again(client: Client, path: str) -> None:
    first = client.get(path)
    assert first["ETag"]
    again = client.get(path, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert again["Access-Control-Allow-Origin"] == "*"
    assert client.get(path, headers={"If-None-Match": '"another"'}).content == first.content


def test_a_document_that_changed_is_sent(client: Client) -> None:
    before = client.get(RESOURCE)["ETag"]
    Scope.objects.create(name="orders:read")
    changed = client.get(RESOURCE, headers={"If-None-Match": before})
    assert changed.status_code == 200
    assert "orders:read" in changed.json()["scopes_supported"]
