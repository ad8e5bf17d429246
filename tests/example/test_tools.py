"""The example module: every tool it has, imported and called as a client calls it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from mcp_gateway.events import Origin, WebEvent
from mcp_gateway.events.dispatch import dispatch
from mcp_gateway.models import Listener, Scope, Tool
from mcp_gateway.registry import snapshot
from modules.example.models import Country, PriceAlert
from modules.example.seeding import seed
from tests.live import ROOT

MODULE = ROOT / "modules" / "example"
VERSION = {"MCP-Protocol-Version": "2025-11-25"}

Call = Callable[..., Any]


@pytest.fixture
def imported(import_manifests: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """The report of the module's import."""
    return import_manifests()


@pytest.fixture
def post(client: Client, imported: dict[str, Any]) -> Call:
    """Send a request to the endpoint, with a token or without."""

    def send(method: str, params: dict[str, Any], token: str = "") -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        headers = {**VERSION, **({"Authorization": f"Bearer {token}"} if token else {})}
        return client.post("/mcp", body, content_type="application/json", headers=headers)

    return send


@pytest.fixture
def call(post: Call) -> Call:
    """Call a tool that answers; its result."""

    def send(name: str, arguments: dict[str, Any] | None = None, token: str = "") -> Any:
        answer = post("tools/call", {"name": name, "arguments": arguments or {}}, token)
        assert answer.status_code == 200, answer.content
        return answer.json()["result"]

    return send


@pytest.fixture
def token(capsys: pytest.CaptureFixture[str], db: None) -> Callable[..., str]:
    """An access token of the user ``ada`` with scopes."""

    def issue(*scopes: str) -> str:
        User.objects.get_or_create(username="ada", defaults={"first_name": "Ada", "last_name": "Lovelace"})
        capsys.readouterr()
        call_command("mcp_token", "--user", "ada", "--scope", " ".join(scopes))
        return capsys.readouterr().out.strip()

    return issue


def listing(post: Call) -> dict[str, Any]:
    """The tools by name."""
    return {tool["name"]: tool for tool in post("tools/list", {}).json()["result"]["tools"]}


def test_the_manifest_imports_without_a_word_of_complaint(imported: dict[str, Any]) -> None:
    assert imported["refused"] == []
    assert imported["warnings"] == []
    assert Tool.objects.filter(available=True).count() == 8


def test_the_remote_event_and_the_tool_name_the_same_class_and_method(imported: dict[str, Any]) -> None:
    remote = Listener.objects.get(event="example:pricing:list")
    tool = Listener.objects.get(event="getPricingList")
    assert (remote.class_name, remote.method) == (tool.class_name, tool.method)
    assert (remote.origins, tool.origins) == (["remote"], ["mcp"])


def test_the_price_list_is_the_tables(call: Call) -> None:
    content = call("getPricingList")["structuredContent"]
    assert content["currency"] == "EUR"
    assert [entry["code"] for entry in content["countries"]] == [country.code for country in Country.objects.all()]
    austria = next(entry for entry in content["countries"] if entry["code"] == "AT")
    assert austria == {"code": "AT", "name": "Austria", "price": 0.079, "search": "austria österreich at"}
    Country.objects.filter(pk="AT").update(price="0.0815")
    assert call("getPricingList", {"search": "austria"})["structuredContent"]["countries"][0]["price"] == 0.0815


@pytest.mark.parametrize(
    ("search", "codes"), [("ÖSTERREICH", ["AT"]), ("ελλάδα", ["GR"]), ("  austria ", ["AT"]), ("atlantis", [])]
)
def test_the_price_list_is_searched_by_any_of_a_countrys_names(call: Call, search: str, codes: list[str]) -> None:
    content = call("getPricingList", {"search": search})["structuredContent"]
    assert [entry["code"] for entry in content["countries"]] == codes


