"""Asking in the legacy era: on the call's own stream (2025-11-25, 2025-06-18, 2025-03-26)."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from django.db import transaction

from mcp_gateway import mailbox, registry
from mcp_gateway.events import Form, Roots
from mcp_gateway.events.channel import NOWHERE, Channel
from mcp_gateway.models import Generation, Note, PageQuestion
from mcp_gateway.protocol import request_state, sessions
from mcp_gateway.protocol.errors import ProtocolError, Refused
from mcp_gateway.protocol.methods import waiting
from mcp_gateway.protocol.methods.call import Call, result_of
from mcp_gateway.protocol.methods.prompts import get_prompt
from mcp_gateway.protocol.methods.resource_reads import read_resource
from mcp_gateway.protocol.methods.tool_calls import call_tool
from mcp_gateway.rights import ANONYMOUS, Principal
from tests.asking import AGE, EVERYTHING, NAME, accept
from tests.demo import Demo
from tests.wire import LEGACY

Respond = Callable[[str, dict[str, Any]], Any]


def session(version: str = LEGACY[0], capabilities: Any = None) -> sessions.Session:
    params = {"capabilities": EVERYTHING if capabilities is None else capabilities}
    text = sessions.begin(params, "", version)
    assert text is not None
    read = sessions.read(text, "")
    assert read is not None
    return read


@dataclass
class Client(Channel):
    """A client at the other end of a stream, which answers at once: ``respond`` gives the response's members."""

    respond: Respond
    session: sessions.Session = field(default_factory=session)
    principal: Principal = ANONYMOUS
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    notified: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    can_ask = True

    def __post_init__(self) -> None:
        super().__init__()

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.notified.append((method, params))

    def request(self, id: str, method: str, params: dict[str, Any]) -> bool:
        self.asked.append((method, json.loads(json.dumps(params))))
        self.ids.append(id)
        response = self.respond(method, params)
        if response is not None:
            waiting.receive({"id": id, **response}, self.principal, self.session)
        return True

    def call(self, name: str, arguments: Any = None, channel: Channel | None = None, **own: Any) -> Any:
        """``tools/call``; gives the ``CallToolResult``."""
        snapshot = registry.snapshot()
        params = {"name": name, "arguments": arguments or {}}
        call = Call(
            snapshot, snapshot.endpoints[""], self.principal, self.session.version, params, {}, self.session, **own
        )
        return json.loads(result_of(call_tool(call), channel or self))


def say(**content: Any) -> Respond:
    """Accept every form with this content."""
    return lambda method, params: {"result": accept(**content)}


def text(result: Any) -> str:
    assert result["isError"], result
    message: str = result["content"][0]["text"]
    return message


@pytest.fixture
def greeting(demo: Demo) -> Demo:
    demo.add("greet", lambda event: {"name": event.ask("who", "Who?", NAME).get("name", "nobody")})
    return demo


def test_the_question_goes_out_and_its_answer_completes_the_call(greeting: Demo) -> None:
    client = Client(say(name="Ann"))
    assert client.call("greet")["structuredContent"] == {"name": "Ann"}
    assert client.asked == [("elicitation/create", {"mode": "form", "message": "Who?", "requestedSchema": NAME})]
    assert len(greeting.calls) == 2
    (name,) = client.ids
    assert len(bytes.fromhex(name)) == 16
    assert not Note.objects.exists()


