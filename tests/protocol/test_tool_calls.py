"""tools/call: arguments, envelope, failures (2026-07-28 and 2025-11-25, server/tools)."""

from __future__ import annotations

import datetime
import json
import logging
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import PermissionDenied

from mcp_gateway.events import CallEvent, Status
from tests.demo import Demo, closed
from tests.wire import LEGACY, MODERN, Wire

STRUCTURE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_success_has_structure_and_the_same_json_as_text(wire: Wire, era: str) -> None:
    answer = wire.call(era, "demo-echo", {"message": "hi"})
    assert answer.result["structuredContent"] == {"echo": "hi"}
    assert json.loads(answer.text) == {"echo": "hi"}
    assert answer.result["isError"] is False
    assert ("resultType" in answer.result) is (era == "modern")
    if era == "modern":
        assert answer.result["resultType"] == "complete"


def test_result_against_the_response_schema_is_an_error_that_names_every_pointer(
    wire: Wire, demo: Demo, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    demo.play("demo-add", lambda event: {"sum": "s3cret-value", "other": 1})
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        answer = wire.call(era, "demo-add", {"a": 1, "b": 2})
    assert answer.result["isError"] is True
    assert "structuredContent" not in answer.result
    assert "/sum" in answer.text
    assert '"other"' in answer.text
    assert "s3cret-value" not in answer.text
    assert "demo-add" in caplog.text
    assert "/sum" in caplog.text


def test_non_ascii_stays_as_it_is(wire: Wire, era: str) -> None:
    text = "Příliš žluťoučký 中文 🙂"
    answer = wire.call(era, "demo-echo", {"message": text})
    assert answer.result["structuredContent"] == {"echo": text}
    assert text in answer.text
    assert text.encode() in answer.body


def test_values_of_python_are_one_text_in_structure_and_mirror(wire: Wire, demo: Demo, era: str) -> None:
    values = {
        "moment": datetime.datetime(2026, 11, 30, 9, tzinfo=datetime.UTC),
        "day": datetime.date(2026, 11, 30),
        "price": Decimal("1.10"),
        "id": UUID(int=1),
        "pair": (1, 2),
    }
    demo.play("demo-ping", lambda event: values)
    answer = wire.call(era, "demo-ping")
    assert answer.result["structuredContent"] == {
        "moment": "2026-11-30T09:00:00Z",
        "day": "2026-11-30",
        "price": "1.10",
        "id": "00000000-0000-0000-0000-000000000001",
        "pair": [1, 2],
    }
    assert json.loads(answer.text) == answer.result["structuredContent"]


@pytest.mark.parametrize("value", [b"\xff", {1, 2}])
def test_bytes_and_sets_are_an_error_at_their_place(wire: Wire, demo: Demo, era: str, value: Any) -> None:
    demo.play("demo-ping", lambda event: {"list": [1, value]})
    answer = wire.call(era, "demo-ping")
    assert (answer.status, answer.result["isError"]) == (200, True)
    assert "/list/1" in answer.text


def test_none_conforms_only_where_the_schema_admits_null(wire: Wire, demo: Demo) -> None:
    def nothing(event: CallEvent) -> None:
        event.response = None
        event.set_status(200)

    demo.play("demo-null", nothing)
    demo.play("demo-ping", nothing)
    assert wire.call("modern", "demo-null").result["structuredContent"] is None
    legacy = wire.call("legacy", "demo-null").result
    assert legacy["isError"] is False
    assert "structuredContent" not in legacy
    assert wire.call("modern", "demo-ping").result["isError"] is True


def test_a_handler_that_only_sets_a_status_answers_with_an_empty_object(wire: Wire, demo: Demo, era: str) -> None:
    demo.play("demo-ping", lambda event: event.set_status(200))
    assert json.loads(wire.call(era, "demo-ping").text) == {}


def test_a_response_that_looks_like_an_envelope_is_data(wire: Wire, demo: Demo, era: str) -> None:
    payload = {"content": [{"type": "text", "text": "x"}], "isError": True}
    demo.play("demo-ping", lambda event: payload)
    answer = wire.call(era, "demo-ping")
    assert answer.result["isError"] is False
    assert answer.result["structuredContent"] == payload


@pytest.mark.parametrize("version", LEGACY)
def test_legacy_versions_get_structure_only_where_they_were_told_a_schema(wire: Wire, version: str) -> None:
    echo = wire.call("legacy", "demo-echo", {"message": "x"}, version=version).result
    assert ("structuredContent" in echo) is (version != "2025-03-26")
    rows = wire.call("legacy", "demo-rows", version=version).result
    assert "structuredContent" not in rows
    assert json.loads(rows["content"][0]["text"]) == [{"id": 1}, {"id": 2}]


def test_modern_structure_may_be_any_json_value(wire: Wire, demo: Demo) -> None:
    assert wire.call("modern", "demo-rows").result["structuredContent"] == [{"id": 1}, {"id": 2}]
    demo.play("demo-any", lambda event: 5)
    assert wire.call("modern", "demo-any").result["structuredContent"] == 5


@pytest.mark.parametrize("arguments", [None, {}])
def test_absent_arguments_are_an_empty_object(wire: Wire, demo: Demo, era: str, arguments: Any) -> None:
    answer = wire.call(era, "demo-ping", arguments)
    assert answer.result["isError"] is False
    (call,) = demo.calls
    assert isinstance(call, CallEvent)
    assert call.request == {}


@pytest.mark.parametrize("arguments", [[], ["a"], '{"message":"hi"}', 5, True])
def test_arguments_that_are_no_object_are_a_protocol_error(wire: Wire, demo: Demo, era: str, arguments: Any) -> None:
    answer = wire.call(era, "demo-ping", arguments)
    assert answer.status == (400 if era == "modern" else 200)
    assert answer.code == -32602
    assert "object" in answer.error["message"]
    assert demo.calls == []


def test_null_arguments_are_a_protocol_error(wire: Wire, demo: Demo, era: str) -> None:
    answer = wire.request(era, "tools/call", {"name": "demo-ping", "arguments": None})
    assert answer.code == -32602
    assert demo.calls == []


def test_an_open_schema_lets_further_members_through(wire: Wire, era: str) -> None:
    answer = wire.call(era, "demo-open", {"a": 1, "zz": 2})
    assert json.loads(answer.text) == {"got": {"a": 1, "zz": 2}}
    tools = {tool["name"]: tool for tool in wire.request(era, "tools/list").result["tools"]}
    assert "additionalProperties" not in tools["demo-open"]["inputSchema"]


def test_a_float_without_fraction_is_an_integer(wire: Wire, era: str) -> None:
    assert json.loads(wire.call(era, "demo-add", {"a": 5.0, "b": 1}).text) == {"sum": 6}


@pytest.mark.parametrize("value", [True, "5", 5.5, None])
@pytest.mark.parametrize("version", ["2026-07-28", *LEGACY])
def test_nothing_is_coerced(wire: Wire, demo: Demo, version: str, value: Any) -> None:
    arguments = {"a": value, "b": 1}
    if version == "2026-07-28":
        answer = wire.call("modern", "demo-add", arguments)
    else:
        answer = wire.call("legacy", "demo-add", arguments, version=version)
    assert answer.result["isError"] is True
    assert "/a" in answer.text
    assert demo.calls == []


def test_all_faults_of_the_arguments_are_told(wire: Wire, era: str) -> None:
    text = wire.call(era, "demo-add", {"a": "x", "c": 1}).text
    assert "/a" in text
    assert '"b"' in text
    assert '"c"' in text


@pytest.mark.parametrize("digits", ["9223372036854775808", "18446744073709551616", "1" * 400])
def test_integers_keep_every_digit_both_ways(wire: Wire, digits: str) -> None:
    body = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        f'{{"name":"demo-open","arguments":{{"big":{digits}}}}}}}'
    )
    answer = wire.post(body)
    assert f'{{"got":{{"big":{digits}}}}}' == answer.text