def test_one_handler_serves_pages_and_agents(call: Call, imported: dict[str, Any]) -> None:
    event = WebEvent("example:pricing:list", Origin.REMOTE, {"search": "austria"})
    dispatch(event, snapshot().matching(event.type, event.origin))
    assert event.ok
    assert event.response == call("getPricingList", {"search": "austria"})["structuredContent"]


def test_the_remote_event_is_no_tool(post: Call) -> None:
    assert "example:pricing:list" not in listing(post)
    answer = post("tools/call", {"name": "example:pricing:list", "arguments": {}})
    assert answer.json()["error"]["code"] == -32602


def test_echo_gives_the_message_back_with_the_time(call: Call) -> None:
    content = call("echo", {"message": "Grüß Gott"})["structuredContent"]
    assert content["echo"] == "Grüß Gott"
    received = datetime.datetime.fromisoformat(content["receivedAt"])
    assert abs(datetime.datetime.now(datetime.UTC) - received) < datetime.timedelta(minutes=5)


@pytest.mark.parametrize("arguments", [{}, {"message": ""}])
def test_echo_without_a_message_is_an_error_that_names_it(call: Call, arguments: dict[str, Any]) -> None:
    result = call("echo", arguments)
    assert result["isError"] is True
    assert '"message"' in result["content"][0]["text"]
    assert "structuredContent" not in result


def test_my_tool_is_the_one_of_the_manual(call: Call) -> None:
    assert call("my-tool", {"arg": "hello"})["structuredContent"] == {"echo": "hello"}
    result = call("my-tool")
    assert result["isError"] is True
    assert result["content"][0]["text"] == 'Missing or empty "arg" argument.'


def test_schemas_without_arguments_are_objects_on_the_wire(post: Call) -> None:
    tools = listing(post)
    placeholder = tools["getServerTime"]["inputSchema"]["properties"]
    assert placeholder["_"]["type"] == "null"
    assert tools["getPriceRange"]["inputSchema"]["properties"] == {}
    assert b'"properties":{}' in post("tools/list", {}).content


def test_tools_without_arguments_answer(call: Call) -> None:
    content = call("getServerTime")["structuredContent"]
    assert content["timeZone"] == "UTC"
    assert content["utc"] == content["local"]
    content = call("getPriceRange")["structuredContent"]
    assert content["count"] == Country.objects.count()
    assert content["lowest"]["price"] <= content["highest"]["price"]


def test_an_empty_price_list_has_no_range(call: Call) -> None:
    Country.objects.all().delete()
    result = call("getPriceRange")
    assert result["isError"] is True
    assert result["content"][0]["text"] == "The price list is empty."


def test_every_object_of_the_price_lists_schemas_is_closed() -> None:
    def closed(schema: Any) -> bool:
        if isinstance(schema, list):
            return all(closed(item) for item in schema)
        if not isinstance(schema, dict):
            return True
        open_object = schema.get("type") == "object" and schema.get("additionalProperties") is not False
        return not open_object and all(closed(value) for value in schema.values())

    paths = sorted((MODULE / "schemas").glob("*.json"))
    assert len(paths) == 16
    for path in paths:
        assert closed(json.loads(path.read_text(encoding="utf-8"))), path.name


def test_every_tool_and_argument_has_a_description(post: Call) -> None:
    for tool in listing(post).values():
        assert len(tool["description"]) > 40
        for argument in tool["inputSchema"]["properties"].values():
            assert argument["description"]


