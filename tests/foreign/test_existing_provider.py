"""A project that already is an OAuth provider for its own API, with clients that must not notice anything."""

from __future__ import annotations

import base64

import httpx
import pytest

from tests.foreign import shop
from tests.foreign.project import Project, Site

PUBLIC_URL = "https://shop.example.com"

OWN = {
    "accounts/__init__.py": "",
    "accounts/migrations/__init__.py": "",
    "accounts/models.py": """
from django.db import models
from oauth2_provider.models import AbstractApplication


class Application(AbstractApplication):
    team = models.CharField(max_length=50, default="mobile")

    def is_usable(self, request):
        return self.team != "closed"
""",
    "accounts/validators.py": """
from oauth2_provider.oauth2_validators import OAuth2Validator


class Validator(OAuth2Validator):
    def validate_user(self, username, password, client, request, *args, **kwargs):
        if username.startswith("banned"):
            return False
        return super().validate_user(username, password, client, request, *args, **kwargs)
""",
    "accounts/api.py": """
from oauth2_provider.contrib.rest_framework import OAuth2Authentication, TokenHasScope
from rest_framework.response import Response
from rest_framework.views import APIView


class Me(APIView):
    authentication_classes = [OAuth2Authentication]
    permission_classes = [TokenHasScope]
    required_scopes = ["read"]

    def get(self, request):
        return Response({"user": request.user.get_username(), "scope": request.auth.scope})
""",
}

SETTINGS = """
INSTALLED_APPS += ["rest_framework", "oauth2_provider", "accounts"]
OAUTH2_PROVIDER_APPLICATION_MODEL = "accounts.Application"
OAUTH2_PROVIDER = {
    "SCOPES": {"read": "Read your orders", "write": "Change your orders"},
    "DEFAULT_SCOPES": ["read"],
    "OAUTH2_VALIDATOR_CLASS": "accounts.validators.Validator",
    "ACCESS_TOKEN_EXPIRE_SECONDS": 7777,
}
"""

OWN_INCLUDE = 'path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))'

URLS = f"""
from accounts.api import Me
urlpatterns += [
    {OWN_INCLUDE},
    path("api/me", Me.as_view()),
]
"""

CLIENT = """
from accounts.models import Application
from django.contrib.auth import get_user_model
for name in ("ada", "banned-bob"):
    get_user_model().objects.create_user(name, password="only-for-tests")
Application.objects.create(
    name="App", client_id="app", client_secret="secret", client_type="confidential",
    authorization_grant_type="password",
)
"""


def ask_for_token(site: Site, **form: str) -> httpx.Response:
    """The token request of the project's own client, which knows nothing of resources or PKCE."""
    basic = base64.b64encode(b"app:secret").decode()
    return site.client.post("/o/token/", data=form, headers={"Authorization": f"Basic {basic}"})


def log_in(site: Site, username: str = "ada", **form: str) -> httpx.Response:
    """The password grant."""
    return ask_for_token(site, grant_type="password", username=username, password="only-for-tests", **form)


def me(site: Site, token: str) -> httpx.Response:
    """The project's own API."""
    return site.client.get("/api/me", headers={"Authorization": f"Bearer {token}"} if token else {})


@pytest.fixture
def provider(project: Project) -> Project:
    """The project before it knows of the gateway: migrated, with a user and a client."""
    project.write(OWN)
    project.settings(SETTINGS)
    project.urls(URLS)
    project.manage("makemigrations", "accounts")
    project.manage("migrate")
    project.manage("shell", "-c", CLIENT)
    return project


def replace_include(project: Project) -> None:
    """Put our URLs where the toolkit's were, as the system check says."""
    urls = project.folder / project.package / "urls.py"
    text = urls.read_text()
    assert OWN_INCLUDE in text
    urls.write_text(text.replace(OWN_INCLUDE, 'path("o/", include("mcp_gateway.oauth.urls"))'))


def test_its_clients_do_not_notice_the_gateway(provider: Project) -> None:
    with provider.serve() as site:
        before = log_in(site).json()
        assert before["expires_in"] == 7777
        assert before["scope"] == "read"
        assert me(site, before["access_token"]).json() == {"user": "ada", "scope": "read"}
        assert me(site, "").status_code == 401
        assert log_in(site, "banned-bob").status_code == 400

    provider.write(shop.files(shop.HELLO, shop.PROTECTED))
    provider.settings(
        'INSTALLED_APPS += ["mcp_gateway"]',
        "from mcp_gateway.conf import oauth2_provider",
        f"OAUTH2_PROVIDER = oauth2_provider(public_url={PUBLIC_URL!r}, **OAUTH2_PROVIDER)",
    )
    provider.urls(
        'urlpatterns += [path("", include("mcp_gateway.urls")), path("", include("mcp_gateway.urls.well_known"))]'
    )
    replace_include(provider)
    provider.manage("migrate")
    provider.manage("import_manifests")
    token = provider.manage("mcp_token", "--user", "ada", "--scope", "mcp:tools").strip()

    with provider.serve() as site:
        assert me(site, before["access_token"]).json() == {"user": "ada", "scope": "read"}
        assert me(site, "").status_code == 401
        after = log_in(site).json()
        assert after["expires_in"] == 7777
        assert after["scope"] == "read"
        assert set(after) == set(before)
        assert me(site, after["access_token"]).json() == {"user": "ada", "scope": "read"}
        assert log_in(site, scope="read write").json()["scope"] == "read write"
        assert log_in(site, "banned-bob").status_code == 400
        refreshed = ask_for_token(site, grant_type="refresh_token", refresh_token=before["refresh_token"])
        assert me(site, refreshed.json()["access_token"]).status_code == 200

        # Its tokens are not meant for agents, and an agent's are not meant for its API.
        foreign = site.call("whoAmI", token=after["access_token"])
        assert foreign.status_code == 401
        assert 'error="invalid_token"' in foreign.headers["WWW-Authenticate"]
        assert me(site, token).status_code in (401, 403)
        assert site.call("whoAmI", token=token).json()["result"]["structuredContent"] == {"user": "ada", "users": 2}
        document = site.client.get("/.well-known/oauth-authorization-server").json()
        assert document["token_endpoint"] == f"{PUBLIC_URL}/o/token/"

    # What the project's Application model says is honoured at the gateway too.
    provider.manage("shell", "-c", "from accounts.models import Application as A; A.objects.update(team='closed')")
    with provider.serve() as site:
        assert site.call("whoAmI", token=token).status_code == 401


def test_both_includes_at_once_are_refused_with_the_cure(provider: Project) -> None:
    provider.write(shop.files(shop.HELLO, shop.PROTECTED))
    provider.settings('INSTALLED_APPS += ["mcp_gateway"]')
    provider.urls('urlpatterns += [path("", include("mcp_gateway.urls"))]')
    provider.protect(PUBLIC_URL)
    checked = provider.refuses("check")
    assert "oauth2_provider.urls" in checked
    assert "mcp_gateway.oauth.urls" in checked
