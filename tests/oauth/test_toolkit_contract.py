"""What we override in django-oauth-toolkit and read from Django: a new version that changes it fails here first."""

from __future__ import annotations

import inspect
import uuid
from importlib.metadata import version
from typing import Any

import pytest
from django.db import transaction
from django.db.models.sql.compiler import SQLCompiler
from oauth2_provider import urls, views
from oauth2_provider.models import get_access_token_model, get_grant_model, get_refresh_token_model
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.common import Request

from mcp_gateway.oauth.families import Origin
from mcp_gateway.oauth.gateway_view import GatewayView
from mcp_gateway.oauth.rotation import FamilyValidator
from mcp_gateway.oauth.validator import GatewayValidator
from mcp_gateway.oauth.views import AuthorizationView
from tests.oauth.flow import Flow


def test_the_toolkit_is_one_we_know() -> None:
    assert version("django-oauth-toolkit").startswith("3.4.")


OVERRIDDEN = {
    "validate_response_type": ["client_id", "response_type", "client", "request"],
    "is_pkce_required": ["client_id", "request"],
    "validate_scopes": ["client_id", "scopes", "client", "request"],
    "get_default_scopes": ["client_id", "request"],
    "validate_grant_type": ["client_id", "grant_type", "client", "request"],
    "save_authorization_code": ["client_id", "code", "request"],
    "validate_code": ["client_id", "code", "client", "request"],
    "confirm_redirect_uri": ["client_id", "code", "redirect_uri", "client"],
    "get_code_challenge": ["code", "request"],
    "get_code_challenge_method": ["code", "request"],
    "get_authorization_code_scopes": ["client_id", "code", "redirect_uri", "request"],
    "validate_refresh_token": ["refresh_token", "client", "request"],
    "get_original_scopes": ["refresh_token", "request"],
    "rotate_refresh_token": ["request"],
    "save_bearer_token": ["token", "request"],
    "_save_bearer_token": ["token", "request"],
    "_create_refresh_token": ["request", "refresh_token_code", "access_token", "previous_refresh_token"],
    "invalidate_authorization_code": ["client_id", "code", "request"],
    "revoke_token": ["token", "token_type_hint", "request"],
    "client_authentication_required": ["request"],
    "authenticate_client": ["request"],
    "_authenticate_basic_auth": ["request"],
    "_authenticate_request_body": ["request"],
    "_load_application": ["client_id", "request"],
}
CALLED = {
    "_extract_basic_auth": ["request"],
    "_check_and_set_request_resource": ["request"],
    "_create_access_token": ["expires", "request", "token", "source_refresh_token"],
}


@pytest.mark.parametrize(("name", "parameters"), [*OVERRIDDEN.items(), *CALLED.items()])
def test_the_validator_has_the_methods_we_override_and_call(name: str, parameters: list[str]) -> None:
    signature = inspect.signature(getattr(OAuth2Validator, name))
    plain = [key for key, value in signature.parameters.items() if value.kind is value.POSITIONAL_OR_KEYWORD]
    assert plain == ["self", *parameters]


def test_every_method_we_override_is_in_the_table() -> None:
    ours = {name for part in GatewayValidator.__mro__[:-1] for name in vars(part)}
    assert {name for name in ours if not name.startswith("__") and hasattr(OAuth2Validator, name)} == set(OVERRIDDEN)


def test_tokens_are_stored_by_the_private_method_in_a_transaction(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def save(self: Any, token: Any, request: Any) -> None:
        seen.append(transaction.get_connection().in_atomic_block and bool(transaction.get_connection().savepoint_ids))

    monkeypatch.setattr(OAuth2Validator, "_save_bearer_token", save)
    OAuth2Validator().save_bearer_token({}, Request("/"))
    assert seen == [True]


def test_a_code_that_is_gone_raises_what_we_catch(db: None, application: Any) -> None:
    request = Request("/")
    request.client = application
    validator: Any = OAuth2Validator()
    with pytest.raises(get_grant_model().DoesNotExist):
        validator.confirm_redirect_uri("robot", "gone", "x", application, request)
    with pytest.raises(get_grant_model().DoesNotExist):
        validator.get_code_challenge("gone", request)
    with pytest.raises(get_grant_model().DoesNotExist):
        validator.get_code_challenge_method("gone", request)


def test_of_a_predecessor_only_the_family_is_read(make_token: Any, user: Any, application: Any) -> None:
    make_token()
    request = Request("/")
    request.user, request.client = user, application
    family = uuid.uuid4()
    access_token = get_access_token_model().objects.get()
    row = OAuth2Validator()._create_refresh_token(request, "r3fresh", access_token, Origin(family))
    row.refresh_from_db()
    assert (row.token_family, row.token, row.access_token) == (family, "", access_token)


def test_ending_a_family_deletes_its_access_tokens(make_token: Any, user: Any, application: Any) -> None:
    model, family = get_refresh_token_model(), uuid.uuid4()
    make_token()
    access_token = get_access_token_model().objects.get()
    model.objects.create(user=user, application=application, token="r", access_token=access_token, token_family=family)
    model.revoke_family(family)
    assert not get_access_token_model().objects.exists()
    assert model.objects.get().revoked is not None


def test_a_used_refresh_token_ends_its_family_in_the_toolkit_too(flow: Flow) -> None:
    """Why ours is held while the toolkit looks at it: without a grace of its own it takes any second use for theft."""
    first = flow.token(code=flow.code()).json()
    second = flow.token(grant_type="refresh_token", refresh_token=first["refresh_token"]).json()
    request = Request("/")
    row = get_refresh_token_model().objects.get(revoked__isnull=False)
    assert not OAuth2Validator().validate_refresh_token(first["refresh_token"], row.application, request)
    assert second
    assert not get_refresh_token_model().objects.filter(revoked__isnull=True).exists()


@pytest.mark.parametrize("ours", [GatewayView, AuthorizationView])
def test_the_views_have_the_methods_we_override(ours: type[Any]) -> None:
    overridden = {name for name in vars(ours) if not name.startswith("_") and callable(getattr(ours, name))}
    assert overridden - set(dir(views.AuthorizationView)) == set()


def test_the_toolkits_urls_are_a_plain_list_with_the_names_we_replace() -> None:
    names = [getattr(pattern, "name", None) for pattern in urls.urlpatterns]
    for name in (
        "authorize",
        "token",
        "revoke-token",
        "device-authorization",
        "dcr-register",
        "dcr-register-management",
    ):
        assert names.count(name) == 1


def test_djangos_compiler_tells_columns_and_converters() -> None:
    assert list(inspect.signature(SQLCompiler.get_converters).parameters) == ["self", "expressions"]


def test_the_token_view_looks_for_the_token_it_has_stored(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a use of the code by another request has revoked it meanwhile, that raises what we catch."""
    monkeypatch.setattr(OAuth2Validator, "_create_access_token", lambda *args, **kwargs: None)
    monkeypatch.setattr(FamilyValidator, "_create_refresh_token", lambda *args, **kwargs: None)
    answer = flow.token(code=flow.code())
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