def test_alerts_are_set_and_listed_for_the_tokens_user(call: Call, token: Callable[..., str]) -> None:
    held = token("mcp:tools", "example:write")
    first = call("setPriceAlert", {"country": "AT", "limit": 0.05}, held)["structuredContent"]
    assert first["created"] is True
    assert (first["alert"]["limit"], first["alert"]["reached"]) == (0.05, False)
    again = call("setPriceAlert", {"country": "AT", "limit": 0.1}, held)["structuredContent"]
    assert again["created"] is False
    call("setPriceAlert", {"country": "DE", "limit": 0.01}, held)

    other = User.objects.create_user("grace")
    PriceAlert.objects.create(user=other, country_id="FR", limit="0.5")
    alerts = call("listPriceAlerts", {}, held)["structuredContent"]["alerts"]
    assert [alert["country"] for alert in alerts] == ["DE", "AT"]
    reached = call("listPriceAlerts", {"reached": True}, held)["structuredContent"]["alerts"]
    assert [alert["country"] for alert in reached] == ["AT"]
    assert PriceAlert.objects.get(user__username="ada", country="AT").limit == Decimal("0.1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"country": "XX", "limit": 1}, "There is no price for XX"),
        ({"country": "AT", "limit": 0.00001}, "below 0.0001"),
        ({"country": "AT", "limit": 0}, "/limit"),
        ({"country": "Austria", "limit": 1}, "/country"),
        ({"country": "AT", "limit": "1"}, "/limit"),
    ],
)
def test_an_alert_that_cannot_be_set_says_why_and_changes_nothing(
    call: Call, token: Callable[..., str], arguments: dict[str, Any], said: str
) -> None:
    result = call("setPriceAlert", arguments, token("mcp:tools", "example:write"))
    assert result["isError"] is True
    assert said in result["content"][0]["text"]
    assert not PriceAlert.objects.exists()


@pytest.mark.parametrize("name", ["listPriceAlerts", "setPriceAlert", "getMyAccount"])
def test_a_protected_tool_answers_401_without_a_token(post: Call, name: str) -> None:
    answer = post("tools/call", {"name": name, "arguments": {}})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer resource_metadata=")


def test_the_two_scope_tool_names_both_scopes_to_a_token_with_one(post: Call, token: Callable[..., str]) -> None:
    answer = post(
        "tools/call", {"name": "setPriceAlert", "arguments": {"country": "AT", "limit": 1}}, token("mcp:tools")
    )
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer["WWW-Authenticate"]
    assert 'scope="example:write mcp:tools"' in answer["WWW-Authenticate"]
    assert not PriceAlert.objects.exists()


def test_the_account_is_for_members_of_the_group_only(post: Call, call: Call, token: Callable[..., str]) -> None:
    held = token("mcp:tools")
    answer = post("tools/call", {"name": "getMyAccount", "arguments": {}}, held)
    assert answer.status_code == 403
    assert "WWW-Authenticate" not in answer
    User.objects.get(username="ada").groups.add(Group.objects.get(name="users"))
    assert call("getMyAccount", {}, held)["structuredContent"] == {
        "username": "ada",
        "fullName": "Ada Lovelace",
        "groups": ["users"],
        "alerts": 0,
    }


def test_a_member_whose_token_lacks_the_baseline_is_told_which_scope_to_get(
    post: Call, token: Callable[..., str]
) -> None:
    held = token("example:write")
    User.objects.get(username="ada").groups.add(Group.objects.get(name="users"))
    answer = post("tools/call", {"name": "getMyAccount", "arguments": {}}, held)
    assert answer.status_code == 403
    assert 'scope="mcp:tools"' in answer["WWW-Authenticate"]


def test_what_the_module_starts_with_is_made_once(db: None) -> None:
    assert Country.objects.count() == 29
    assert Scope.objects.get(name="example:write").description == "Set price alerts in your name"
    Country.objects.exclude(pk="AT").delete()
    Scope.objects.filter(name="example:write").delete()
    seed("default")
    assert Country.objects.count() == 1
    assert not Scope.objects.filter(name="example:write").exists()


def test_the_prices_come_as_they_stand_in_the_file() -> None:
    lines = (MODULE / "prices.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "code,name,native_name,price"
    assert len(lines) == 30
    assert Path(MODULE / "zolinga.json").read_bytes().count(b"module://example/") == 16