def test_a_call_that_goes_on_after_an_answer_is_still_one_of_its_tool(greeting: Demo, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_CONCURRENT_CALLS": {"greet": 1}}
    beside = Client(say(name="Bob"))
    busy: list[str] = []

    def respond(method: str, params: dict[str, Any]) -> Any:
        busy.append(text(beside.call("greet")))
        return {"result": accept(name="Ann")}

    assert Client(respond).call("greet")["structuredContent"] == {"name": "Ann"}
    assert "busy" in busy[0]
    assert beside.call("greet")["structuredContent"] == {"name": "Bob"}


def test_what_does_not_fit_is_asked_again(demo: Demo) -> None:
    demo.add("admit", lambda event: {"age": event.ask("age", "Age?", AGE)["age"]})
    ages = iter([{"result": accept(age=1)}, {"result": 5}, {"result": accept(age=20)}])
    client = Client(lambda method, params: next(ages))
    assert client.call("admit")["structuredContent"] == {"age": 20}
    assert "18 or more" in client.asked[1][1]["message"]


def test_one_who_never_answers_well_is_not_asked_for_ever(demo: Demo) -> None:
    demo.add("admit", lambda event: {"age": event.ask("age", "Age?", AGE)["age"]})
    client = Client(say(age=1))
    assert "20 times" in text(client.call("admit"))
    assert len(client.asked) == 20


def test_several_questions_go_out_before_any_is_answered(demo: Demo) -> None:
    demo.add("both", lambda event: {"n": len(event.ask_all({"who": Form("Who?", NAME), "where": Roots()}))})
    held: list[str] = []
    client = Client(lambda method, params: None)

    def respond(method: str, params: dict[str, Any]) -> None:
        held.append(client.ids[-1])
        if len(held) == 2:
            waiting.receive({"id": held[1], "result": {"roots": []}}, ANONYMOUS, client.session)
            waiting.receive({"id": held[0], "result": accept(name="Ann")}, ANONYMOUS, client.session)

    client.respond = respond
    assert client.call("both")["structuredContent"] == {"n": 2}


def test_nobody_waits_inside_a_transaction(greeting: Demo) -> None:
    depth = len(transaction.get_connection().savepoint_ids)
    seen: list[int] = []

    def respond(method: str, params: dict[str, Any]) -> Any:
        seen.append(len(transaction.get_connection().savepoint_ids))
        assert not Group.objects.filter(name="written").exists()
        return {"result": accept(name="Ann")}

    greeting.play(
        "greet", lambda event: (Group.objects.create(name="written"), event.ask("who", "Who?", NAME))[1]["name"]
    )
    Client(respond).call("greet")
    assert seen == [depth]


def test_an_error_of_the_client_is_told_to_the_handler(demo: Demo) -> None:
    demo.add("poem", lambda event: {"poem": event.sample("poem", "Rhyme!", max_tokens=5).text})
    client = Client(lambda method, params: {"error": {"code": -1, "message": "User rejected sampling request"}})
    assert "User rejected sampling request" in text(client.call("poem"))


@pytest.mark.parametrize("other", ["principal", "session"])
def test_an_answer_counts_from_who_was_asked_only(greeting: Demo, settings: Any, other: str) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "ANSWER_SECONDS": 1}
    client = Client(lambda method, params: None)
    stranger = Principal(user=get_user_model().objects.create_user("eve"), authenticated=True)

    def respond(method: str, params: dict[str, Any]) -> None:
        principal = stranger if other == "principal" else ANONYMOUS
        waiting.receive(
            {"id": client.ids[-1], "result": accept(name="Eve")},
            principal,
            session() if other == "session" else client.session,
        )

    client.respond = respond
    assert "did not answer within 1 seconds" in text(client.call("greet"))
    assert client.notified == [("notifications/cancelled", {"requestId": client.ids[0], "reason": "It took too long."})]
    assert not Note.objects.exists()


def test_the_first_answer_counts_and_a_late_one_does_nothing(greeting: Demo) -> None:
    client = Client(lambda method, params: None)

    def respond(method: str, params: dict[str, Any]) -> None:
        for name in ("Ann", "Bob"):
            waiting.receive({"id": client.ids[-1], "result": accept(name=name)}, ANONYMOUS, client.session)

    client.respond = respond
    assert client.call("greet")["structuredContent"] == {"name": "Ann"}
    waiting.receive({"id": client.ids[-1], "result": accept(name="Bob")}, ANONYMOUS, client.session)
    assert not Note.objects.exists()


def test_responses_to_nothing_are_dropped(demo: Demo) -> None:
    for name in ("x", 5, None, "\0", "x" * 100_000):
        waiting.receive({"id": name, "result": {}}, ANONYMOUS, session())
    assert not Note.objects.exists()


