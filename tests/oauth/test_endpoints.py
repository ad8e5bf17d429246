"""Several endpoints on one site: each has its own tools, its own baseline, and tokens that are good there alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from mcp_gateway import registry
from mcp_gateway.models import Endpoint, Scope, Tool
from tests.demo import Demo
from tests.oauth.flow import MCP, Flow
from tests.wire import Wire, issue_token
from tests.wire_fixtures import demo, era

__all__ = ["demo", "era"]

BILLING = f"{MCP}/billing"


@pytest.fixture(autouse=True)
def _project(settings: Any, module_dir: Any) -> None:
    settings.ZOLINGA = {"PUBLIC_URL": "http://testserver", "MODULE_DIRS": [module_dir], "HANDLER_PACKAGES": ["tests"]}


@pytest.fixture
def billing(demo: Demo) -> Endpoint:
    """A second endpoint with one tool, which a token with ``bills:read`` may call."""
    tool = demo.add("bills-list", lambda event: {"bills": []}, right="authenticated")
    endpoint = Endpoint.objects.create(slug="billing", title="Billing", all_tools=False)
    endpoint.baseline_scopes.add(Scope.objects.create(name="bills:read", description="Read bills", self_service=True))
    endpoint.tools.add(tool)
    return endpoint


def names(wire: Wire, era: str) -> set[str]:
    return {tool["name"] for tool in wire.request(era, "tools/list").result["tools"]}


@pytest.mark.usefixtures("billing")
def test_each_endpoint_lists_its_own_tools(era: str) -> None:
    assert names(Wire(path="/mcp/billing"), era) == {"bills-list"}
    assert names(Wire(path="/mcp/billing/"), era) == {"bills-list"}
    assert {"bills-list", "demo-echo"} <= names(Wire(), era)


@pytest.mark.usefixtures("billing")
def test_a_tool_that_was_not_chosen_does_not_exist_there(era: str, demo: Demo) -> None:
    there = Wire(path="/mcp/billing").call(era, "demo-ping")
    nowhere = Wire(path="/mcp/billing").call(era, "no-such-tool")
    assert there.code == nowhere.code == -32602
    assert there.error["message"].replace("demo-ping", "no-such-tool") == nowhere.error["message"]
    assert demo.calls == []
    assert Wire().call(era, "demo-ping").structured == {"pong": True}


def test_what_an_administrator_chooses_holds_from_the_next_request_on(era: str, billing: Endpoint) -> None:
    wire = Wire(path="/mcp/billing")
    billing.tools.add(Tool.objects.get(name="demo-ping"))
    assert names(wire, era) == {"bills-list", "demo-ping"}
    billing.tools.clear()
    assert names(wire, era) == set()
    Endpoint.objects.filter(pk=billing.pk).update(all_tools=True)
    assert "demo-echo" in names(wire, era)


@pytest.mark.usefixtures("billing")
def test_the_401_asks_for_the_baseline_of_the_endpoint(era: str) -> None:
    refused = Wire(path="/mcp/billing").call(era, "bills-list")
    assert refused.status == 401
    challenge = refused.response["WWW-Authenticate"]
    assert 'scope="bills:read"' in challenge
    assert 'resource_metadata="http://testserver/.well-known/oauth-protected-resource/mcp/billing"' in challenge
    assert 'scope="mcp:tools"' in Wire().call(era, "bills-list").response["WWW-Authenticate"]


@pytest.mark.usefixtures("billing")
def test_a_token_is_good_at_its_own_endpoint_alone(user: Any, era: str) -> None:
    scopes = "mcp:tools bills:read"
    here, there = issue_token(user, scopes), issue_token(user, scopes, slug="billing")
    for path in ("/mcp", "/mcp/"):
        assert Wire(path=path, token=here).call(era, "bills-list").structured == {"bills": []}
        refused = Wire(path=path, token=there).call(era, "bills-list")
        assert (refused.status, 'error="invalid_token"' in refused.response["WWW-Authenticate"]) == (401, True)
    for path in ("/mcp/billing", "/mcp/billing/"):
        assert Wire(path=path, token=there).call(era, "bills-list").structured == {"bills": []}
        refused = Wire(path=path, token=here).call(era, "bills-list")
        assert (refused.status, 'error="invalid_token"' in refused.response["WWW-Authenticate"]) == (401, True)


@pytest.mark.usefixtures("billing")
@pytest.mark.parametrize("resource", [BILLING, f"{BILLING}/", "HTTP://TestServer:80/mcp/billing"])
def test_a_token_of_the_whole_flow_is_bound_to_the_endpoint_it_was_asked_for(flow: Flow, resource: str) -> None:
    code = flow.code(resource=resource, scope="bills:read")
    token = flow.token(code=code, resource=BILLING).json()["access_token"]
    assert Wire(path="/mcp/billing", token=token).call("modern", "bills-list").structured == {"bills": []}
    assert Wire(token=token).call("modern", "bills-list").status == 401


@pytest.mark.usefixtures("billing")
def test_a_code_of_one_endpoint_gets_no_token_for_another(flow: Flow) -> None:
    code = flow.code(resource=BILLING, scope="bills:read")
    refused = flow.token(code=code, resource=MCP)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_target")


@pytest.mark.usefixtures("billing")
@pytest.mark.parametrize("resource", [f"{MCP}/other", f"{BILLING}/more", "http://elsewhere.example/mcp"])
def test_an_endpoint_that_is_not_there_is_an_invalid_target(flow: Flow, resource: str) -> None:
    assert flow.answer(flow.open(resource=resource))["error"] == "invalid_target"


def test_an_endpoint_with_every_tool_shares_the_snapshot_and_costs_no_statement(billing: Endpoint) -> None:
    held = registry.snapshot()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert held.at("") is held
        assert held.at("billing") is held.at("billing")
        assert set(held.at("billing").tools) == {"bills-list"}
    assert len(queries) == 0