def test_an_unknown_tool_is_a_protocol_error(wire: Wire, era: str) -> None:
    answer = wire.call(era, "demo-nope", {})
    assert answer.status == (400 if era == "modern" else 200)
    assert answer.code == -32602
    assert "Unknown tool: demo-nope" in answer.error["message"]
    assert answer.json["id"] == 1


@pytest.mark.parametrize("params", [{"arguments": {}}, {"name": 5}, {"name": None}, {"name": ["demo-ping"]}])
def test_a_call_without_a_name_is_a_protocol_error(wire: Wire, demo: Demo, era: str, params: Any) -> None:
    answer = wire.request(era, "tools/call", params, headers={"Mcp-Name": "demo-ping"})
    assert answer.status == (400 if era == "modern" else 200)
    assert answer.code == -32602
    assert answer.json["id"] == 1
    assert demo.calls == []


def test_an_empty_name_is_an_unknown_tool(wire: Wire, era: str) -> None:
    assert wire.call(era, "").code == -32602


def test_a_modern_call_without_params_lacks_its_meta(wire: Wire, demo: Demo) -> None:
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "demo-ping"}
    answer = wire.post({"jsonrpc": "2.0", "id": 7, "method": "tools/call"}, headers)
    assert (answer.status, answer.code, answer.json["id"]) == (400, -32602, 7)
    assert demo.calls == []


def test_a_legacy_call_without_params_is_a_protocol_error(wire: Wire) -> None:
    answer = wire.post({"jsonrpc": "2.0", "id": 7, "method": "tools/call"})
    assert answer.status == 200
    assert answer.code == -32602
    assert answer.json["id"] == 7