def test_no_more_calls_wait_than_a_worker_has_threads_for(greeting: Demo, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_WAITING_CALLS": 1}
    inner: list[Any] = []

    def respond(method: str, params: dict[str, Any]) -> Any:
        inner.append(Client(say(name="Bob")).call("greet"))
        return {"result": accept(name="Ann")}

    assert Client(respond).call("greet")["structuredContent"] == {"name": "Ann"}
    assert "too many calls wait" in text(inner[0])


def test_a_client_that_accepts_no_stream_cannot_be_asked(greeting: Demo) -> None:
    assert "text/event-stream" in text(Client(say(name="Ann")).call("greet", channel=NOWHERE))


def test_a_client_whose_stream_has_ended_cannot_be_asked(greeting: Demo) -> None:
    class Gone(Client):
        def request(self, id: str, method: str, params: dict[str, Any]) -> bool:
            return False

    assert "stream has ended" in text(Gone(say(name="Ann")).call("greet"))
    assert not Note.objects.exists()


def test_the_caller_is_judged_in_every_round(greeting: Demo) -> None:
    def renew() -> Any:
        greeting.listen("greet*", right="staff", priority=0.1)
        snapshot = registry.snapshot()
        return snapshot, snapshot.endpoints[""], ANONYMOUS

    client = Client(say(name="Ann"))
    assert "tools of this site have changed" in text(client.call("greet", renew=renew))

    def revoked() -> Any:
        raise Refused(401, "The access token was revoked.")

    with pytest.raises(Refused):
        client.call("greet", renew=revoked)


def test_a_caller_that_lost_its_right_while_it_was_asked_is_refused(greeting: Demo) -> None:
    user = get_user_model().objects.create_user("ann", is_staff=True)
    greeting.listen("greet*", right="staff", priority=0.1)
    principal = Principal(user=user, scopes=frozenset({"mcp:tools"}), authenticated=True)

    def renew() -> Any:
        user.is_staff = False
        snapshot = registry.snapshot()
        return snapshot, snapshot.endpoints[""], principal

    with pytest.raises(Refused):
        Client(say(name="Ann"), principal=principal).call("greet", renew=renew)


def test_a_tool_that_changed_while_it_asked_does_not_go_on(greeting: Demo) -> None:
    def renew() -> Any:
        Generation.bump()
        snapshot = registry.snapshot()
        return snapshot, snapshot.endpoints[""], ANONYMOUS

    assert "have changed" in text(Client(say(name="Ann")).call("greet", renew=renew))


@pytest.mark.parametrize(
    ("method", "params", "run"),
    [("prompts/get", {"name": "greet"}, get_prompt), ("resources/read", {"uri": "greet:ann"}, read_resource)],
)
def test_what_provides_prompts_and_resources_asks_as_well(
    demo: Demo, method: str, params: dict[str, Any], run: Any
) -> None:
    event = f"mcp:{method}:greet"
    demo.play(event, lambda event: f"Hello, {event.ask('who', 'Who?', NAME).get('name')}!")
    demo.listen(event, origins=["internal"])
    client = Client(say(name="Ann"))
    snapshot = registry.snapshot()
    call = Call(snapshot, snapshot.endpoints[""], ANONYMOUS, LEGACY[0], params, {}, client.session)
    assert b"Hello, Ann!" in run(call)(client)
    with pytest.raises(ProtocolError, match="text/event-stream"):
        run(call)(NOWHERE)


# What older versions lack


OPTIONS = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]


def test_a_form_of_2025_06_18_is_said_in_its_own_words(demo: Demo) -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "Ann"},
            "kind": {"type": "string", "oneOf": OPTIONS, "default": "a"},
            "sure": {"type": "boolean", "default": True},
        },
    }
    demo.add("form", lambda event: {"said": event.ask("form", "Form", schema).content})
    client = Client(say(kind="b"), session("2025-06-18"))
    assert client.call("form")["structuredContent"] == {"said": {"kind": "b"}}
    assert client.asked[0][1] == {
        "message": "Form",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "kind": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
                "sure": {"type": "boolean", "default": True},
            },
        },
    }


@pytest.mark.parametrize(
    ("version", "question"),
    [
        ("2025-06-18", {"type": "array", "items": {"type": "string", "enum": ["a"]}}),
        ("2025-03-26", {"type": "string"}),
    ],
)
def test_what_a_version_cannot_ask_is_not_asked(demo: Demo, version: str, question: Any) -> None:
    schema = {"type": "object", "properties": {"x": question}}
    demo.add("form", lambda event: {"said": event.ask("form", "Form", schema).content})
    client = Client(say(x=["a"]), session(version))
    assert version in text(client.call("form"))
    assert client.asked == []


