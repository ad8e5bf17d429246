"""What the OAuth tests start from: a project with all URLs, a person, an application, an access token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model, set_token_value

from mcp_gateway.conf import oauth2_provider
from tests.oauth import elsewhere, web
from tests.oauth.elsewhere import Issuer
from tests.oauth.flow import MCP, REDIRECT, Flow
from tests.oauth.web import LocalFetcher, Web


@pytest.fixture(autouse=True)
def _provider(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.oauth.urls"
    settings.OAUTH2_PROVIDER = oauth2_provider("http://testserver")
    settings.ZOLINGA = {"PUBLIC_URL": "http://testserver"}


@pytest.fixture(scope="module")
def internet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """All hosts of https there are, for `LocalFetcher`."""
    with web.serve(tmp_path_factory.mktemp("web")) as served:
        LocalFetcher.web = served
        yield served


@pytest.fixture
def user(db: None) -> Any:
    return get_user_model().objects.create_user("ada", "ada@example.com", "secret")


@pytest.fixture
def application(db: None) -> Any:
    """A public client that an administrator registered."""
    return get_application_model().objects.create(
        name="Robot",
        client_id="robot",
        client_type="public",
        authorization_grant_type="authorization-code",
        redirect_uris=f"{REDIRECT} http://127.0.0.1/callback cursor://callback",
    )


@pytest.fixture
def make_token(user: Any, application: Any) -> Callable[..., str]:
    """Store an access token as the toolkit does, and give its text."""

    def make(text: str = "t0ken", **fields: Any) -> str:
        row = get_access_token_model()(
            **{
                "user": user,
                "application": application,
                "scope": "mcp:tools",
                "expires": timezone.now() + timedelta(minutes=5),
                "resource": [MCP],
                **fields,
            }
        )
        set_token_value(row, text)
        row.save()
        return text

    return make


@pytest.fixture
def flow(client: Client, user: Any, application: Any) -> Flow:
    """A client's conversation with the authorization server, in the browser of somebody who is logged in."""
    client.force_login(user)
    return Flow(client)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """An authorization server elsewhere, which nobody trusts yet."""
    with elsewhere.serve() as served:
        yield served
