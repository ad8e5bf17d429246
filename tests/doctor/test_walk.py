"""The whole way on a site where everything is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from oauth2_provider.models import get_access_token_model, get_application_model

from mcp_gateway.doctor.report import Level, Report
from mcp_gateway.models import Endpoint, Scope
from tests.demo import Demo
from tests.doctor.conftest import MCP, SITE, Road, of, wrong

FAR = [
    *("site", "reach", "https", "clock", "slash", "get", "origin", "authorization", "challenge", "resource metadata"),
    *("well-known", "server metadata", "ways in", "registration", "proxies", "login", "token endpoint"),
]


def test_without_a_user_it_comes_as_far_as_the_login(examined: Callable[..., Report]) -> None:
    report = examined()
    assert wrong(report) == []
    found = {finding.step: finding.level for finding in report.findings}
    assert set(FAR) <= set(found)
    assert found["token"] is Level.SKIPPED
    assert "--user" in of(report, "token").saw


def test_with_a_user_it_goes_on_to_consent_token_step_up_renewal_and_revocation(
    examined: Callable[..., Report], ada: Any, demo: Demo
) -> None:
    report = examined(user=ada)
    assert wrong(report) == []
    found = {finding.step: finding.level for finding in report.findings}
    steps = ("resource", "consent", "token", "list", "step-up", "refresh", "revocation", "clean-up")
    assert {step: found[step] for step in steps} == dict.fromkeys(steps, Level.OK)
    assert "orders-change" in of(report, "step-up").saw
    assert "mcp:tools orders:write" in of(report, "step-up").saw
    assert demo.calls == []


def test_it_leaves_nothing_behind(examined: Callable[..., Report], ada: Any) -> None:
    examined(user=ada)
    assert not get_application_model().objects.exists()
    assert not get_access_token_model().objects.exists()
    assert not Session.objects.exists()


def test_it_says_what_the_challenge_asks_for(examined: Callable[..., Report]) -> None:
    found = of(examined(), "challenge")
    assert f"{SITE}/.well-known/oauth-protected-resource/mcp" in found.saw
    assert "mcp:tools" in found.saw


def test_the_tool_that_was_named_is_called_and_no_other(examined: Callable[..., Report], ada: Any, demo: Demo) -> None:
    report = examined(user=ada, tool="demo-add", arguments={"a": 2, "b": 3})
    assert of(report, "call").level is Level.OK
    assert '{"sum":5}' in of(report, "call").saw
    assert [event.type for event in demo.calls] == ["demo-add"]
    assert of(examined(user=ada, tool="demo-add"), "call").level is Level.WARNING
    unknown = of(examined(user=ada, tool="no-such-tool"), "call")
    assert unknown.level is Level.FAULT
    assert "demo-ping, demo-rows, orders-change, orders-list." in unknown.cure


def test_a_tool_may_be_called_where_nobody_needs_a_token(examined: Callable[..., Report], demo: Demo) -> None:
    for name in ("orders-list", "orders-change"):
        demo.module.listeners.filter(event=name).delete()
    report = examined(tool="demo-add", arguments={"a": 2, "b": 3})
    assert wrong(report) == []
    assert of(report, "challenge").level is Level.NOTE
    assert of(report, "call").level is Level.OK


def test_registering_can_be_left_out(examined: Callable[..., Report], road: Road) -> None:
    report = examined(register=False)
    assert of(report, "registration").level is Level.SKIPPED
    assert not any("register" in request.path for request in road.asked)


def test_an_endpoint_that_requires_a_token_is_walked_too(examined: Callable[..., Report], ada: Any) -> None:
    Endpoint.objects.update(access=Endpoint.Access.TOKEN)
    report = examined(user=ada)
    assert wrong(report) == []
    assert "401" in of(report, "reach").saw


@pytest.mark.parametrize("url", [f"{MCP}/", f"{MCP}/billing", f"{MCP}/billing/"])
def test_every_endpoint_and_spelling_is_walked(examined: Callable[..., Report], ada: Any, url: str) -> None:
    billing = Endpoint.objects.create(slug="billing", title="Billing")
    billing.baseline_scopes.set(Endpoint.objects.get(slug="").baseline_scopes.all())
    report = examined(url, user=ada)
    assert wrong(report) == []
    assert url in of(report, "resource metadata").saw


def test_where_clients_wait_for_approval_it_goes_no_further_and_leaves_nothing(
    examined: Callable[..., Report], ada: Any, settings: Any
) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "REGISTRATION": {"DYNAMIC": "approval"}}
    report = examined(user=ada)
    assert wrong(report) == []
    assert "under Clients" in of(report, "approval").client
    assert of(report, "clean-up").level is Level.OK
    assert not get_application_model().objects.exists()


def test_the_tool_that_was_named_is_the_one_that_asks_for_a_login(examined: Callable[..., Report]) -> None:
    assert "A call of orders-list without a token was answered 401" in of(examined(), "challenge").saw
    assert "A call of orders-change without" in of(examined(tool="orders-change"), "challenge").saw


def test_tools_whose_scopes_no_client_can_get_come_last(examined: Callable[..., Report], ada: Any, demo: Demo) -> None:
    Scope.objects.create(name="hello")
    demo.add("hello-world", lambda event: {}, right="oauth2:scope hello")
    Endpoint.objects.get().baseline_scopes.clear()
    report = examined(user=ada)
    assert "A call of orders-list without" in of(report, "challenge").saw
    assert of(report, "token").level is Level.OK


def test_a_tool_that_such_a_client_may_not_call_keeps_nobody_out(examined: Callable[..., Report], ada: Any) -> None:
    Scope.objects.filter(name="orders:write").update(self_service=False)
    report = examined(user=ada, tool="orders-change")
    assert wrong(report) == [("call", Level.WARNING)]
    assert "self-service" in of(report, "call").cure
