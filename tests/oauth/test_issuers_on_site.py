"""An endpoint that trusts another issuer, as its clients, administrators and the site's own tokens meet it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client as Browser
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from mcp_gateway.conf import gateway_settings
from mcp_gateway.models import Endpoint, Scope
from mcp_gateway.oauth.authentication import BearerAuthentication
from tests.demo import Demo
from tests.oauth.elsewhere import Issuer, trust
from tests.oauth.flow import MCP, Flow
from tests.wire import Wire
from tests.wire_fixtures import demo, era, wire

__all__ = ["demo", "era", "wire"]

pytestmark = pytest.mark.django_db

METADATA = "/.well-known/oauth-protected-resource/mcp"


@pytest.fixture
def trusting(settings: Any, issuer: Issuer) -> Issuer:
    """The default endpoint trusts an issuer of JWTs."""
    trust(settings, issuer.by_keys)
    return issuer


# Over the wire


def test_a_protected_tool_is_called_with_their_token(
    demo: Demo, wire: Wire, era: str, settings: Any, issuer: Issuer, user: Any
) -> None:
    trust(settings, issuer.by_keys)
    demo.add("demo-who", lambda event: {"user": event.user.username}, right="oauth2:scope mcp:tools")
    wire.token = issuer.token()
    answer = wire.call(era, "demo-who")
    assert answer.json["result"]["structuredContent"] == {"user": "ada"}


def test_challenges_are_as_ever(demo: Demo, wire: Wire, era: str, settings: Any, issuer: Issuer, user: Any) -> None:
    trust(settings, issuer.by_keys)
    Scope.objects.create(name="orders")
    demo.add("demo-who", lambda event: {}, right="oauth2:scope mcp:tools orders")
    answer = wire.call(era, "demo-who")
    assert answer.status == 401
    metadata = f'resource_metadata="http://testserver{METADATA}"'
    assert answer.response["WWW-Authenticate"] == f'Bearer {metadata}, scope="mcp:tools orders"'
    wire.token = "nonsense"
    answer = wire.call(era, "demo-who")
    assert answer.status == 401
    assert answer.response["WWW-Authenticate"].startswith('Bearer error="invalid_token"')
    wire.token = issuer.token()
    answer = wire.call(era, "demo-who")
    assert answer.status == 403
    assert 'error="insufficient_scope"' in answer.response["WWW-Authenticate"]
    assert 'scope="mcp:tools orders"' in answer.response["WWW-Authenticate"]


@pytest.mark.parametrize("way", ["by_keys", "by_asking"])
def test_what_is_down_is_503_with_a_time_to_come_back(
    demo: Demo, wire: Wire, era: str, settings: Any, issuer: Issuer, user: Any, way: str
) -> None:
    trust(settings, getattr(issuer, way))
    issuer.status = 500
    wire.token = issuer.token()
    answer = wire.call(era, "demo-ping")
    assert answer.status == 503
    assert 1 <= int(answer.response["Retry-After"]) <= 5
    assert "authorization server" in answer.json["error"]["message"]
    assert issuer.url not in answer.body.decode()
    assert demo.calls == []


def test_an_endpoint_that_does_not_exist_is_404(settings: Any, issuer: Issuer, demo: Demo) -> None:
    trust(settings, issuer.by_keys, slug="billing")
    assert Wire(token=issuer.token(), path="/mcp/billing").call("modern", "demo-ping").status == 404


def test_a_framework_view_answers_503_too(trusting: Issuer) -> None:
    trusting.status = 500
    request = Request(APIRequestFactory().post("/", HTTP_AUTHORIZATION=f"Bearer {trusting.token()}"))
    with pytest.raises(APIException) as caught:
        BearerAuthentication().authenticate(request)
    assert caught.value.status_code == 503


# What the site says, and what it issues itself


def test_the_endpoints_metadata_name_the_issuer_and_others_the_site(trusting: Issuer, client: Browser) -> None:
    Endpoint.objects.create(slug="billing")
    assert client.get(METADATA).json()["authorization_servers"] == [trusting.url]
    assert client.get(f"{METADATA}/billing").json()["authorization_servers"] == ["http://testserver"]


def test_our_authorization_server_is_not_found_at_the_endpoints_path(trusting: Issuer, client: Browser) -> None:
    Endpoint.objects.create(slug="billing")
    for name in ("oauth-authorization-server", "openid-configuration"):
        assert client.get(f"/.well-known/{name}/mcp").status_code == 404
        assert client.get(f"/.well-known/{name}/mcp/billing").status_code == 200
        assert client.get(f"/.well-known/{name}").status_code == 200


def test_the_extension_for_machines_is_not_offered_there(demo: Demo, wire: Wire, settings: Any, issuer: Issuer) -> None:
    name = "io.modelcontextprotocol/oauth-client-credentials"

    def extensions(path: str) -> Any:
        found = Wire(path=path).modern("server/discover").json["result"]
        return found["capabilities"].get("extensions", {})

    Endpoint.objects.create(slug="billing")
    trust(settings, issuer.by_keys)
    assert name not in extensions("/mcp")
    assert name in extensions("/mcp/billing")


def test_our_authorization_server_issues_nothing_for_it(trusting: Issuer, flow: Flow) -> None:
    Endpoint.objects.create(slug="billing")
    answer = flow.answer(flow.open())
    assert (answer["error"], answer["iss"]) == ("invalid_target", "http://testserver")
    assert trusting.url in answer["error_description"]


def test_a_missing_resource_means_the_only_endpoint_that_is_ours(trusting: Issuer, flow: Flow) -> None:
    Endpoint.objects.create(slug="billing")
    code = flow.code(resource=None)
    assert flow.token(code=code, resource="http://testserver/mcp/billing").status_code == 200


def test_codes_and_refresh_tokens_from_before_are_worth_nothing_there(
    settings: Any, issuer: Issuer, flow: Flow
) -> None:
    first, second = flow.code(), flow.code()
    refresh = flow.token(code=first).json()["refresh_token"]
    trust(settings, issuer.by_keys)
    for sent in (
        {"code": second},
        {"code": second, "resource": None},
        {"grant_type": "refresh_token", "refresh_token": refresh, "resource": MCP},
        {"grant_type": "refresh_token", "refresh_token": refresh, "resource": None},
    ):
        response = flow.token(**sent)
        assert (response.status_code, response.json()["error"]) == (400, "invalid_target")


def test_no_personal_token_is_made_for_it(trusting: Issuer, client: Browser, user: Any) -> None:
    Endpoint.objects.create(slug="billing", title="Billing")
    client.force_login(user)
    page = client.get("/oauth/connections/").content.decode()
    assert "billing" in page
    sent = {"action": "make", "name": "Laptop", "endpoint": "", "scopes": "mcp:tools", "days": "30"}
    assert "Choose a server." in client.post("/oauth/connections/", sent).content.decode()


def test_the_command_line_says_where_its_tokens_are(trusting: Issuer, user: Any) -> None:
    with pytest.raises(CommandError, match="come from http://127"):
        call_command("mcp_token", "--user", "ada")


# The settings


@pytest.fixture
def entry() -> dict[str, Any]:
    return {
        "ISSUER": "https://login.example.com",
        "JWKS_URI": "https://login.example.com/keys",
        "USER_CLAIM": "sub",
        "USER_FIELD": "username",
    }


def found(databases: list[str] | None = None) -> dict[str, CheckMessage]:
    """The messages about issuers, by their id."""
    messages = run_checks(databases=databases)
    ours = {"mcp_gateway.E001", "mcp_gateway.E011", "mcp_gateway.E012", "mcp_gateway.W017", "mcp_gateway.W018"}
    return {str(message.id).removeprefix("mcp_gateway."): message for message in messages if message.id in ours}


def test_a_sound_entry_has_nothing_to_say(settings: Any, entry: dict[str, Any]) -> None:
    trust(settings, entry)
    assert found(["default"]) == {}
    assert gateway_settings.issuers[""].types == ("at+jwt",)
    assert "none" not in gateway_settings.issuers[""].algorithms
    assert not any(name.startswith("HS") for name in gateway_settings.issuers[""].algorithms)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ISSUER": None}, 'says no "ISSUER"'),
        ({"ISSUER": 5}, "a text is needed"),
        ({"ISSUER": "http://login.example.com"}, "write an https URL"),
        ({"JWKS_URI": "http://10.0.0.1/keys"}, "write an https URL"),
        ({"JWKS_URI": "https://a:b@login.example.com/keys"}, "write an https URL"),
        ({"JWKS_URI": "https://login.example.com/keys#x"}, "write an https URL"),
        ({"JWKS_URI": "https://login.example.com:x/keys"}, "write an https URL"),
        ({"JWKS_URI": "/etc/passwd"}, "write an https URL"),
        ({"JWKS_URI": None}, "must say either"),
        ({"INTROSPECTION_URI": "https://login.example.com/introspect"}, "must say either"),
        ({"JWKS_URI": None, "INTROSPECTION_URI": "https://login.example.com/i"}, 'needs "CLIENT_ID"'),
        ({"ALGORITHMS": ["none"]}, "are safe"),
        ({"ALGORITHMS": ["RS256", "HS256"]}, "are safe"),
        ({"ALGORITHMS": []}, "with one at least"),
        ({"ALGORITHMS": "RS256"}, "must be a list"),
        ({"TYPES": [5]}, "must be a list"),
        ({"USER_CLAIM": None}, "needs both"),
        ({"USER_FIELD": None}, "needs both"),
        ({"USER_CLAIM": None, "USER_FIELD": None}, "says not who the users are"),
        ({"WITHOUT_USER": "no"}, "True or False"),
        ({"TIMEOUT_SECONDS": 0}, "1 to 300"),
        ({"TIMEOUT_SECONDS": 1.5}, "1 to 300"),
        ({"KEYS_SECONDS": 301}, "1 to 300"),
        ({"CACHE_SECONDS": -1}, "0 to 300"),
        ({"CLIENT_SECRET": 12345}, "empty or no text"),
        ({"AUDIENCE": "x"}, "which is none of"),
    ],
)
def test_each_mistake_is_named_with_its_place(
    settings: Any, entry: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    changed = {key: value for key, value in {**entry, **change}.items() if value is not None}
    trust(settings, changed, slug="billing")
    message = found()["E001"].msg
    assert said in message
    assert message.startswith('ZOLINGA["ISSUERS"]["billing"]')
    assert "12345" not in message
    with pytest.raises(ImproperlyConfigured):
        _ = gateway_settings.issuers


@pytest.mark.parametrize("value", [[], "x", {5: {}}, {"no/slug": {}}, {"": []}])
def test_what_is_no_dictionary_of_slugs_is_named(settings: Any, value: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "ISSUERS": value}
    assert 'ZOLINGA["ISSUERS"]' in found()["E001"].msg


def test_a_secret_is_not_shown(settings: Any, issuer: Issuer) -> None:
    trust(settings, issuer.by_asking)
    assert issuer.by_asking["CLIENT_SECRET"] not in repr(gateway_settings.issuers)


def test_a_broken_entry_lets_nobody_pass(demo: Demo, wire: Wire, settings: Any, issuer: Issuer, user: Any) -> None:
    trust(settings, issuer.by_keys, ALGORITHMS=["none"])
    wire.token = issuer.token()
    assert wire.call("modern", "demo-ping").status == 500
    assert demo.calls == []


@pytest.mark.parametrize("name", ["nosuch", "groups", "logentry"])
def test_a_field_that_is_none_is_an_error(settings: Any, entry: dict[str, Any], name: str) -> None:
    trust(settings, entry, USER_FIELD=name)
    assert set(found()) == {"E011"}


def test_a_field_that_two_users_may_share_is_a_warning(settings: Any, entry: dict[str, Any]) -> None:
    trust(settings, entry, USER_FIELD="email")
    assert set(found()) == {"W017"}


def test_the_site_itself_is_no_other_issuer(settings: Any, entry: dict[str, Any]) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": "https://mcp.example.com"}
    trust(settings, entry, ISSUER="https://mcp.example.com/")
    assert set(found()) == {"E012"}


def test_an_issuer_of_no_endpoint_is_a_warning(settings: Any, entry: dict[str, Any]) -> None:
    trust(settings, entry, slug="billing")
    assert set(found(["default"])) == {"W018"}
    Endpoint.objects.create(slug="billing")
    assert found(["default"]) == {}


def test_a_site_whose_tokens_come_from_elsewhere_needs_no_server_of_its_own(
    settings: Any, entry: dict[str, Any], write_module: Callable[..., Path], module_dir: Path
) -> None:
    right = "oauth2:scope mcp:tools"
    write_module({"listen": [{"event": "x", "class": "a.B", "method": "c", "right": right}]})
    settings.ROOT_URLCONF = "tests.oauth.urls_endpoint_only"
    settings.ZOLINGA = {**settings.ZOLINGA, "MODULE_DIRS": [module_dir]}
    ids = {message.id for message in run_checks()}
    assert "mcp_gateway.W003" in ids
    trust(settings, entry)
    ids = {message.id for message in run_checks()}
    assert "mcp_gateway.W003" not in ids
    assert "mcp_gateway.W004" in ids
