"""What stands in clients' way, step by step: each is found, named and has a cure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import set_script_prefix

from mcp_gateway.conf import oauth2_provider
from mcp_gateway.doctor.report import Level, Report
from mcp_gateway.doctor.web import Reply, Unreachable
from mcp_gateway.models import Scope, Tally
from tests.doctor.conftest import MCP, SITE, Request, Road, of, reply, wrong

Examined = Callable[..., Report]


def without(answered: Reply, *names: str, **headers: str) -> Reply:
    """An answer on which a proxy has dropped some headers, and put others."""
    for name in names:
        del answered.headers[name]
    for name, value in headers.items():
        del answered.headers[name.replace("_", "-")]
        answered.headers[name.replace("_", "-")] = value
    return answered


def test_nobody_answers(examined: Examined, road: Road) -> None:
    def before(request: Request) -> Reply:
        raise Unreachable("mcp.example.com: Connection refused")

    road.before = before
    report = examined()
    assert wrong(report) == [("reach", Level.FAULT)]
    assert "Connection refused" in of(report, "reach").saw


@pytest.mark.parametrize(
    ("answered", "says"),
    [
        (reply(MCP, 301, Location="/mcp/"), "redirect"),
        (reply(MCP, 404, b"<h1>Not Found</h1>", Content_Type="text/html"), "/mcp and /mcp/"),
        (reply(MCP, 403, b"<h1>Forbidden</h1>", Content_Type="text/html"), "refuses the request"),
        (reply(MCP, 401), "refuses the request"),
        (reply(MCP, 502, b"Bad Gateway"), "proxy"),
        (reply(MCP, 500), "log"),
        (reply(MCP, 200, b"<h1>Hello</h1>", Content_Type="text/html"), "address"),
    ],
)
def test_something_else_answers(examined: Examined, road: Road, answered: Reply, says: str) -> None:
    road.before = lambda request: answered
    report = examined()
    assert wrong(report) == [("reach", Level.FAULT)]
    assert says in of(report, "reach").cure


def test_the_host_is_not_allowed(examined: Examined, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["elsewhere.example"]
    report = examined()
    assert wrong(report) == [("reach", Level.FAULT)]
    assert "'mcp.example.com' to ALLOWED_HOSTS" in of(report, "reach").cure
    assert "mcp_gateway.W015" in [finding.check for finding in report.findings]


def test_a_proxy_leaves_out_one_spelling(examined: Examined, road: Road) -> None:
    road.before = lambda request: reply(request.url, 404) if request.path == "/mcp/" else None
    assert wrong(examined()) == [("slash", Level.FAULT)]


def test_a_proxy_redirects_one_spelling(examined: Examined, road: Road) -> None:
    road.before = lambda request: reply(request.url, 301, Location=MCP) if request.path == "/mcp/" else None
    report = examined()
    assert wrong(report) == [("slash", Level.FAULT)]
    assert f"a redirect to {MCP}" in of(report, "slash").saw


def test_get_is_answered_by_something_else(examined: Examined, road: Road) -> None:
    road.before = lambda request: (
        reply(request.url, 200, b"hello") if request.method == "GET" and request.path == "/mcp" else None
    )
    assert wrong(examined()) == [("get", Level.WARNING)]


def test_the_clock_is_wrong(examined: Examined, road: Road) -> None:
    road.after = lambda request, answered: without(answered, Date="Fri, 01 Jan 2021 00:00:00 GMT")
    report = examined()
    assert wrong(report) == [("clock", Level.WARNING)]
    assert "behind" in of(report, "clock").saw


def test_a_proxy_drops_the_authorization_header(examined: Examined, road: Road, ada: Any) -> None:
    def before(request: Request) -> None:
        request.headers.pop("Authorization", None)

    road.before = before
    report = examined(user=ada)
    assert ("authorization", Level.FAULT) in wrong(report)
    assert "WSGIPassAuthorization" in of(report, "authorization").cure


def test_a_proxy_drops_the_challenge(examined: Examined, road: Road) -> None:
    road.after = lambda request, answered: without(answered, "WWW-Authenticate")
    report = examined()
    assert ("challenge", Level.FAULT) in wrong(report)
    assert "no Bearer challenge" in of(report, "challenge").saw
    assert not any("well-known" in request.path for request in road.asked)


def test_a_proxy_adds_a_challenge_of_its_own(examined: Examined, road: Road) -> None:
    def after(request: Request, answered: Reply) -> Reply:
        if answered.status == 401:
            answered.headers["WWW-Authenticate"] = 'Bearer resource_metadata="https://login.example/x"'
        return answered

    road.after = after
    report = examined()
    assert ("challenge", Level.FAULT) in wrong(report)
    assert "more than once" in of(report, "challenge").saw


@pytest.mark.parametrize("status", [401, 404, 302])
def test_the_documents_cannot_be_read(examined: Examined, road: Road, status: int) -> None:
    road.before = lambda request: (
        reply(request.url, status, Location="/login/") if request.path.startswith("/.well-known/") else None
    )
    report = examined()
    assert wrong(report) == [("resource metadata", Level.FAULT)]
    assert 'include("mcp_gateway.urls.well_known")' in of(report, "resource metadata").cure


def test_the_address_is_not_the_one_the_site_believes(examined: Examined, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["mcp.example.com", "other.example.com"]
    report = examined("https://other.example.com/mcp")
    assert of(report, "site").level is Level.NOTE
    assert wrong(report) == [("origin", Level.WARNING), ("resource metadata", Level.FAULT)]
    cure = of(report, "resource metadata").cure
    assert 'ZOLINGA["PUBLIC_URL"] = "https://other.example.com"' in cure
    assert MCP in cure


def test_the_site_believes_it_is_plain_http(examined: Examined, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": "http://mcp.example.com"}
    report = examined()
    assert ("resource metadata", Level.FAULT) in wrong(report)
    assert 'ZOLINGA["PUBLIC_URL"] = "https://mcp.example.com"' in of(report, "resource metadata").cure


def test_plain_http_is_a_fault_but_on_this_machine(examined: Examined, road: Road, settings: Any) -> None:
    road.secure = False
    settings.ALLOWED_HOSTS = ["mcp.example.com", "127.0.0.1"]
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": "http://mcp.example.com"}
    assert ("https", Level.FAULT) in wrong(examined("http://mcp.example.com/mcp"))
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": "http://127.0.0.1:8000"}
    assert wrong(examined("http://127.0.0.1:8000/mcp")) == []


def test_everything_is_found_below_the_well_known_path(examined: Examined, road: Road) -> None:
    road.before = lambda request: reply(request.url, 200, b"{}") if request.path.endswith("no-such-endpoint") else None
    assert wrong(examined()) == [("well-known", Level.WARNING)]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b'"issuer": "https://mcp.example.com"', b'"issuer": "https://mcp.example.com/"', "it is https"),
        (b'["S256"]', b'["plain"]', "S256"),
        (b'"token_endpoint": "https:', b'"token_endpoint": "http:', "no https"),
        (b'"token_endpoint":', b'"old_endpoint":', "no token_endpoint"),
    ],
)
def test_the_servers_document_is_wrong(examined: Examined, road: Road, old: bytes, new: bytes, says: str) -> None:
    def after(request: Request, answered: Reply) -> Reply:
        return Reply(answered.url, answered.status, answered.headers, answered.body.replace(old, new))

    road.after = after
    report = examined()
    assert wrong(report) == [("server metadata", Level.FAULT)]
    assert says in of(report, "server metadata").saw


def test_nobody_can_make_himself_known(examined: Examined, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "REGISTRATION": {"DYNAMIC": "off", "DOCUMENTS": "off"}}
    report = examined()
    assert wrong(report) == [("ways in", Level.WARNING)]
    assert of(report, "registration").level is Level.SKIPPED


def test_too_many_have_registered(examined: Examined, road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tally, "take", lambda *arguments, **options: 60)
    report = examined()
    assert wrong(report) == [("registration", Level.WARNING)]
    assert "60 seconds" in of(report, "registration").saw


def test_the_registration_cannot_be_reached(examined: Examined, road: Road) -> None:
    road.before = lambda request: reply(request.url, 403) if request.path == "/oauth/register/" else None
    assert wrong(examined()) == [("registration", Level.FAULT)]


def test_all_clients_have_the_proxys_address(examined: Examined, road: Road) -> None:
    road.meta["REMOTE_ADDR"] = "10.0.0.7"
    report = examined()
    assert wrong(report) == [("proxies", Level.WARNING)]
    assert 'ZOLINGA["PROXIES"]' in of(report, "proxies").cure


def test_clients_can_choose_their_address(examined: Examined, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PROXIES": 1}
    report = examined()
    assert wrong(report) == [("proxies", Level.WARNING)]
    assert "believes the X-Forwarded-For" in of(report, "proxies").saw


def test_the_site_does_not_know_that_it_is_behind_tls(examined: Examined, road: Road, ada: Any, settings: Any) -> None:
    road.secure = False
    report = examined(user=ada)
    assert wrong(report) == [("login", Level.FAULT), ("consent", Level.FAULT)]
    assert "SECURE_PROXY_SSL_HEADER" in of(report, "login").cure
    assert "mcp_gateway.I002" in [finding.check for finding in report.findings if finding.step == "system check"]
    settings.CSRF_TRUSTED_ORIGINS = [SITE]
    assert wrong(examined(user=ada)) == []


def test_the_login_leaves_tls(examined: Examined, road: Road) -> None:
    road.before = lambda request: (
        reply(request.url, 302, Location="http://mcp.example.com/oauth/login/")
        if request.path == "/oauth/authorize/"
        else None
    )
    assert wrong(examined()) == [("authorize", Level.FAULT)]


def test_the_login_page_is_broken(examined: Examined, road: Road) -> None:
    road.before = lambda request: reply(request.url, 500) if request.path == "/oauth/login/" else None
    assert wrong(examined()) == [("authorize", Level.FAULT)]


def test_the_login_is_elsewhere(examined: Examined, settings: Any) -> None:
    settings.LOGIN_URL = "https://login.example.com/"
    report = examined()
    assert wrong(report) == []
    assert "login.example.com" in of(report, "login").saw


def test_the_token_endpoint_redirects(examined: Examined, road: Road) -> None:
    road.before = lambda request: (
        reply(request.url, 301, Location="/oauth/token/x") if request.path == "/oauth/token/" else None
    )
    assert wrong(examined()) == [("token endpoint", Level.FAULT)]


def test_a_proxys_policy_stops_the_consent(examined: Examined, road: Road, ada: Any) -> None:
    road.after = lambda request, answered: without(answered, Content_Security_Policy="form-action 'self'")
    report = examined(user=ada)
    assert ("consent", Level.FAULT) in wrong(report)
    assert "form-action 'self'" in of(report, "consent").saw


def test_the_session_does_not_count(examined: Examined, road: Road, ada: Any) -> None:
    def before(request: Request) -> None:
        request.headers.pop("Cookie", None)

    road.before = before
    report = examined(user=ada)
    assert ("consent", Level.FAULT) in wrong(report)
    assert "database" in of(report, "consent").cure


def test_a_worker_has_another_database(examined: Examined, road: Road, ada: Any) -> None:
    lists: list[Request] = []

    def before(request: Request) -> Reply | None:
        if request.headers.get("Mcp-Method") == "tools/list":
            lists.append(request)
            if len(lists) == 2:
                return reply(request.url, 401, b"{}", WWW_Authenticate='Bearer error="invalid_token"')
        return None

    road.before = before
    assert wrong(examined(user=ada)) == [("list", Level.FAULT)]


def test_the_client_cannot_be_deleted(examined: Examined, road: Road) -> None:
    road.before = lambda request: reply(request.url, 405) if request.method == "DELETE" else None
    report = examined()
    assert wrong(report) == [("clean-up", Level.WARNING)]


def test_a_page_of_a_stranger_is_let_in(examined: Examined, road: Road) -> None:
    def before(request: Request) -> None:
        request.headers.pop("Origin", None)

    road.before = before
    assert wrong(examined()) == [("origin", Level.FAULT)]


@pytest.mark.parametrize(
    "answered",
    [reply(MCP, 401), reply(MCP, 204), reply(MCP, 200, Access_Control_Allow_Origin="*")],
)
def test_something_else_answers_preflights(examined: Examined, road: Road, answered: Reply) -> None:
    road.before = lambda request: answered if request.method == "OPTIONS" else None
    assert wrong(examined()) == [("origin", Level.WARNING)]


@pytest.fixture
def below_shop(settings: Any) -> Iterator[None]:
    """The site lives at ``/shop``."""
    settings.FORCE_SCRIPT_NAME = "/shop"
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": f"{SITE}/shop"}
    settings.OAUTH2_PROVIDER = oauth2_provider(f"{SITE}/shop")
    set_script_prefix("/shop/")
    yield
    set_script_prefix("/")


@pytest.mark.usefixtures("below_shop")
def test_under_a_prefix_it_prints_the_proxys_rules(examined: Examined, road: Road, ada: Any) -> None:
    def before(request: Request) -> Reply | None:
        if not request.path.startswith("/shop/"):
            return reply(request.url, 404)
        request.url = request.url.replace("/shop/", "/", 1)
        return None

    road.before = before
    report = examined(f"{SITE}/shop/mcp", user=ada)
    assert "rewrite ^(.*)$ /shop$1 last;" in of(report, "prefix").saw
    assert {step for step, level in wrong(report)} == {"well-known", "server metadata"}
    assert "rewrite @wellknown /shop{uri}" in of(report, "server metadata").cure
    assert report.faults == 0


@pytest.mark.usefixtures("below_shop")
def test_with_these_rules_everything_is_found_at_the_root_too(examined: Examined, road: Road, ada: Any) -> None:
    def before(request: Request) -> Reply | None:
        if request.path.startswith("/.well-known/"):
            return None  # what the rules make of it: /shop is put before it, and the site takes it off again
        if not request.path.startswith("/shop/"):
            return reply(request.url, 404)
        request.url = request.url.replace("/shop/", "/", 1)
        return None

    road.before = before
    assert wrong(examined(f"{SITE}/shop/mcp", user=ada)) == []


def test_a_site_that_believes_another_host_is_told_its_public_url(
    examined: Examined, road: Road, settings: Any
) -> None:
    other = "https://wrong.example.com"
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": other}
    road.before = lambda request: reply(request.url, 404) if request.url.startswith(other) else None
    report = examined()
    found = of(report, "resource metadata")
    assert f'PUBLIC_URL"] = "{SITE}"' in found.cure
    assert found.check == "mcp_gateway.W007"
    assert "PUBLIC_URL" in of(report, "origin").cure
    assert "PUBLIC_URL" in of(report, "site").cure
    assert f"{other}/mcp" in of(report, "site").saw


def test_a_command_with_another_public_url_than_the_server_is_told(
    examined: Examined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_gateway.doctor.walk.audience.resolve", lambda url, snapshot: None)
    report = examined()
    assert wrong(report) == [("settings", Level.WARNING)]
    assert "PUBLIC_URL" in of(report, "settings").cure


def test_another_page_of_the_site_is_no_endpoint(examined: Examined) -> None:
    report = examined(f"{SITE}/oauth/login/")
    assert f"this site has {MCP}" in of(report, "reach").cure
    assert of(report, "site").cure == ""


def test_a_baseline_scope_that_is_disabled_is_named(examined: Examined, ada: Any) -> None:
    Scope.objects.filter(name="mcp:tools").update(enabled=False)
    found = of(examined(user=ada, tool="orders-list"), "authorize")
    assert "mcp:tools" in found.cure
    assert "enable it" in found.cure


def test_a_scope_that_is_not_self_service_is_named(examined: Examined, ada: Any) -> None:
    Scope.objects.filter(name="mcp:tools").update(self_service=False)
    found = of(examined(user=ada, tool="orders-list"), "authorize")
    assert "Tick self-service on mcp:tools" in found.cure
