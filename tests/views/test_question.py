"""Elicitation in URL mode: the page, who sees it, and what the call gets (2026-07-28, Elicitation, “URL Mode”)."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from mcp_gateway.models import PageQuestion
from tests.asking import Round, accept, call
from tests.demo import Demo
from tests.wire import Wire, issue_token

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "title": "API key", "description": "From your account's page.", "writeOnly": True},
        "mail": {"type": "string", "format": "email"},
        "link": {"type": "string", "format": "uri"},
        "since": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "share": {"type": "number", "minimum": 0},
        "plan": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
        "sizes": {"type": "array", "items": {"type": "string", "enum": ["S", "M", "L"]}, "maxItems": 2},
        "sure": {"type": "boolean", "title": "I am <b>sure</b>"},
    },
    "required": ["key", "sure"],
}


@pytest.fixture
def ann(db: None) -> Any:
    return get_user_model().objects.create_user("ann")


@pytest.fixture
def connecting(wire: Wire, demo: Demo, ann: Any, settings: Any) -> Round:
    """A call of a tool that asks on a page, on behalf of ann."""
    settings.ZOLINGA = {**settings.ZOLINGA, "ANSWER_SECONDS": 1}

    def connect(event: Any) -> Any:
        answer = event.ask("key", "Give me <your> key.\nIt stays here.", SCHEMA, mode="url")
        return {"action": answer.action, "content": answer.content}

    demo.add("connect", connect, tool={"title": "Connect <it>"})
    wire.token = issue_token(ann)
    return call(wire, "connect")


def address(asked: Round) -> str:
    params = asked.asked["key"]["params"]
    assert set(params) == {"mode", "message", "url"}
    assert params["mode"] == "url"
    url: str = params["url"]
    assert url.startswith("http://testserver/mcp/question/")
    return urlsplit(url).path


@pytest.fixture
def browser(ann: Any) -> Client:
    """Ann's browser."""
    client = Client(enforce_csrf_checks=False)
    client.force_login(ann)
    return client


def test_the_answer_reaches_the_handler_and_not_the_client(connecting: Round, browser: Client) -> None:
    path = address(connecting)
    page = browser.get(path)
    assert page.status_code == 200
    text = page.content.decode()
    for shown in ("Connect &lt;it&gt;", "Give me &lt;your&gt; key.", "API key", "ann", "I am &lt;b&gt;sure", "Tests"):
        assert shown in text
    assert 'type="password"' in text
    typed = {
        "field0": " s3cret ",
        "field1": "ann@example.com",
        "field2": "https://example.com/x",
        "field3": "2026-11-30",
        "field4": "2026-11-30T10:30",
        "field5": "3",
        "field6": "0.5",
        "field7": "l",
        "field8": "red",
        "field9": ["S", "L"],
        "field10": "on",
        "accept": "",
    }
    sent = browser.post(path, typed)
    assert (sent.status_code, "Thank you" in sent.content.decode()) == (200, True)
    last = connecting.retry({"key": {"action": "accept"}})
    assert last.answer.structured == {
        "action": "accept",
        "content": {
            "key": " s3cret ",
            "mail": "ann@example.com",
            "link": "https://example.com/x",
            "since": "2026-11-30",
            "at": "2026-11-30T10:30:00+00:00",
            "count": 3,
            "share": 0.5,
            "plan": "l",
            "color": "red",
            "sizes": ["S", "L"],
            "sure": True,
        },
    }
    assert "s3cret" not in PageQuestion.objects.get().answer


def test_what_is_left_empty_is_left_out(connecting: Round, browser: Client) -> None:
    browser.post(address(connecting), {"field0": "k", "field8": "blue"})
    last = connecting.retry({"key": {"action": "accept"}})
    assert last.answer.structured["content"] == {"key": "k", "color": "blue", "sure": False}


@pytest.mark.parametrize(
    "typed",
    [{}, {"field5": "10"}, {"field5": "x"}, {"field7": "xl"}, {"field9": ["S", "M", "L"]}, {"field1": "no mail"}],
)
def test_what_does_not_fit_is_said_on_the_page(connecting: Round, browser: Client, typed: Any) -> None:
    page = browser.post(address(connecting), {"field0": "k", **typed} if typed else {})
    assert page.status_code == 422
    assert 'role="alert"' in page.content.decode()
    assert PageQuestion.objects.get().answer == ""


def test_to_decline_on_the_page_is_an_answer(connecting: Round, browser: Client) -> None:
    browser.post(address(connecting), {"decline": ""})
    assert connecting.retry({"key": {"action": "accept"}}).answer.structured["action"] == "decline"


def test_to_decline_in_the_client_is_an_answer(connecting: Round) -> None:
    assert connecting.retry({"key": {"action": "decline"}}).answer.structured["action"] == "decline"


def test_the_same_page_is_asked_again_until_it_is_answered(connecting: Round, browser: Client) -> None:
    again = connecting.retry({"key": {"action": "accept"}})
    assert address(again) == address(connecting)
    browser.post(address(again), {"decline": ""})
    assert again.retry({"key": {"action": "accept"}}).answer.structured["action"] == "decline"
    # What the client sends as the content of a page's answer is nothing.
    assert connecting.retry({"key": accept(key="forged")}).answer.structured["action"] == "decline"


