"""The gate: events of the site's own pages, for whoever is logged in there."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, connection
from django.http import HttpResponse
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mcp_gateway import registry
from mcp_gateway.events import WebEvent
from mcp_gateway.models import Listener
from tests.demo import INTEGER, Demo, closed

MEMBERS = ["uuid", "type", "origin", "status", "statusName", "message", "response", "ok"]


@dataclass
class Page:
    """A page of the site that talks to the gate."""

    client: Client = field(default_factory=Client)
    path: str = "/dist/system/gate"

    def post(self, body: Any, **headers: Any) -> HttpResponse:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content_type": "application/json", **headers}
        answer: Any = self.client.post(self.path, content, **sent)
        assert answer["Content-Type"] == "application/json"
        assert answer["Cache-Control"] == "no-store"
        return answer  # type: ignore[no-any-return]

    def send(self, *items: Any) -> list[dict[str, Any]]:
        answer = self.post(list(items))
        assert answer.status_code == 200, answer.content
        answers: list[dict[str, Any]] = json.loads(answer.content)
        assert len(answers) == len(items)
        assert all(list(entry) == MEMBERS and entry["origin"] == "remote" for entry in answers)
        return answers

    def ask(self, name: Any, request: Any = None) -> dict[str, Any]:
        """Send one event."""
        (answer,) = self.send({"uuid": "u", "type": name, **({} if request is None else {"request": request})})
        return answer

    def refusal(self, body: Any, **headers: Any) -> tuple[int, dict[str, Any]]:
        """What is wrong with a request as a whole."""
        answer = self.post(body, **headers)
        said = json.loads(answer.content)
        assert list(said) == ["status", "statusName", "message", "ok"]
        assert (said["status"], said["ok"]) == (answer.status_code, False)
        return answer.status_code, said


@pytest.fixture
def page(demo: Demo) -> Page:
    return Page()


@pytest.fixture
def user(db: None) -> Any:
    return get_user_model().objects.create_user("ann")


def listen(demo: Demo, name: str, script: Any, **columns: Any) -> Listener:
    demo.play(name, script)
    return demo.listen(name, **{"origins": ["remote"], **columns})


# What comes back


@pytest.mark.parametrize("path", ["/dist/system/gate", "/dist/system/gate/"])
def test_events_are_answered_in_their_order(page: Page, demo: Demo, path: str) -> None:
    page.path = path
    listen(demo, "shop:double", lambda event: {"n": event.request["n"] * 2})
    answers = page.send(
        {"uuid": "a", "type": "shop:double", "request": {"n": 1}},
        {"uuid": "b", "type": "shop:double", "request": {"n": 4}},
    )
    assert answers[0] == {
        "uuid": "a",
        "type": "shop:double",
        "origin": "remote",
        "status": 200,
        "statusName": "OK",
        "message": "OK",
        "response": {"n": 2},
        "ok": True,
    }
    assert (answers[1]["uuid"], answers[1]["response"]) == ("b", {"n": 8})
    (first, _second) = demo.calls
    assert isinstance(first, WebEvent)
    assert (first.user, first.auth) == (None, None)


def test_what_no_handler_is_expected_to_raise_spoils_only_its_own_event(page: Page, demo: Demo) -> None:
    class Panic(BaseException):
        """What a library in Rust raises when it panics."""

    def panic(event: WebEvent) -> None:
        raise Panic("the password is 1234")

    listen(demo, "shop:fine", lambda event: {"fine": True})
    listen(demo, "shop:broken", panic)
    broken, fine = page.send({"uuid": "a", "type": "shop:broken"}, {"uuid": "b", "type": "shop:fine"})
    assert (broken["ok"], fine["ok"]) == (False, True)
    assert "1234" not in broken["message"]


def test_one_bad_item_spoils_only_itself(page: Page, demo: Demo) -> None:
    def broken(event: WebEvent) -> None:
        raise RuntimeError("the password is 1234")

    listen(demo, "shop:fine", lambda event: {"fine": True})
    listen(demo, "shop:broken", broken)
    fine = {"uuid": "u", "type": "shop:fine"}
    bad: list[Any] = [
        {"uuid": "u", "type": "shop:broken"},
        {"uuid": "u", "type": "shop:nobody"},
        {"uuid": "u", "type": "*"},
        {"uuid": "u", "type": "shop:*"},
        {"uuid": "u", "type": ""},
        {"uuid": "u", "type": None},
        {"uuid": "u", "type": 5},
        {"uuid": "u", "type": ["shop:fine"]},
        {"uuid": "u"},
        {**fine, "request": []},
        {**fine, "request": "x"},
        {**fine, "request": None},
        {**fine, "uuid": {}},
        {**fine, "uuid": 5},
        {**fine, "uuid": "x" * 101},
        "shop:fine",
        None,
        [],
        7,
    ]
    expected = [500, 404] + [400] * 17
    answers = page.send(*(entry for item in bad for entry in (item, fine)))
    assert [entry["status"] for entry in answers[::2]] == expected
    assert all(entry["message"] and not entry["ok"] and entry["response"] == {} for entry in answers[::2])
    assert all(entry["ok"] and entry["uuid"] == "u" for entry in answers[1::2])
    assert "1234" not in json.dumps(answers)


@pytest.mark.parametrize("half", ["\\ud83d", "\\uDE00"])
@pytest.mark.parametrize("where", ['"uuid":"%s"', '"type":"%s"', '"request":{"a":["x%s"]}', '"request":{"%s":1}'])
def test_half_a_character_spoils_only_its_own_event(page: Page, demo: Demo, half: str, where: str) -> None:
    listen(demo, "page:echo", lambda event: dict(event.request))
    whole = '{"uuid":"b","type":"page:echo","request":{"a":"\\ud83d\\ude00"}}'
    answer = page.post(f"[{{{where % half}}},{whole}]".encode())
    assert answer.status_code == 200, answer.content
    spoilt, sound = json.loads(answer.content)
    assert (spoilt["status"], spoilt["ok"]) == (400, False)
    assert "surrogate" in spoilt["message"]
    assert (sound["uuid"], sound["status"]) == ("b", 200)


def test_an_empty_list_is_answered_by_one(page: Page) -> None:
    assert page.send() == []


def test_a_missing_uuid_is_null(page: Page, demo: Demo) -> None:
    listen(demo, "x", lambda event: {})
    (answer,) = page.send({"type": "x"})
    assert (answer["uuid"], answer["ok"]) == (None, True)


def test_what_a_listener_says_is_the_answer(page: Page, demo: Demo) -> None:
    def refuse(event: WebEvent) -> None:
        event.response = {"field": "name"}
        event.set_status(409, "Taken.")

    listen(demo, "x", refuse)
    answer = page.ask("x")
    assert (answer["status"], answer["statusName"], answer["message"], answer["ok"]) == (
        409,
        "CONFLICT",
        "Taken.",
        False,
    )
    assert answer["response"] == {"field": "name"}


def test_silence_is_an_error_that_says_so(page: Page, demo: Demo) -> None:
    listen(demo, "x", lambda event: None)
    answer = page.ask("x")
    assert answer["status"] == 500
    assert "without saying how it went" in answer["message"]


def test_what_an_exception_leaves_behind_is_not_sent(page: Page, demo: Demo) -> None:
    def half(event: WebEvent) -> None:
        event.response = {"secret": 1}
        raise PermissionDenied("Not yours.")

    listen(demo, "x", half)
    answer = page.ask("x")
    assert (answer["status"], answer["message"], answer["response"]) == (403, "Not yours.", {})


def test_the_request_is_checked_where_the_listener_has_a_schema(page: Page, demo: Demo) -> None:
    schema = json.dumps(closed(a=INTEGER, b=INTEGER))
    listen(demo, "x", lambda event: {"sum": event.request["a"] + event.request["b"]}, request_schema=schema)
    assert page.ask("x", {"a": 1, "b": 2})["response"] == {"sum": 3}
    answer = page.ask("x", {"a": "1"})
    assert answer["status"] == 400
    assert "/a" in answer["message"]
    assert "b" in answer["message"]
    assert len(demo.calls) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("value", [b"bytes", float("nan"), {1, 2}, "\ud800", {1: 2}])
def test_a_response_that_json_cannot_carry_fails_and_takes_its_rows_with_it(
    page: Page, demo: Demo, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def write(event: WebEvent) -> Any:
        Group.objects.create(name="written")
        return {"value": value}

    listen(demo, "x", write)
    with caplog.at_level(logging.ERROR, "mcp_gateway"):
        answer = page.ask("x")
    assert (answer["status"], answer["response"]) == (500, {})
    assert "cannot be sent as JSON" in answer["message"]
    assert "cannot be sent as JSON" in caplog.text
    assert not Group.objects.filter(name="written").exists()


def test_responses_share_the_largest_size(page: Page, demo: Demo, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_RESULT_BYTES": 1000}
    listen(demo, "x", lambda event: {"text": "x" * 600})
    answers = page.send({"type": "x"}, {"type": "x"}, {"type": "y"})
    assert [entry["status"] for entry in answers] == [200, 500, 404]
    assert "more than the" in answers[1]["message"]


@pytest.mark.django_db(transaction=True)
def test_each_event_has_a_transaction_of_its_own(page: Page, demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)

    def write(event: WebEvent) -> None:
        Group.objects.create(name=event.request["name"])
        event.set_status(event.request["status"])

    listen(demo, "x", write)
    page.send(*({"type": "x", "request": {"name": f"row{status}", "status": status}} for status in (200, 400, 201)))
    rows = Group.objects.filter(name__startswith="row")
    assert set(rows.values_list("name", flat=True)) == {"row200", "row201"}


# Names


def test_a_name_that_is_too_long_is_refused_without_being_looked_for_or_repeated(
    page: Page, demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.listen("*", origins=["remote"])
    looked: list[str] = []
    monkeypatch.setattr(registry.Snapshot, "matching", lambda snapshot, name, origin: looked.append(name))
    answer = page.ask("x" * 1_000_000)
    assert answer["status"] == 400
    assert "1000000 characters" in answer["message"]
    assert len(json.dumps(answer)) < 600
    assert looked == []


@pytest.mark.parametrize("name", ["*", "shop:*", "***", "system:service:*"])
def test_a_star_stands_for_nothing_in_what_is_typed(page: Page, demo: Demo, name: str) -> None:
    listen(demo, "shop:*", lambda event: {})
    demo.listen("*", origins=["remote"])
    answer = page.ask(name)
    assert (answer["status"], answer["type"]) == (400, name)
    assert "literal" in answer["message"]
    assert demo.calls == []


@pytest.mark.parametrize("origin", ["internal", "cli", "mcp", "custom"])
def test_only_remote_listeners_are_reached(page: Page, demo: Demo, origin: str) -> None:
    listen(demo, "x", lambda event: {}, origins=[origin])
    assert page.ask("x")["status"] == 404
    assert demo.calls == []


# Rights


@pytest.mark.parametrize(
    ("right", "anonymous", "plain", "staff"),
    [
        ("", 200, 200, 200),
        ("authenticated", 403, 200, 200),
        ("staff", 403, 403, 200),
        ("member of crew", 403, 403, 200),
        ("perm auth.add_user", 403, 403, 200),
        ("oauth2:scope mcp:tools", 403, 403, 403),
        ("nobody knows", 403, 403, 403),
    ],
)
def test_the_sessions_user_must_hold_the_right(
    page: Page, demo: Demo, user: Any, right: str, anonymous: int, plain: int, staff: int
) -> None:
    listen(demo, "x", lambda event: {"user": getattr(event.user, "username", None)}, right=right)
    root = get_user_model().objects.create_superuser("root")
    root.groups.add(Group.objects.create(name="crew"))
    assert page.ask("x")["status"] == anonymous
    for who, expected in ((user, plain), (root, staff)):
        page.client.force_login(who)
        answer = page.ask("x")
        assert answer["status"] == expected
        assert answer["response"] == ({"user": who.username} if expected == 200 else {})


def test_a_listener_whose_right_is_not_held_is_skipped(page: Page, demo: Demo) -> None:
    listen(demo, "x", lambda event: {"ran": len(demo.calls)}, right="staff", priority=0.9)
    listen(demo, "x", lambda event: {"ran": len(demo.calls)})
    assert page.ask("x")["response"] == {"ran": 1}


def test_a_user_who_was_disabled_is_nobody(page: Page, demo: Demo, user: Any) -> None:
    listen(demo, "x", lambda event: {}, right="authenticated")
    page.client.force_login(user)
    assert page.ask("x")["ok"]
    user.is_active = False
    user.save()
    assert page.ask("x")["status"] == 403


# The request as a whole


@pytest.mark.parametrize("logged_in", [False, True])
def test_another_sites_page_cannot_use_the_session(page: Page, demo: Demo, user: Any, logged_in: bool) -> None:
    listen(demo, "x", lambda event: {})
    page.client = Client(enforce_csrf_checks=True, HTTP_ORIGIN="http://testserver")
    if logged_in:
        page.client.force_login(user)
    status, said = page.refusal([{"type": "x"}])
    assert status == 403
    assert "X-CSRFTOKEN" in said["message"]
    # The refusal brought the cookie, whose value the page sends back.
    token = page.client.cookies["csrftoken"].value
    answer = page.post([{"type": "x"}], HTTP_X_CSRFTOKEN=token)
    assert json.loads(answer.content)[0]["ok"]
    assert page.refusal([{"type": "x"}], HTTP_X_CSRFTOKEN="x" * 32)[0] == 403
    assert page.refusal([{"type": "x"}], HTTP_X_CSRFTOKEN=token, HTTP_ORIGIN="https://evil.example")[0] == 403
    assert len(demo.calls) == 1


def test_the_token_is_asked_for_without_the_middleware_too(page: Page, demo: Demo, settings: Any) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "csrf" not in name]
    listen(demo, "x", lambda event: {})
    page.client = Client(enforce_csrf_checks=True, HTTP_ORIGIN="http://testserver")
    assert page.refusal([{"type": "x"}])[0] == 403
    token = page.client.cookies["csrftoken"].value
    assert page.post([{"type": "x"}], HTTP_X_CSRFTOKEN=token).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "empty"),
        (b"  ", 400, "empty"),
        (b"{", 400, "no JSON"),
        (b"\xff[]", 400, "UTF-8"),
        (b'[{"type":"a","type":"b"}]', 400, "two members"),
        (b"[" * 100 + b"]" * 100, 400, "nested deeper"),
        ({"type": "x"}, 400, "must be a list"),
        ("x", 400, "must be a list"),
        (None, 400, "must be a list"),
        ([{"type": "x"}] * 101, 413, "at most 100"),
    ],
)
def test_what_is_no_list_of_events_is_refused(page: Page, body: Any, status: int, message: str) -> None:
    refused, said = page.refusal(body)
    assert refused == status
    assert message in said["message"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_only_json_is_read(page: Page, kind: str) -> None:
    assert page.refusal(b"[]", content_type=kind)[0] == 415


@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "options"])
def test_only_post_is_served(page: Page, method: str) -> None:
    answer = getattr(page.client, method)(page.path)
    assert (answer.status_code, answer["Allow"], answer["Content-Type"]) == (405, "POST", "application/json")


def test_a_body_that_is_too_long_is_refused(page: Page, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_BODY_BYTES": 1000}
    assert page.refusal([{"type": "x" * 1000}])[0] == 413


def test_a_database_that_is_away_is_told_in_json(
    page: Page, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> None:
        raise OperationalError("could not connect to db.internal")

    monkeypatch.setattr(registry, "snapshot", away)
    with caplog.at_level(logging.CRITICAL, "mcp_gateway"):
        status, said = page.refusal([{"type": "x"}])
    assert (status, said["statusName"]) == (503, "UNAVAILABLE")
    assert "db.internal" not in said["message"]


def test_what_breaks_is_told_in_json(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("/srv/secret/path")

    monkeypatch.setattr(registry, "snapshot", broken)
    status, said = page.refusal([{"type": "x"}])
    assert status == 500
    assert "secret" not in said["message"]
    assert "incident" in said["message"]


def test_a_project_without_sessions_has_anonymous_callers(page: Page, demo: Demo, settings: Any) -> None:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "auth" not in name and "messages" not in name]
    listen(demo, "x", lambda event: {})
    listen(demo, "y", lambda event: {}, right="authenticated")
    assert [entry["status"] for entry in page.send({"type": "x"}, {"type": "y"})] == [200, 403]


def test_an_anonymous_request_costs_one_statement(page: Page, demo: Demo, django_assert_num_queries: Any) -> None:
    listen(demo, "x", lambda event: {}, atomic=False)
    page.ask("x")
    with django_assert_num_queries(1):
        page.send(*[{"type": "x"}] * 10)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = JSON | st.sampled_from(["x", "x:y", "x:z", "*", "system:authorize", "system:service:x", "mcp:initialize"])
ITEMS = JSON | st.fixed_dictionaries({}, optional={"uuid": JSON, "type": NAMES, "request": JSON, "origin": JSON})


@hypothesis_settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(items=st.lists(ITEMS, max_size=5))
def test_no_traffic_breaks_the_gate(page: Page, demo: Demo, items: list[Any]) -> None:
    if not Listener.objects.filter(event="x:*").exists():
        for name in ("x", "x:y", "x:*", "*"):
            demo.listen(name, origins=["remote"])
    for name in ("x", "x:y", "x:z"):
        demo.play(name, lambda event: event.request)
    answers = page.send(*items)
    for item, answer in zip(items, answers, strict=True):
        assert answer["message"]
        assert answer["ok"] is (200 <= answer["status"] < 400)
        known = isinstance(item, dict) and item.get("type") in ("x", "x:y", "x:z")
        assert answer["ok"] <= known
