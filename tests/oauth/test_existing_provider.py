"""A project that already is an OAuth provider goes on as before, whatever the gateway asks of its own requests."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from oauth2_provider.models import get_access_token_model, get_application_model
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauth2_provider.scopes import SettingsScopes

from mcp_gateway.conf import oauth2_provider
from mcp_gateway.oauth.authentication import InvalidToken, check_request
from tests.oauth.flow import MCP, Flow

pytestmark = pytest.mark.filterwarnings("ignore:The OAuth 2.0 resource owner password:DeprecationWarning")

OWN = {
    "SCOPES": {"read": "Read your posts", "write": "Write posts"},
    "OAUTH2_VALIDATOR_CLASS": "tests.oauth.test_existing_provider.ProjectValidator",
    "PKCE_REQUIRED": False,
}


class ProjectValidator(OAuth2Validator):  # type: ignore[misc]
    """A project's own: it refuses one user name, and remembers what it was asked."""

    asked: list[str] = []  # noqa: RUF012

    def validate_user(self, username: str, *args: Any, **kwargs: Any) -> bool:
        self.asked.append(username)
        return username != "mallory" and bool(super().validate_user(username, *args, **kwargs))


class ProjectScopes(SettingsScopes):  # type: ignore[misc]
    """A scopes backend of the project's own."""

    def get_all_scopes(self) -> dict[str, str]:
        return {"read": "Read your posts", "special": "Something special"}

    def get_available_scopes(
        self, application: Any = None, request: Any = None, *args: Any, **kwargs: Any
    ) -> list[str]:
        return ["read", "special"]

    def get_default_scopes(self, application: Any = None, request: Any = None, *args: Any, **kwargs: Any) -> list[str]:
        return ["special"]


@pytest.fixture(params=["by oauth2_provider()", "without"])
def provider(request: Any, settings: Any) -> None:
    """The project's options, through our function and as they were."""
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver", **OWN) if request.param != "without" else OWN


def mobile(**fields: Any) -> Any:
    return get_application_model().objects.create(
        **{
            "client_id": "mobile",
            "client_secret": "s3cret",
            "client_type": "confidential",
            "authorization_grant_type": "password",
            "redirect_uris": "https://client.example/callback",
            **fields,
        }
    )


def password(client: Client, **changed: Any) -> Any:
    form = {"grant_type": "password", "client_id": "mobile", "client_secret": "s3cret", "username": "ada"}
    return client.post("/oauth/token/", {**form, "password": "secret", **changed})


@pytest.mark.usefixtures("provider")
def test_a_password_client_gets_the_tokens_it_always_got(client: Client, user: Any) -> None:
    mobile()
    answer = password(client).json()
    assert (answer["scope"], answer["expires_in"]) == ("read write", 36000)
    assert get_access_token_model().objects.get().resource == []
    refreshed = client.post(
        "/oauth/token/",
        {
            "grant_type": "refresh_token",
            "refresh_token": answer["refresh_token"],
            "client_id": "mobile",
            "client_secret": "s3cret",
        },
    ).json()
    assert refreshed["expires_in"] == 36000
    assert password(client, scope="read").json()["scope"] == "read"
    assert password(client, scope="nosuch").json()["error"] == "invalid_scope"


@pytest.mark.usefixtures("provider")
def test_the_projects_validator_is_asked(client: Client, user: Any) -> None:
    mobile()
    ProjectValidator.asked.clear()
    assert password(client, username="mallory").json()["error"] == "invalid_grant"
    assert ProjectValidator.asked == ["mallory"]


@pytest.mark.usefixtures("provider")
def test_its_tokens_do_not_open_our_endpoint(client: Client, user: Any) -> None:
    mobile()
    with pytest.raises(InvalidToken):
        check_request(f"Bearer {password(client).json()['access_token']}", "")