def test_an_answer_of_a_page_is_known_in_later_rounds_and_never_with_the_client(
    wire: Wire, demo: Demo, ann: Any, browser: Client, settings: Any
) -> None:
    # How long a form of the site may be is the project's to say.
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10_000

    def connect(event: Any) -> Any:
        key = event.ask("key", "Key?", SCHEMA, mode="url")["key"]
        return {"key": key, "sure": event.ask("sure", "Sure?").accepted}

    demo.add("connect", connect)
    wire.token = issue_token(ann)
    first = call(wire, "connect")
    browser.post(address(first), {"field0": "s" * 5000, "field8": "red"})
    second = first.retry({"key": {"action": "accept"}})
    assert list(second.asked) == ["sure"]
    assert len(second.state) < 2000
    assert second.retry({"sure": accept()}).answer.structured == {"key": "s" * 5000, "sure": True}


def test_the_link_is_no_credential(connecting: Round) -> None:
    path = address(connecting)
    anonymous = Client().get(path)
    assert anonymous.status_code == 302
    assert "login" in anonymous["Location"]
    other = Client()
    other.force_login(get_user_model().objects.create_user("eve", is_superuser=True, is_staff=True))
    for page in (
        other.get(path),
        other.post(path, {"field0": "k", "field8": "red"}),
        other.post(path, {"decline": ""}),
    ):
        assert page.status_code == 403
        assert "Give me" not in page.content.decode()
    assert PageQuestion.objects.get().answer == ""


def test_a_form_needs_its_token(connecting: Round, ann: Any) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ann)
    assert strict.post(address(connecting), {"decline": ""}).status_code == 403


def test_an_answer_is_taken_once(connecting: Round, browser: Client) -> None:
    path = address(connecting)
    browser.post(path, {"decline": ""})
    again = browser.post(path, {"field0": "k", "field8": "red"})
    assert "Thank you" in again.content.decode()
    assert connecting.retry({"key": {"action": "accept"}}).answer.structured["action"] == "decline"


def test_a_question_is_open_for_some_minutes(connecting: Round, browser: Client) -> None:
    question = PageQuestion.objects.get()
    question.expires_at = question.expires_at.replace(year=2000)
    question.save()
    page = browser.get(address(connecting))
    assert (page.status_code, "closed" in page.content.decode()) == (404, True)
    assert browser.get("/mcp/question/nothing").status_code == 404


def test_nobody_frames_or_stores_the_page(connecting: Round, browser: Client) -> None:
    page = browser.get(address(connecting))
    assert page["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert "no-store" in page["Cache-Control"]
    text = page.content.decode()
    assert "<script" not in text
    assert " style=" not in text


def test_a_caller_without_a_user_gets_no_page(wire: Wire, demo: Demo) -> None:
    demo.add("connect", lambda event: {"said": event.ask("key", "Key?", SCHEMA, mode="url").action})
    assert "access token of a user" in call(wire, "connect").answer.failure
    assert not PageQuestion.objects.exists()


def test_a_client_that_opens_no_pages_is_not_asked_to(wire: Wire, demo: Demo, ann: Any) -> None:
    demo.add("connect", lambda event: {"said": event.ask("key", "Key?", SCHEMA, mode="url").action})
    wire.token = issue_token(ann)
    answer = call(wire, "connect", capabilities={"elicitation": {}}).answer
    assert (answer.code, answer.error["data"]) == (-32021, {"requiredCapabilities": {"elicitation": {"url": {}}}})


def test_a_form_of_everything_holds_the_defaults(connecting: Round, browser: Client) -> None:
    form = browser.get(address(connecting)).context["form"]
    assert form["field5"].value() == 2
    assert form["field8"].value() == "blue"
    assert json.loads(PageQuestion.objects.get().schema) == SCHEMA


def test_what_a_database_does_not_take_is_left_out(ann: Any) -> None:
    key = PageQuestion.ask(ann, 60, client="c", subject="s" * 600, message="Card\0?", schema="{}")
    question = PageQuestion.open_for(key)
    assert question is not None
    assert (question.subject, question.message) == ("s" * 500, "Card?")


def test_a_login_before_the_question_says_what_it_is_for(connecting: Round, client: Client) -> None:
    text = client.get(address(connecting), follow=True).content.decode()
    assert "needs an answer of yours" in text


def test_what_is_missing_is_marked_and_counted(connecting: Round, browser: Client) -> None:
    text = browser.post(address(connecting), {"field5": "12", "field8": "blue", "accept": ""}).content.decode()
    assert "2 answers are missing or do not fit." in text
    for name in ("field0", "field5"):
        box = re.search(rf'<input[^>]*name="{name}"[^>]*>', text)
        assert box is not None
        assert 'aria-invalid="true"' in box[0]
        assert f'id="id_{name}_error"' in text
    assert text.count('aria-invalid="true"') == 2


def test_a_question_without_fields_asks_for_a_yes_or_no(ann: Any, browser: Client) -> None:
    schema = json.dumps({"type": "object", "properties": {}})
    key = PageQuestion.ask(ann, 60, client="Desk", subject="Dig", message="Shall the roses go?", schema=schema)
    text = browser.get(f"/mcp/question/{key}").content.decode()
    assert "Yes, confirm" in text
    assert "What you enter here" not in text