@pytest.mark.parametrize("column", ["enabled", "available"])
def test_a_tool_that_is_off_is_unknown(wire: Wire, demo: Demo, era: str, column: str) -> None:
    demo.add("demo-off", lambda event: {}, tool={column: False})
    assert wire.call(era, "demo-off").code == -32602
    assert demo.calls == []


def test_switching_a_tool_off_holds_for_the_next_request(wire: Wire, demo: Demo, era: str) -> None:
    tool = demo.add("demo-switched", lambda event: {})
    assert wire.call(era, "demo-switched").result["isError"] is False
    tool.enabled = False
    tool.save()
    assert wire.call(era, "demo-switched").code == -32602
    names = [entry["name"] for entry in wire.request(era, "tools/list").result["tools"]]
    assert "demo-switched" not in names


def test_a_status_of_the_handler_is_an_error_result(wire: Wire, demo: Demo, era: str) -> None:
    def refuse(event: CallEvent) -> None:
        event.set_status(400, 'Missing or empty "arg" argument.')

    demo.play("demo-ping", refuse)
    answer = wire.call(era, "demo-ping")
    assert answer.status == 200
    assert answer.result["isError"] is True
    assert answer.text == 'Missing or empty "arg" argument.'
    assert "structuredContent" not in answer.result


@pytest.mark.parametrize("message", [5, b"no", None, ["no"]], ids=repr)
def test_a_message_that_is_no_text_still_makes_an_answer(wire: Wire, demo: Demo, era: str, message: Any) -> None:
    def refuse(event: CallEvent) -> None:
        event.set_status(Status.NOT_FOUND)
        event.message = message

    demo.add("demo-refuse", refuse)
    result = wire.call(era, "demo-refuse").result
    assert result["isError"] is True
    assert isinstance(result["content"][0]["text"], str)


def test_a_handler_that_says_nothing_is_an_error_that_says_so(
    wire: Wire, demo: Demo, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    demo.play("demo-ping", lambda event: None)
    answer = wire.call(era, "demo-ping")
    assert answer.result["isError"] is True
    assert "without saying how it went" in answer.text
    assert "demo-ping" in caplog.text


def test_an_exception_is_an_error_without_its_text(
    wire: Wire, demo: Demo, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    def break_down(event: CallEvent) -> None:
        raise RuntimeError("password=hunter2 in /srv/secret.py")

    demo.play("demo-ping", break_down)
    answer = wire.call(era, "demo-ping")
    assert answer.status == 200
    assert answer.result["isError"] is True
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    incident = answer.text.rpartition(" ")[2].rstrip(".")
    assert incident in caplog.text
    assert "hunter2" in caplog.text


def test_a_result_that_json_cannot_carry_names_its_pointer(wire: Wire, demo: Demo, era: str) -> None:
    demo.play("demo-any", lambda event: {"a": [1, {"b": float("nan")}]})
    answer = wire.call(era, "demo-any")
    assert answer.result["isError"] is True
    assert "/a/1/b" in answer.text


def test_a_result_over_the_limit_is_an_error(wire: Wire, demo: Demo, era: str, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_RESULT_BYTES": 100}
    demo.play("demo-any", lambda event: {"a": "x" * 92})
    assert wire.call(era, "demo-any").result["isError"] is False
    demo.play("demo-any", lambda event: {"a": "x" * 93})
    answer = wire.call(era, "demo-any")
    assert answer.result["isError"] is True
    assert "101 bytes" in answer.text


def test_an_exceptions_text_is_bounded_as_results_are(wire: Wire, demo: Demo, era: str) -> None:
    def refuse(event: Any) -> None:
        raise PermissionDenied("x" * 1_000_000)

    demo.play("demo-any", refuse)
    answer = wire.call(era, "demo-any")
    assert answer.result["isError"] is True
    assert answer.text == "x" * 9_999 + "…"


def test_the_schema_judges_the_json_that_is_sent(wire: Wire, demo: Demo, era: str) -> None:
    demo.add(
        "demo-tuple",
        lambda event: {"pair": (1, 2)},
        response=closed(pair={"type": "array", "items": {"type": "integer"}}),
    )
    assert json.loads(wire.call(era, "demo-tuple").text) == {"pair": [1, 2]}


def test_a_call_is_one_statement_beside_the_handlers_transaction(
    wire: Wire, demo: Demo, era: str, django_assert_num_queries: Any
) -> None:
    wire.call(era, "demo-echo", {"message": "warm"})
    with django_assert_num_queries(3):  # the check; the savepoint and its release
        wire.call(era, "demo-echo", {"message": "hi"})


def test_a_handler_without_transaction_makes_a_call_one_statement(
    wire: Wire, demo: Demo, era: str, django_assert_num_queries: Any
) -> None:
    demo.add("demo-bare", lambda event: {}, atomic=False)
    wire.call(era, "demo-bare")
    with django_assert_num_queries(1):
        wire.call(era, "demo-bare")