@pytest.mark.usefixtures("provider")
def test_a_password_does_not_open_our_endpoint_either(client: Client, user: Any) -> None:
    mobile()
    for changed in ({"resource": MCP}, {"scope": "mcp:tools"}, {"resource": MCP, "scope": "read"}):
        assert password(client, **changed).json()["error"] == "unauthorized_client"


@pytest.mark.usefixtures("provider")
def test_its_browser_clients_keep_page_pkce_and_answers(flow: Flow) -> None:
    """No PKCE, the toolkit's page, no ``iss``, no audience, any resource: as the project was before."""
    own: dict[str, Any] = {"resource": None, "scope": "read", "code_challenge": None, "code_challenge_method": None}
    page = flow.open(**own)
    assert "oauth2_provider/authorize.html" in [template.name for template in page.templates]
    assert "Content-Security-Policy" not in page
    fields = {
        "client_id": "robot",
        "redirect_uri": "https://client.example/callback",
        "response_type": "code",
        "scope": "read",
        "state": "s",
    }
    answer = parse_qs(urlsplit(flow.browser.post("/oauth/authorize/", {**fields, "allow": "true"})["Location"]).query)
    assert set(answer) == {"code", "state"}
    assert flow.token(code=answer["code"][0], resource=None, code_verifier=None).json()["expires_in"] == 36000

    answer = parse_qs(urlsplit(flow.browser.post("/oauth/authorize/", fields)["Location"]).query)
    assert set(answer) == {"error", "state"}
    other = flow.open(**{**own, "resource": "https://api.example/"})
    assert other.status_code == 200


@pytest.mark.usefixtures("provider")
def test_its_grants_do_not_grow_into_ours(flow: Flow) -> None:
    code = flow.answer(_allow(flow, "read"))["code"]
    assert flow.token(code=code, resource=MCP).json()["error"] == "invalid_target"


def _allow(flow: Flow, scope: str) -> Any:
    return flow.browser.post(
        "/oauth/authorize/",
        {
            "client_id": "robot",
            "redirect_uri": "https://client.example/callback",
            "response_type": "code",
            "scope": scope,
            "state": "s",
            "code_challenge": parse_qs(flow.query())["code_challenge"][0],
            "code_challenge_method": "S256",
            "allow": "true",
        },
    )


@pytest.mark.usefixtures("provider")
def test_a_request_that_names_our_endpoint_gets_our_rules(flow: Flow) -> None:
    assert flow.answer(flow.open(code_challenge=None, code_challenge_method=None))["error"] == "invalid_request"
    page = flow.open()
    assert "mcp_gateway/oauth/consent.html" in [template.name for template in page.templates]
    answer = flow.token(code=flow.code()).json()
    assert answer["expires_in"] == 900
    assert check_request(f"Bearer {answer['access_token']}", "").principal.authenticated


@pytest.mark.usefixtures("provider")
def test_a_request_for_our_scopes_is_ours_without_a_resource(flow: Flow) -> None:
    answer = flow.token(code=flow.code(resource=None), resource=None).json()
    assert check_request(f"Bearer {answer['access_token']}", "").principal.authenticated
    assert flow.answer(flow.open(resource="https://api.example/"))["error"] == "invalid_target"


def test_its_own_scopes_backend_stays(flow: Flow, settings: Any) -> None:
    backend = "tests.oauth.test_existing_provider.ProjectScopes"
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver", **OWN, SCOPES_BACKEND_CLASS=backend)
    mobile()
    assert password(flow.browser).json()["scope"] == "special"
    answer = flow.token(code=flow.code(scope="mcp:tools special")).json()
    assert set(answer["scope"].split()) == {"mcp:tools", "special"}


@pytest.mark.parametrize(
    "name",
    [
        "authorize",
        "token",
        "revoke-token",
        "introspect",
        "list",
        "register",
        "authorized-token-list",
        "user-info",
        "jwks-info",
        "dcr-register",
        "oauth-server-metadata",
        "device-authorization",
    ],
)
def test_every_url_of_the_toolkit_keeps_its_name(name: str) -> None:
    assert reverse(f"oauth2_provider:{name}").startswith("/oauth/")
