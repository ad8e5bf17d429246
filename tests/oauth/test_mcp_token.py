"""``manage.py mcp_token``: a token for a script, and refusals that say what there is."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model

from mcp_gateway.models import Client as ClientRow
from mcp_gateway.models import Endpoint, OAuthEvent, Scope
from mcp_gateway.oauth.authentication import check_request
from tests.oauth.flow import MCP


def mcp_token(*arguments: str) -> str:
    out = StringIO()
    call_command("mcp_token", *arguments, stdout=out)
    return out.getvalue()


def test_it_prints_the_token_and_nothing_else(user: Any) -> None:
    Scope.objects.create(name="orders:read")
    printed = mcp_token("--user", "ada", "--scope", "mcp:tools orders:read")
    assert printed.endswith("\n")
    principal = check_request(f"Bearer {printed.strip()}", "").principal
    assert principal.user == user
    assert principal.scopes == frozenset({"mcp:tools", "orders:read"})
    assert principal.client_id == "mcp-command-line"


def test_it_says_beside_the_token_where_it_is_good(user: Any) -> None:
    said = StringIO()
    call_command("mcp_token", "--user", "ada", "--expires", "60", stdout=StringIO(), stderr=said)
    assert said.getvalue() == "It is good at http://testserver/mcp, and there alone, for 60 seconds.\n"


def test_it_lives_for_an_hour_or_as_long_as_asked(user: Any) -> None:
    mcp_token("--user", "ada", "--scope", "mcp:tools")
    left = get_access_token_model().objects.get().expires - timezone.now()
    assert timedelta(minutes=59) < left <= timedelta(hours=1)
    mcp_token("--user", "ada", "--scope", "mcp:tools", "--expires", "60")
    left = get_access_token_model().objects.latest("pk").expires - timezone.now()
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)


@pytest.mark.parametrize("hashed", [True, False])
def test_it_is_stored_as_a_hash_whatever_the_site_does_for_others(user: Any, settings: Any, hashed: bool) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": hashed}
    text = mcp_token("--user", "ada", "--scope", "mcp:tools").strip()
    assert get_access_token_model().objects.get().token == ""
    assert check_request(f"Bearer {text}", "").principal.authenticated


def test_it_is_bound_to_one_endpoint(user: Any) -> None:
    Endpoint.objects.create(slug="billing")
    text = mcp_token("--user", "ada", "--scope", "mcp:tools", "--endpoint", "billing").strip()
    assert get_access_token_model().objects.get().resource == [f"{MCP}/billing"]
    assert check_request(f"Bearer {text}", "billing").principal.authenticated


def test_without_scope_it_has_the_endpoints_baseline(user: Any) -> None:
    mcp_token("--user", "ada")
    assert get_access_token_model().objects.get().scope == "mcp:tools"


def test_its_application_is_made_once_and_can_get_no_token_by_itself(user: Any, client: Client) -> None:
    mcp_token("--user", "ada")
    mcp_token("--user", "ada")
    application = get_application_model().objects.get()
    assert application.name == "Command line"
    client.force_login(user)
    page = client.get(
        "/oauth/authorize/?response_type=code&client_id=mcp-command-line&redirect_uri=https://x.example/&scope=mcp:tools"
    )
    assert page.status_code == 400
    for secret in ("", application.client_secret):
        form = {"grant_type": "client_credentials", "client_id": "mcp-command-line", "client_secret": secret}
        assert client.post("/oauth/token/", form).json()["error"] == "invalid_client"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--user", "eve"), "There is no user “eve”. There are: ada."),
        (("--user", "ada", "--scope", "nosuch"), "There is no scope “nosuch”. There are: mcp:tools."),
        (("--user", "ada", "--endpoint", "x"), "There is no endpoint “x”. There are: “” (the default one)."),
        (("--user", "ada", "--expires", "0"), "--expires 0: between 1 second and ten years"),
        (("--user", "ada", "--expires", "99999999999"), "--expires 99999999999: between"),
    ],
)
def test_a_refusal_says_what_there_is(user: Any, arguments: tuple[str, ...], says: str) -> None:
    Scope.objects.exclude(name="mcp:tools").delete()
    with pytest.raises(CommandError) as caught:
        mcp_token(*arguments)
    assert str(caught.value).startswith(says)
    assert not get_access_token_model().objects.exists()


def test_many_users_are_not_all_listed(user: Any) -> None:
    get_user_model().objects.bulk_create(get_user_model()(username=f"user{number:02}") for number in range(20))
    with pytest.raises(CommandError, match=r"ada, user00, .*user08 and more\.$"):
        mcp_token("--user", "eve")


def test_disabled_users_clients_and_scopes_get_none(user: Any) -> None:
    Scope.objects.create(name="off", enabled=False)
    with pytest.raises(CommandError, match="no scope “off”"):
        mcp_token("--user", "ada", "--scope", "off")
    mcp_token("--user", "ada")
    row = ClientRow.objects.create(application=get_application_model().objects.get(), enabled=False)
    with pytest.raises(CommandError, match="“Command line” is disabled"):
        mcp_token("--user", "ada")
    row.delete()
    user.is_active = False
    user.save()
    with pytest.raises(CommandError, match="user “ada” is disabled"):
        mcp_token("--user", "ada")


def test_a_token_that_its_user_could_not_use_is_refused(user: Any) -> None:
    Scope.objects.create(name="orders:read").groups.add(Group.objects.create(name="Buyers"))
    with pytest.raises(CommandError, match="“ada” may not grant: orders:read"):
        mcp_token("--user", "ada", "--scope", "mcp:tools orders:read")
    assert not get_access_token_model().objects.exists()
    user.groups.add(Group.objects.get(name="Buyers"))
    assert mcp_token("--user", "ada", "--scope", "mcp:tools orders:read")


@pytest.mark.parametrize(
    ("access", "scope", "told"),
    [
        ("open", "orders:read", "It lacks mcp:tools, which a call whose right names no scope needs"),
        ("token", "orders:read", "It lacks mcp:tools, which every request needs"),
        ("open", "mcp:tools", ""),
    ],
)
def test_what_the_token_lacks_of_the_baseline_is_said(user: Any, access: str, scope: str, told: str) -> None:
    Scope.objects.create(name="orders:read")
    Endpoint.objects.update(access=access)
    said = StringIO()
    call_command("mcp_token", "--user", "ada", "--scope", scope, stdout=StringIO(), stderr=said)
    assert told in said.getvalue()
    assert ("It lacks" in said.getvalue()) == bool(told)


def test_a_baseline_that_is_disabled_is_said(user: Any) -> None:
    Scope.objects.update(enabled=False)
    said = StringIO()
    call_command("mcp_token", "--user", "ada", stdout=StringIO(), stderr=said)
    assert "No token has mcp:tools while that is disabled." in said.getvalue()


def test_the_trail_tells_of_it(user: Any) -> None:
    mcp_token("--user", "ada", "--expires", "60")
    event = OAuthEvent.objects.get()
    assert (event.kind, event.user, event.client_id, event.scopes) == (
        "token_issued",
        "ada",
        "mcp-command-line",
        "mcp:tools",
    )
    assert event.resource == MCP
    assert "mcp_token" in event.detail
