"""dispatch_event: an event from the shell."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from mcp_gateway.events import Text
from tests.demo import INTEGER, Demo, closed
from tests.wire_fixtures import demo

__all__ = ["demo"]


def run(*arguments: str) -> tuple[int, dict[str, Any], str]:
    """The exit code, what is printed, and what is said beside it."""
    out, beside = StringIO(), StringIO()
    code = 0
    try:
        call_command("dispatch_event", *arguments, stdout=out, stderr=beside)
    except SystemExit as leaving:
        code = int(str(leaving.code))
    printed: dict[str, Any] = json.loads(out.getvalue())
    return code, printed, beside.getvalue()


def listen(demo: Demo, script: Any, **columns: Any) -> None:
    demo.play("my:event", script)
    demo.listen("my:event", **{"origins": ["cli"], **columns})


def test_it_prints_the_event_as_json(demo: Demo) -> None:
    listen(demo, lambda event: {"got": event.request})
    code, printed, _ = run(
        "my:event", "--name=žluť", "--n:=5", '--list:=[1, {"a": null}]', "--flag", "--empty=", "--a=b=c"
    )
    request = {"name": "žluť", "n": 5, "list": [1, {"a": None}], "flag": True, "empty": "", "a": "b=c"}
    assert code == 0
    assert printed == {
        "type": "my:event",
        "origin": "cli",
        "request": request,
        "status": 200,
        "statusName": "OK",
        "message": "OK",
        "response": {"got": request},
        "ok": True,
    }


def test_content_is_shown_as_an_mcp_client_would_get_it(demo: Demo) -> None:
    def handle(event: Any) -> None:
        event.content.append(Text("Hello"))
        event.set_status(200)

    listen(demo, handle)
    code, printed, _ = run("my:event")
    assert (code, printed["response"], printed["content"]) == (0, {}, [{"type": "text", "text": "Hello"}])


def test_content_that_could_not_be_sent_is_told(demo: Demo) -> None:
    def handle(event: Any) -> None:
        event.content = ["Hello"]
        event.set_status(200)

    listen(demo, handle)
    code, printed, _ = run("my:event")
    assert code == 0
    assert "a str at /0, which is no block" in printed["content"]


def test_names_that_are_options_of_django_go_into_the_request(demo: Demo) -> None:
    listen(demo, lambda event: {})
    assert run("my:event", "--verbosity=3", "--user=x", "--help")[1]["request"] == {
        "verbosity": "3",
        "user": "x",
        "help": True,
    }
    assert run("my:event", "--s=1", "--v=2", "--n=3")[1]["request"] == {"s": "1", "v": "2", "n": "3"}


@pytest.mark.parametrize(("status", "code"), [(200, 0), (304, 0), (400, 1), (503, 1)])
def test_the_exit_code_is_1_unless_it_went_well(demo: Demo, status: int, code: int) -> None:
    listen(demo, lambda event: event.set_status(status, "So."))
    left, printed, _ = run("my:event")
    assert (left, printed["status"], printed["message"], printed["ok"]) == (code, status, "So.", code == 0)


def test_an_event_that_nobody_hears_is_not_found(demo: Demo) -> None:
    code, printed, beside = run("my:event")
    assert (code, printed["statusName"], beside) == (1, "NOT_FOUND", "")
    listen(demo, lambda event: {}, origins=["remote", "mcp"])
    code, printed, beside = run("my:event")
    assert (code, printed["statusName"]) == (1, "NOT_FOUND")
    assert "take the origin mcp, remote" in beside
    assert demo.calls == []


def test_the_request_schema_holds(demo: Demo) -> None:
    listen(demo, lambda event: {}, request_schema=json.dumps(closed(n=INTEGER)))
    code, printed, _ = run("my:event", "--n=5")
    assert (code, printed["status"]) == (1, 400)
    assert "/n" in printed["message"]
    assert run("my:event", "--n:=5")[0] == 0


def test_who_has_the_shell_may_all_and_a_named_user_what_is_theirs(demo: Demo) -> None:
    user = get_user_model().objects.create_user("ann")
    listen(demo, lambda event: {"user": getattr(event.user, "username", None)}, right="staff")
    assert run("my:event")[1]["response"] == {"user": None}
    assert run("--user", "ann", "my:event")[1]["statusName"] == "FORBIDDEN"
    user.is_staff = True
    user.save()
    assert run("--user", "ann", "my:event")[1]["response"] == {"user": "ann"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["*"], "literal"),
        (["x" * 501], "at most 500"),
        ([""], "needs a “type”"),
        (["my:event", "value"], "'value' says nothing: write --key=value"),
        (["my:event", "--=x"], "says nothing"),
        (["my:event", "--:=1"], "says nothing"),
        (["my:event", "-n=5"], "says nothing"),
        (["my:event", "--n:=five"], "--n:= is no JSON: "),
        (["my:event", "--n:="], "--n:= is empty"),
        (["my:event", "--n=1", "--n:=2"], "--n is given twice"),
        (["my:event", "--n=\udcff"], "no text in the shell's encoding"),
        (["\udcff"], "no text in the shell's encoding"),
        (["--user", "nobody", "my:event"], "no user 'nobody'"),
    ],
)
def test_what_cannot_be_dispatched_says_why(demo: Demo, arguments: list[str], message: str) -> None:
    listen(demo, lambda event: {})
    with pytest.raises(CommandError, match=message.replace("*", r"\*")):
        call_command("dispatch_event", *arguments)
    assert demo.calls == []
