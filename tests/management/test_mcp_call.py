"""mcp_call: a tool call from the shell."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command

from mcp_gateway.models import Endpoint, Scope, Tool
from tests.demo import Demo
from tests.wire_fixtures import demo

__all__ = ["demo"]


def run(*arguments: str) -> Any:
    out = StringIO()
    call_command("mcp_call", *arguments, stdout=out)
    return json.loads(out.getvalue())


def test_it_prints_the_result(demo: Demo) -> None:
    result = run("demo-echo", '{"message": "žluťoučký"}')
    assert result["structuredContent"] == {"echo": "žluťoučký"}
    assert result["isError"] is False
    assert run("demo-ping")["structuredContent"] == {"pong": True}


def test_an_error_result_is_printed_and_exits_with_1(demo: Demo) -> None:
    out = StringIO()
    with pytest.raises(SystemExit) as caught:
        call_command("mcp_call", "demo-add", '{"a": "x"}', stdout=out)
    assert caught.value.code == 1
    assert "/a" in json.loads(out.getvalue())["content"][0]["text"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo-nope"], "Unknown tool: demo-nope"),
        (["demo-pong"], "Unknown tool: demo-pong .*Is demo-ping .*meant?"),
        (["demo-ping", "{"], "The argument JSON is no JSON"),
        (["demo-ping", ""], "The argument JSON is empty"),
        (["demo-ping", '{"a": 1, "a": 2}'], "An object in the argument JSON has two members named 'a'"),
        (["demo-ping", '{"a":1,"a":2}'], "two members"),
        (["demo-ping", "[]"], "must be an object"),
        (["demo-ping", "--user", "nobody"], "no user 'nobody'"),
        (["demo-ping", "--scope", "mcp:tools"], "--scope needs --user"),
        (
            ["demo-ping", "--user", "ann", "--scope", "mcp:tools nope"],
            "no enabled scope 'nope'; there are: .*mcp:tools",
        ),
        (["demo-ping", "--endpoint", "nope"], "no enabled endpoint 'nope'; there are: ''"),
    ],
)
def test_what_cannot_be_called_says_why(demo: Demo, arguments: list[str], message: str) -> None:
    get_user_model().objects.create_user("ann")
    with pytest.raises(CommandError, match=message):
        run(*arguments)
    assert demo.calls == []


def test_a_tool_that_is_not_served_says_why(demo: Demo) -> None:
    Tool.objects.create(name="gone", available=False, problem="Class not found.")
    Tool.objects.create(name="off", enabled=False)
    with pytest.raises(CommandError, match="It is not served: Class not found"):
        run("gone")
    with pytest.raises(CommandError, match="switched off"):
        run("off")


def test_rights_are_judged_for_the_user_and_the_scopes(demo: Demo) -> None:
    user = get_user_model().objects.create_user("ann")
    Scope.objects.create(name="orders:read")
    demo.add("demo-secret", lambda event: {"user": event.user.username}, right="oauth2:scope mcp:tools orders:read")
    demo.add("demo-members", lambda event: {}, right="member of crew")
    with pytest.raises(CommandError, match="Give --user"):
        run("demo-secret")
    assert run("demo-secret", "--user", "ann")["structuredContent"] == {"user": "ann"}
    with pytest.raises(CommandError, match='--scope "mcp:tools orders:read"'):
        run("demo-secret", "--user", "ann", "--scope", "mcp:tools")
    with pytest.raises(CommandError, match="You lack “member of crew”"):
        run("demo-members", "--user", "ann")
    user.groups.add(Group.objects.create(name="crew"))
    assert run("demo-members", "--user", "ann")["isError"] is False


def test_the_shell_is_told_everything_that_keeps_a_caller_out(demo: Demo) -> None:
    get_user_model().objects.create_user("ann")
    Scope.objects.create(name="orders:read").groups.add(Group.objects.create(name="Buyers"))
    Scope.objects.create(name="orders:off", enabled=False)
    demo.add("demo-kept", lambda event: {}, right="oauth2:scope orders:read")
    demo.add("demo-off", lambda event: {}, right="oauth2:scope orders:off")
    demo.add("demo-broken", lambda event: {}, right="member of")
    demo.add("demo-foreign", lambda event: {}, right="owner of shop")
    for tool, told in (
        ("demo-kept", "The scope orders:read is kept to groups that you are not in: Buyers."),
        ("demo-off", "The scope orders:off does not exist or is disabled."),
        ("demo-broken", "The right “member of” is nobody's: “member of” needs at least one word after it."),
        ("demo-foreign", "nothing answers for “owner”"),
    ):
        with pytest.raises(CommandError, match=re.escape(told)):
            run(tool, "--user", "ann")
    Scope.objects.filter(name="mcp:tools").update(enabled=False)
    demo.add("demo-crew", lambda event: {}, right="member of crew")
    told = "You lack “member of crew”. The scope mcp:tools does not exist or is disabled."
    with pytest.raises(CommandError, match=told):
        run("demo-crew", "--user", "ann")


def test_another_endpoint(demo: Demo) -> None:
    Endpoint.objects.create(slug="other", title="Other")
    result = run("demo-ping", "--endpoint", "other")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["title"] == "Other"