# Pages


@pytest.fixture
def ann(db: None) -> Principal:
    return Principal(user=get_user_model().objects.create_user("ann"), authenticated=True)


KEY = {"type": "object", "properties": {"key": {"type": "string", "writeOnly": True}}, "required": ["key"]}


def test_the_call_waits_for_the_page_and_tells_when_it_was_answered(demo: Demo, ann: Principal) -> None:
    demo.add("connect", lambda event: {"length": len(event.ask("key", "Your key?", KEY, mode="url")["key"])})

    def respond(method: str, params: dict[str, Any]) -> Any:
        (page,) = PageQuestion.objects.all()
        assert params == {
            "mode": "url",
            "message": "Your key?",
            "url": f"http://testserver/mcp/question/{page.key}",
            "elicitationId": page.key,
        }
        PageQuestion.close(page.key, request_state.seal(accept(key="s3cret")))
        return {"result": {"action": "accept"}}

    client = Client(respond, principal=ann)
    assert client.call("connect")["structuredContent"] == {"length": 6}
    (page,) = PageQuestion.objects.all()
    assert client.notified == [("notifications/elicitation/complete", {"elicitationId": page.key})]
    assert "s3cret" not in page.answer


def test_a_page_that_nobody_answers_ends_the_call(demo: Demo, ann: Principal, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "ANSWER_SECONDS": 1}
    demo.add("connect", lambda event: {"said": event.ask("key", "Your key?", KEY, mode="url").action})
    client = Client(lambda method, params: {"result": {"action": "accept"}}, principal=ann)
    assert "did not answer on the page" in text(client.call("connect"))


def test_one_who_does_not_open_the_page_has_said_no(demo: Demo, ann: Principal) -> None:
    demo.add("connect", lambda event: {"said": event.ask("key", "Your key?", KEY, mode="url").action})
    client = Client(lambda method, params: {"result": {"action": "decline"}}, principal=ann)
    assert client.call("connect")["structuredContent"] == {"said": "decline"}


def test_an_older_client_knows_no_pages(demo: Demo, ann: Principal) -> None:
    demo.add("connect", lambda event: {"said": event.ask("key", "Your key?", KEY, mode="url").action})
    client = Client(say(), session("2025-06-18"), principal=ann)
    assert "2025-06-18" in text(client.call("connect"))


# The mailbox


@pytest.fixture(params=["table", pytest.param("redis", marks=pytest.mark.service("REDIS_URL"))])
def post(request: pytest.FixtureRequest, db: None, settings: Any) -> None:
    if request.param == "redis":
        backend = "django.core.cache.backends.redis.RedisCache"
        prefix = secrets.token_hex(4)
        settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": os.environ["REDIS_URL"], "KEY_PREFIX": prefix}}


@pytest.mark.usefixtures("post")
def test_a_text_waits_for_its_reader_once() -> None:
    mailbox.expect("k1", "ann", 60)
    mailbox.expect("k2", "ann", 60)
    assert mailbox.collect(["k1", "k2"]) == {}
    assert not mailbox.deliver("k1", "eve", "no")
    assert not mailbox.deliver("k3", "ann", "no")
    assert mailbox.deliver("k1", "ann", "yes")
    assert not mailbox.deliver("k1", "ann", "again")
    assert mailbox.collect(["k1", "k2", "k3"]) == {"k1": "yes"}
    assert Note.objects.exists() is not isinstance(caches["default"], RedisCache)
    mailbox.discard(["k1", "k2"])
    assert mailbox.collect(["k1"]) == {}
    assert not mailbox.deliver("k2", "ann", "late")


def test_what_has_expired_is_taken_by_nobody_and_swept_away(db: None) -> None:
    mailbox.expect("old", "ann", 0)
    assert not mailbox.deliver("old", "ann", "late")
    mailbox.expect("new", "ann", 60)
    assert [note.key for note in Note.objects.all()] == ["new"]
