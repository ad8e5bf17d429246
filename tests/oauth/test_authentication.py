"""The check of a request: who sends it, whether the token counts here, and how many statements that takes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from mcp_gateway import registry
from mcp_gateway.models import Client, Endpoint, Generation, Scope
from mcp_gateway.oauth.authentication import BearerAuthentication, InvalidToken, check_request

MakeToken = Callable[..., str]


def refusal(authorization: str, slug: str = "") -> str:
    """Why a header is refused."""
    with pytest.raises(InvalidToken) as caught:
        check_request(authorization, slug)
    assert caught.value.generation == Generation.current()
    return caught.value.description


def test_a_valid_token_names_user_client_and_scopes(make_token: MakeToken, user: Any, application: Any) -> None:
    checked = check_request(f"Bearer {make_token(scope='mcp:tools orders:read')}", "")
    principal = checked.principal
    assert checked.generation == Generation.current()
    assert principal.authenticated
    assert principal.user == user
    assert type(principal.user) is get_user_model()
    assert principal.user.get_deferred_fields() == set()
    assert principal.scopes == {"mcp:tools", "orders:read"}
    assert (principal.client_id, principal.application_id) == ("robot", application.pk)
    assert principal.may_request is None


def test_no_header_is_an_anonymous_caller(db: None) -> None:
    checked = check_request(None, "")
    assert checked.generation == Generation.current()
    assert not checked.principal.authenticated
    assert checked.principal.user is None


def test_a_check_takes_one_statement(make_token: MakeToken, django_assert_num_queries: Any) -> None:
    header = f"Bearer {make_token()}"
    registry.snapshot()
    for _ in range(2):
        with django_assert_num_queries(1):
            check_request(header, "")
        with django_assert_num_queries(1):
            check_request(None, "")


def test_a_refused_token_takes_one_statement_too(make_token: MakeToken, django_assert_num_queries: Any) -> None:
    header = f"Bearer {make_token(expires=timezone.now() - timedelta(seconds=1))}"
    registry.snapshot()
    with django_assert_num_queries(1), pytest.raises(InvalidToken):
        check_request(header, "")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_has_no_case(make_token: MakeToken, scheme: str) -> None:
    assert check_request(f"{scheme} {make_token()}", "").principal.authenticated


@pytest.mark.parametrize(
    "header",
    [
        "",
        " ",
        "Bearer",
        "Bearer ",
        "Bearer  \t",
        "Bearer t0ken, Bearer t0ken",
        "Bearer t0ken,",
        "Bearer t0ken t0ken",
        "Bearert0ken",
        "Bearer\tt0ken",
        "Bearer t0\0ken",
        "Bearer t0k\xffen",
        "Bearer t0k€n",
        "Bearer t0ken\r\nX: y",
        "Basic YTpi",
        "DPoP t0ken",
        "Token t0ken",
        "t0ken",
        'Bearer "t0ken"',
        "Bearer =",
    ],
)
def test_a_header_that_is_not_exactly_one_bearer_token_is_refused(make_token: MakeToken, header: str) -> None:
    make_token()
    assert refusal(header) == "The Authorization header must hold exactly one Bearer token."


def test_an_unknown_or_revoked_token_is_refused(make_token: MakeToken) -> None:
    text = make_token()
    get_access_token_model().objects.get().revoke()
    assert refusal(f"Bearer {text}") == refusal("Bearer nosuchtoken") == "The access token is unknown or was revoked."


def test_an_expired_token_is_refused(make_token: MakeToken) -> None:
    assert "expired" in refusal(f"Bearer {make_token(expires=timezone.now())}")


def test_a_disabled_users_token_is_refused_from_the_next_request(make_token: MakeToken, user: Any) -> None:
    header = f"Bearer {make_token()}"
    check_request(header, "")
    user.is_active = False
    user.save()
    assert "user is disabled" in refusal(header)


def test_a_disabled_clients_token_is_refused_from_the_next_request(make_token: MakeToken, application: Any) -> None:
    header = f"Bearer {make_token()}"
    client = Client.objects.create(application=application)
    check_request(header, "")
    client.enabled = False
    client.save()
    assert "client is disabled" in refusal(header)


@pytest.mark.parametrize(
    "resource",
    [
        "https://other.example/mcp",
        "http://testserver/mcp/billing",
        "http://testserver",
        "http://testserver/",
        "http://testserver/mc",
        "http://testserver/mcp?x=1",
        "https://testserver/mcp",
        "http://testserver:8080/mcp",
        "http://testserver@other.example/mcp",
        "http://testserver/MCP",
    ],
)
def test_a_token_for_another_resource_is_refused(make_token: MakeToken, resource: str) -> None:
    assert "another resource" in refusal(f"Bearer {make_token(resource=[resource])}")


@pytest.mark.parametrize(
    "resource", ["http://testserver/mcp/", "HTTP://TestServer/mcp", "http://testserver:80/mcp", "http://testserver/mcp"]
)
def test_spellings_of_one_url_are_one_audience(make_token: MakeToken, resource: str) -> None:
    assert check_request(f"Bearer {make_token(resource=[resource])}", "").principal.authenticated


def test_a_token_of_one_endpoint_does_not_open_another(make_token: MakeToken) -> None:
    Endpoint.objects.create(slug="billing")
    header = f"Bearer {make_token(resource=['http://testserver/mcp/billing'])}"
    assert check_request(header, "billing").principal.authenticated
    assert "another resource" in refusal(header)


def test_a_token_without_audience_is_refused_unless_the_site_allows_it(make_token: MakeToken, settings: Any) -> None:
    header = f"Bearer {make_token(resource=[])}"
    assert "bound to no resource" in refusal(header)
    settings.ZOLINGA = {**settings.ZOLINGA, "ALLOW_TOKENS_WITHOUT_AUDIENCE": True}
    assert check_request(header, "").principal.authenticated


def test_a_registration_token_is_no_access_token(make_token: MakeToken, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "ALLOW_TOKENS_WITHOUT_AUDIENCE": True}
    assert "registration" in refusal(f"Bearer {make_token(resource=[], scope='oauth2_provider:registration')}")


def test_validity_is_judged_before_audience(make_token: MakeToken) -> None:
    header = f"Bearer {make_token(resource=[], expires=timezone.now() - timedelta(days=1))}"
    assert "expired" in refusal(header)


def test_a_client_that_acts_for_itself_acts_as_its_service_user(
    make_token: MakeToken, application: Any, django_assert_num_queries: Any
) -> None:
    header = f"Bearer {make_token(user=None)}"
    assert "no service user" in refusal(header)
    robot = get_user_model().objects.create_user("robot")
    Client.objects.create(application=application, service_user=robot)
    # Also where the snapshot held is older than the service user.
    assert check_request(header, "").principal.user == robot
    with django_assert_num_queries(1):
        principal = check_request(header, "").principal
    assert principal.user == robot
    robot.is_active = False
    robot.save()
    assert "user is disabled" in refusal(header)


def test_a_client_that_acts_for_itself_is_refused_once_its_owner_is_disabled(
    make_token: MakeToken, user: Any, application: Any, django_assert_num_queries: Any
) -> None:
    owner = get_user_model().objects.create_user("owner")
    application.user = owner
    application.save()
    by_itself, for_somebody = f"Bearer {make_token(user=None)}", f"Bearer {make_token('other')}"
    Client.objects.create(application=application, service_user=user)
    assert check_request(by_itself, "").principal.user == user
    owner.is_active = False
    owner.save()
    registry.snapshot()
    with django_assert_num_queries(1), pytest.raises(InvalidToken, match="owner of the access token's client"):
        check_request(by_itself, "")
    assert check_request(for_somebody, "").principal.user == user


def test_a_token_of_no_application_counts(make_token: MakeToken) -> None:
    principal = check_request(f"Bearer {make_token(application=None)}", "").principal
    assert principal.authenticated
    assert (principal.client_id, principal.application_id) == ("", None)


def test_a_client_may_request_what_it_was_allowed(make_token: MakeToken, application: Any) -> None:
    client = Client.objects.create(application=application)
    client.allowed_scopes.add(Scope.objects.get(name="mcp:tools"))
    assert check_request(f"Bearer {make_token()}", "").principal.may_request == frozenset({"mcp:tools"})


def test_a_scope_that_a_client_is_no_longer_allowed_is_lost_at_the_next_request(
    make_token: MakeToken, application: Any, settings: Any, django_assert_num_queries: Any
) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "SCOPES": {"profile": "The project's own"}}
    header = f"Bearer {make_token(scope='mcp:tools orders:read profile')}"
    orders = Scope.objects.create(name="orders:read")
    client = Client.objects.create(application=application)
    client.allowed_scopes.add(Scope.objects.get(name="mcp:tools"), orders)
    assert check_request(header, "").principal.scopes == {"mcp:tools", "orders:read", "profile"}
    client.allowed_scopes.remove(orders)
    registry.snapshot()
    with django_assert_num_queries(1):
        assert check_request(header, "").principal.scopes == {"mcp:tools", "profile"}
    client.allowed_scopes.clear()
    assert check_request(header, "").principal.scopes == {"mcp:tools", "orders:read", "profile"}


def test_a_scope_that_is_no_longer_self_service_is_lost_to_clients_that_registered_themselves(
    make_token: MakeToken, application: Any
) -> None:
    application.registration_source = "dcr"
    application.save()
    orders = Scope.objects.create(name="orders:read", self_service=True)
    header = f"Bearer {make_token(scope='orders:read')}"
    assert check_request(header, "").principal.scopes == {"orders:read"}
    orders.self_service = False
    orders.save()
    assert check_request(header, "").principal.scopes == set()


def test_a_client_that_registered_itself_may_request_self_service_scopes(
    make_token: MakeToken, application: Any
) -> None:
    Scope.objects.create(name="orders:read")
    application.registration_source = "dcr"
    application.save()
    assert check_request(f"Bearer {make_token()}", "").principal.may_request == frozenset({"mcp:tools"})


def test_an_applications_own_word_on_being_usable_counts(
    make_token: MakeToken, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp_gateway.oauth import token_query

    seen: list[Any] = []

    def is_usable(self: Any, request: Any) -> bool:
        seen.append((self.name, request.http_method, request.headers["Authorization"]))
        return False

    header = f"Bearer {make_token()}"
    monkeypatch.setattr(get_application_model(), "is_usable", is_usable)
    token_query.forget()
    try:
        assert "client may not be used" in refusal(header)
        assert seen == [("Robot", "POST", "Bearer t0ken")]
    finally:
        token_query.forget()


def rest_request(path: str = "/mcp", **headers: Any) -> Request:
    return Request(APIRequestFactory().post(path, **headers))


def test_a_rest_framework_view_gets_user_and_check(make_token: MakeToken, user: Any) -> None:
    answer = BearerAuthentication().authenticate(rest_request(HTTP_AUTHORIZATION=f"Bearer {make_token()}"))
    assert answer is not None
    assert answer[0] == user
    assert answer[1].principal.scopes == {"mcp:tools"}
    assert BearerAuthentication().authenticate(rest_request()) is None


def test_a_rest_framework_view_gets_the_service_user(make_token: MakeToken, application: Any) -> None:
    robot = get_user_model().objects.create_user("robot")
    Client.objects.create(application=application, service_user=robot)
    answer = BearerAuthentication().authenticate(rest_request(HTTP_AUTHORIZATION=f"Bearer {make_token(user=None)}"))
    assert answer is not None
    assert answer[0] == robot


def test_a_rest_framework_view_answers_with_a_challenge(db: None) -> None:
    authentication = BearerAuthentication()
    request = rest_request("/mcp/", HTTP_AUTHORIZATION="Bearer nosuchtoken")
    with pytest.raises(AuthenticationFailed):
        authentication.authenticate(request)
    assert authentication.authenticate_header(request) == (
        'Bearer error="invalid_token", '
        'resource_metadata="http://testserver/.well-known/oauth-protected-resource/mcp/", scope="mcp:tools"'
    )
    assert "error" not in authentication.authenticate_header(rest_request())


def test_a_scope_kept_to_groups_counts_while_its_user_is_a_member(
    make_token: Callable[..., str], user: Any, django_assert_num_queries: Any
) -> None:
    traders = Group.objects.create(name="traders")
    Scope.objects.create(name="orders:write").groups.add(traders)
    header = f"Bearer {make_token(scope='mcp:tools orders:write')}"
    other = f"Bearer {make_token('other')}"
    assert check_request(header, "").principal.scopes == {"mcp:tools"}
    user.groups.add(traders)
    assert check_request(header, "").principal.scopes == {"mcp:tools", "orders:write"}
    with django_assert_num_queries(2):
        check_request(header, "")
    with django_assert_num_queries(1):
        check_request(other, "")
    user.groups.clear()
    assert check_request(header, "").principal.scopes == {"mcp:tools"}
