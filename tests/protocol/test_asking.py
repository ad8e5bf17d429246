"""Asking in the modern era (2026-07-28, Multi Round-Trip Requests, Elicitation, Sampling, Roots)."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.utils.translation import gettext_lazy

from mcp_gateway.events import CallEvent, Form, Roots, Sampling
from mcp_gateway.models import Generation, Tally, Tool
from mcp_gateway.protocol import request_state
from tests.asking import AGE, EVERYTHING, NAME, Round, accept, call
from tests.demo import Demo
from tests.wire import Wire, issue_token


@pytest.fixture
def greeting(demo: Demo) -> Demo:
    """A tool that asks for a name and greets."""

    def greet(event: CallEvent) -> Any:
        answer = event.ask("who", "What is your name?", NAME)
        return {"said": f"Hello, {answer['name']}!" if answer.accepted else answer.action}

    demo.add("greet", greet)
    return demo


@pytest.fixture
def token(db: None) -> str:
    return issue_token(get_user_model().objects.create_user("ann"))


def test_a_question_is_input_required_and_its_answer_completes_the_call(wire: Wire, greeting: Demo) -> None:
    first = call(wire, "greet")
    assert first.asked == {
        "who": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "What is your name?", "requestedSchema": NAME},
        }
    }
    assert "content" not in first.answer.result
    assert first.retry({"who": accept(name="Ann")}).answer.structured == {"said": "Hello, Ann!"}


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_to_decline_and_to_cancel_are_answers(wire: Wire, greeting: Demo, action: str) -> None:
    assert call(wire, "greet").retry({"who": {"action": action}}).answer.structured == {"said": action}


def test_what_does_not_fit_is_asked_again_and_says_why(wire: Wire, demo: Demo) -> None:
    demo.add("admit", lambda event: {"age": event.ask("age", "How old are you?", AGE)["age"]})
    first = call(wire, "admit")
    for wrong in (accept(age=17), accept(age="18"), accept(), {"action": "accept"}, {"action": "perhaps"}, {}):
        again = first.retry({"age": wrong})
        assert again.asked["age"]["params"]["requestedSchema"] == AGE
    assert "/age: must be 18 or more" in first.retry({"age": accept(age=17)}).asked["age"]["params"]["message"]
    # Asked again and again, the message does not grow.
    twice = first.retry({"age": accept(age=17)}).retry({"age": accept(age=16)})
    assert twice.asked["age"]["params"]["message"].count("did not fit") == 1
    assert twice.retry({"age": accept(age=18)}).answer.structured == {"age": 18}


def test_the_whole_handler_runs_again_and_earlier_answers_are_known(wire: Wire, demo: Demo) -> None:
    def rounds(event: CallEvent) -> Any:
        name = event.ask("name", "Name?", NAME)["name"]
        return {"all": [name, event.ask("age", f"How old are you, {name}?", AGE)["age"]]}

    demo.add("rounds", rounds)
    first = call(wire, "rounds")
    assert list(first.asked) == ["name"]
    second = first.retry({"name": accept(name="Ann")})
    assert list(second.asked) == ["age"]
    assert second.asked["age"]["params"]["message"] == "How old are you, Ann?"
    assert second.state != first.state
    assert second.retry({"age": accept(age=30)}).answer.structured == {"all": ["Ann", 30]}
    assert len(demo.calls) == 3


def test_several_questions_go_out_at_once_and_only_the_missing_ones_come_again(wire: Wire, demo: Demo) -> None:
    def everything(event: CallEvent) -> Any:
        answers = event.ask_all(
            {"name": Form("Name?", NAME), "age": ("Age?", AGE), "poem": Sampling("Rhyme!", 50), "where": Roots()}
        )
        return {"name": answers["name"]["name"], "poem": answers["poem"].text, "where": answers["where"][0].uri}

    demo.add("everything", everything)
    first = call(wire, "everything")
    assert {key: request["method"] for key, request in first.asked.items()} == {
        "name": "elicitation/create",
        "age": "elicitation/create",
        "poem": "sampling/createMessage",
        "where": "roots/list",
    }
    assert first.asked["poem"]["params"] == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Rhyme!"}}],
        "maxTokens": 50,
    }
    second = first.retry({"name": accept(name="Ann"), "where": {"roots": [{"uri": "file:///home/ann"}]}})
    assert set(second.asked) == {"age", "poem"}
    sample = {"role": "assistant", "content": {"type": "text", "text": "Roses"}, "model": "m", "stopReason": "endTurn"}
    last = second.retry({"age": accept(age=20), "poem": sample})
    assert last.answer.structured == {"name": "Ann", "poem": "Roses", "where": "file:///home/ann"}


@pytest.mark.parametrize(
    "sample",
    [
        {"role": "robot", "content": {"type": "text", "text": "x"}, "model": "m"},
        {"role": "assistant", "content": {"type": "text"}, "model": "m"},
        {"role": "assistant", "content": [{"text": "x"}], "model": "m"},
        {"role": "assistant", "content": {"type": "text", "text": "x"}},
        accept(name="Ann"),
    ],
)
def test_what_is_no_message_of_a_model_is_asked_again(wire: Wire, demo: Demo, sample: Any) -> None:
    demo.add("poem", lambda event: {"poem": event.sample("poem", "Rhyme!", max_tokens=50).text})
    assert list(call(wire, "poem").retry({"poem": sample}).asked) == ["poem"]


@pytest.mark.parametrize("roots", [None, {}, [{"uri": "https://x"}], ["file:///"], [{"name": "x"}]])
def test_what_are_no_roots_is_asked_again(wire: Wire, demo: Demo, roots: Any) -> None:
    demo.add("where", lambda event: {"roots": [root.uri for root in event.roots()]})
    assert list(call(wire, "where").retry({"roots": {"roots": roots}}).asked) == ["roots"]


def test_nothing_is_kept_of_a_run_that_asked(wire: Wire, demo: Demo) -> None:
    def write_then_ask(event: CallEvent) -> Any:
        Group.objects.create(name="written")
        event.keep_changes = True
        return {"name": event.ask("name", "Name?", NAME)["name"]}

    demo.add("write", write_then_ask)
    first = call(wire, "write")
    assert not Group.objects.filter(name="written").exists()
    first.retry({"name": accept(name="Ann")})
    assert Group.objects.filter(name="written").count() == 1


@pytest.mark.parametrize("priority", [0.9, 0.1])
def test_nothing_is_kept_of_the_listeners_before_it_either(wire: Wire, demo: Demo, priority: float) -> None:
    demo.add("greet", lambda event: {"name": event.ask("name", "Name?", NAME)["name"]})
    demo.listen("greet*", priority=priority)
    made: list[str] = []

    def by_turns(event: CallEvent) -> Any:
        # Both listeners come here: the first, whichever it is, writes; the other asks.
        made.append("run")
        if len(made) % 2:
            Group.objects.create(name="written")
            return None
        return {"name": event.ask("name", "Name?", NAME)["name"]}

    demo.play("greet", by_turns)
    first = call(wire, "greet")
    assert not Group.objects.filter(name="written").exists()
    assert first.retry({"name": accept(name="Ann")}).answer.structured == {"name": "Ann"}
    assert Group.objects.filter(name="written").count() == 1


def test_a_handler_cannot_swallow_that_it_asked(wire: Wire, demo: Demo) -> None:
    def swallow(event: CallEvent) -> Any:
        try:
            event.ask("name", "Name?", NAME)
        except BaseException:
            Group.objects.create(name="written")
        return {}

    demo.add("swallow", swallow)
    assert list(call(wire, "swallow").asked) == ["name"]
    assert not Group.objects.filter(name="written").exists()


def test_a_coroutine_asks_as_well(wire: Wire, demo: Demo) -> None:
    demo.add("greet", lambda event: {"name": event.ask("name", "Name?", NAME)["name"]}, method="on_async")
    assert call(wire, "greet").retry({"name": accept(name="Ann")}).answer.structured == {"name": "Ann"}


def test_texts_are_translated_when_they_are_sent(wire: Wire, demo: Demo) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "title": gettext_lazy("Yes")}}}
    demo.add("greet", lambda event: {"said": event.ask("name", gettext_lazy("No"), schema).action})
    params = call(wire, "greet").asked["name"]["params"]
    assert (params["message"], params["requestedSchema"]["properties"]["name"]["title"]) == ("No", "Yes")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"type": "string", "format": "password"}}},
        {"type": "object", "properties": {"a": {"type": "boolean", "default": "yes"}}},
        {"type": "object", "properties": {}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
        {"type": "object", "properties": {"a": {"type": "string", "$ref": "#/nowhere"}}},
        {"$schema": "https://example.org/unheard-of", "type": "object", "properties": {}},
    ],
)
def test_a_form_that_no_client_can_show_is_the_tools_fault(
    wire: Wire, demo: Demo, schema: Any, caplog: pytest.LogCaptureFixture
) -> None:
    demo.add("ask", lambda event: {"said": event.ask("a", "A?", schema).action})
    answer = call(wire, "ask").answer
    assert "incident" in answer.failure
    assert "ValueError" in caplog.text


@pytest.mark.parametrize(("key", "message"), [("a", "half a \ud800"), ("half a \ud800", "A?"), ("nul\0", "A?")])
def test_a_question_that_cannot_be_sent_is_the_tools_fault(wire: Wire, demo: Demo, key: str, message: str) -> None:
    demo.add("ask", lambda event: {"said": event.ask(key, message).action})
    answer = call(wire, "ask").answer
    assert (answer.status, "incident" in answer.failure) == (200, True)


def test_integers_in_forms_keep_every_digit(wire: Wire, demo: Demo) -> None:
    form = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 10**30}}}
    demo.add("ask", lambda event: {"said": event.ask("n", "How many?", form).action})
    assert call(wire, "ask").asked["n"]["params"]["requestedSchema"] == form


# Capabilities


@pytest.mark.parametrize(
    ("capabilities", "needed"),
    [
        ({}, {"elicitation": {"form": {}}}),
        ({"sampling": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
    ],
)
def test_a_client_that_cannot_be_asked_gets_an_error_and_never_a_question(
    wire: Wire, greeting: Demo, capabilities: Any, needed: Any
) -> None:
    answer = call(wire, "greet", capabilities=capabilities).answer
    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": needed}


def test_an_elicitation_without_modes_means_forms(wire: Wire, greeting: Demo) -> None:
    assert call(wire, "greet", capabilities={"elicitation": {}}).asked


def test_a_handler_may_have_another_way(wire: Wire, demo: Demo) -> None:
    def ask_whom_there_is(event: CallEvent) -> Any:
        if not event.client_can("elicitation"):
            return {"said": event.sample("poem", "Rhyme!", max_tokens=5).text}
        return {"said": event.ask("name", "Name?", NAME)["name"]}

    demo.add("either", ask_whom_there_is)
    asked = call(wire, "either", capabilities={"sampling": {}}).asked
    assert [request["method"] for request in asked.values()] == ["sampling/createMessage"]


def test_tools_for_the_clients_model_need_their_own_capability(wire: Wire, demo: Demo) -> None:
    tools = [{"name": "x", "inputSchema": {"type": "object"}}]
    demo.add("poem", lambda event: {"poem": event.sample("poem", "Rhyme!", max_tokens=5, tools=tools).text})
    answer = call(wire, "poem", capabilities={"sampling": {}}).answer
    assert answer.error["data"] == {"requiredCapabilities": {"sampling": {"tools": {}}}}
    assert call(wire, "poem", capabilities={"sampling": {"tools": {}}}).asked["poem"]["params"]["tools"] == tools


def needing(demo: Demo, name: str, *needs: str) -> None:
    demo.add(name, lambda event: {})
    tool = Tool.objects.get(name=name)
    assert tool.listener is not None
    tool.listener.needs = list(needs)
    tool.listener.save()


def test_what_a_listener_needs_is_checked_before_it_runs(wire: Wire, demo: Demo) -> None:
    needing(demo, "needy", "elicitation.url", "sampling", "roots")
    answer = call(wire, "needy", capabilities={"roots": {}, "elicitation": {}}).answer
    assert (answer.status, answer.code, answer.json["id"]) == (400, -32021, 1)
    assert answer.error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}, "sampling": {}}}
    assert demo.calls == []
    assert call(wire, "needy").answer.structured == {}


def test_in_the_legacy_era_it_is_a_result_that_says_so(wire: Wire, demo: Demo) -> None:
    needing(demo, "needy", "sampling")
    assert "sampling" in wire.call("legacy", "needy").failure
    assert demo.calls == []


def test_a_legacy_client_without_a_session_cannot_be_asked(wire: Wire, greeting: Demo) -> None:
    assert "cannot be asked" in wire.call("legacy", "greet").failure


# The state belongs to one request


def refused(answer: Any) -> bool:
    return (answer.status, answer.code) == (400, -32602)


def test_a_state_says_nothing_to_the_client(wire: Wire, greeting: Demo) -> None:
    first = call(wire, "greet")
    opened = base64.urlsafe_b64decode(first.state + "=" * (-len(first.state) % 4))
    assert b"greet" not in opened
    assert b"who" not in opened


def test_a_state_that_was_changed_is_refused(wire: Wire, greeting: Demo) -> None:
    first = call(wire, "greet")
    state = first.state
    middle = len(state) // 2
    flipped = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
    forgeries: list[Any] = [
        f"{state}-TAMPERED",
        f"{state}=",
        f"{state}\n",
        flipped,
        state[:-1],
        "",
        "x",
        "é",
        5,
        None,
        {},
    ]
    for forged in forgeries:
        assert refused(first.retry({"who": accept(name="Ann")}, requestState=forged).answer), forged
    assert first.retry({"who": accept(name="Ann")}).answer.structured


def test_a_state_counts_for_the_same_arguments_only(wire: Wire, demo: Demo) -> None:
    demo.add("pay", lambda event: {"paid": event.ask("ok", f"Pay {event.request['sum']}?").action})
    first = call(wire, "pay", {"sum": 1, "to": "x"})
    assert refused(first.retry({"ok": accept()}, arguments={"sum": 1000, "to": "x"}).answer)
    assert refused(first.retry({"ok": accept()}, arguments={"sum": True, "to": "x"}).answer)
    # An object's members have no order.
    assert first.retry({"ok": accept()}, arguments={"to": "x", "sum": 1}).answer.structured == {"paid": "accept"}


def test_a_state_counts_for_the_same_tool_only(wire: Wire, greeting: Demo) -> None:
    greeting.add("greet-too", lambda event: {})
    assert refused(call(wire, "greet").retry({"who": accept(name="Ann")}, name="greet-too").answer)


def test_a_state_counts_for_the_same_caller_only(wire: Wire, greeting: Demo, token: str) -> None:
    anonymous = call(wire, "greet")
    wire.token = token
    assert refused(anonymous.retry({"who": accept(name="Ann")}).answer)
    of_ann = call(wire, "greet")
    wire.token = issue_token(get_user_model().objects.create_user("bob"))
    assert refused(of_ann.retry({"who": accept(name="Bob")}).answer)
    wire.token = issue_token(get_user_model().objects.get(username="ann"))
    assert of_ann.retry({"who": accept(name="Ann")}).answer.structured


def test_a_state_is_refused_once_the_tools_have_changed(wire: Wire, greeting: Demo) -> None:
    first = call(wire, "greet")
    Generation.bump()
    assert refused(first.retry({"who": accept(name="Ann")}).answer)


def test_a_state_that_is_too_old_is_refused(wire: Wire, greeting: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    first = call(wire, "greet")
    monkeypatch.setattr(request_state, "LIFETIME", -1)
    assert refused(first.retry({"who": accept(name="Ann")}).answer)


def test_a_state_outlives_a_change_of_the_secret_key(wire: Wire, greeting: Demo, settings: Any) -> None:
    first = call(wire, "greet")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another-" + "x" * 40, [settings.SECRET_KEY]
    assert first.retry({"who": accept(name="Ann")}).answer.structured
    settings.SECRET_KEY_FALLBACKS = []
    assert refused(first.retry({"who": accept(name="Ann")}).answer)


def test_rights_are_judged_in_every_round(wire: Wire, greeting: Demo, token: str) -> None:
    wire.token = token
    first = call(wire, "greet")
    wire.token = ""
    greeting.listen("greet*", right="staff", priority=0.1)
    assert first.retry({"who": accept(name="Ann")}).answer.status == 401


def test_answers_that_nobody_asked_for_are_not_known(wire: Wire, greeting: Demo) -> None:
    first = call(wire, "greet")
    for params in ({}, {"who": accept(name="Ann")}):
        retried = first.retry(params, requestState=None)
        assert refused(retried.answer)
    unasked = {**first.params, "inputResponses": {"who": accept(name="Ann")}}
    assert list(type(first)(wire, unasked, first.capabilities).asked) == ["who"]
    assert list(first.retry({"other": accept(name="Ann")}).asked) == ["who"]
    extra = {"who": accept(name="Ann"), "other": accept(name="Bob")}
    assert first.retry(extra).answer.structured == {"said": "Hello, Ann!"}


@pytest.mark.parametrize("responses", [None, [], "x", {"who": 12345}, {"who": None}])
def test_answers_that_are_none_are_an_error(wire: Wire, greeting: Demo, responses: Any) -> None:
    assert refused(call(wire, "greet").retry(responses).answer)


def test_integers_in_answers_keep_every_digit(wire: Wire, demo: Demo) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    def twice(event: CallEvent) -> Any:
        n = event.ask("n", "N?", schema)["n"]
        event.ask("sure", "Sure?")
        return {"n": n}

    demo.add("big", twice)
    second = call(wire, "big").retry({"n": accept(n=2**70)})
    assert second.retry({"sure": accept()}).answer.structured == {"n": 2**70}


# Answers that count once


@pytest.fixture
def paying(demo: Demo) -> Demo:
    """A tool whose confirmation counts once."""
    demo.add("pay", lambda event: {"paid": event.ask("ok", "Pay?").accepted})
    tool = Tool.objects.get(name="pay")
    assert tool.listener is not None
    tool.listener.single_use = True
    tool.listener.save()
    return demo


def test_an_answer_that_counts_once_does_not_count_twice(wire: Wire, paying: Demo, token: str) -> None:
    wire.token = token
    first = call(wire, "pay")
    assert first.retry({"ok": accept()}).answer.structured == {"paid": True}
    assert refused(first.retry({"ok": accept()}).answer)
    assert len([event for event in paying.calls if event.type == "pay"]) == 2
    assert call(wire, "pay").retry({"ok": accept()}).answer.structured == {"paid": True}


def test_nothing_is_remembered_for_anonymous_callers(wire: Wire, paying: Demo) -> None:
    assert "access token" in call(wire, "pay").answer.failure
    assert not Tally.objects.exists()


# Prompts and resources


PROVIDED = [("prompts/get", {"name": "greet"}, "messages"), ("resources/read", {"uri": "greet:ann"}, "contents")]


@pytest.fixture
def providing(demo: Demo) -> Demo:
    """A prompt and a resource, whose listeners ask for a name."""
    for event in ("mcp:prompts/get:greet", "mcp:resources/read:greet"):
        demo.play(event, lambda event: f"Hello, {event.ask('who', 'Who?', NAME).get('name')}!")
        demo.listen(event, origins=["internal"])
    return demo


@pytest.mark.parametrize(("method", "params", "member"), PROVIDED)
def test_what_provides_prompts_and_resources_asks_as_well(
    wire: Wire, providing: Demo, method: str, params: dict[str, Any], member: str
) -> None:
    first = Round(wire, params, EVERYTHING, method)
    assert list(first.asked) == ["who"]
    assert "Hello, Ann!" in str(first.retry({"who": accept(name="Ann")}).answer.result[member])
    assert refused(first.retry({"who": accept(name="Ann")}, requestState=f"{first.state}x").answer)
    answer = Round(wire, params, {}, method).answer
    assert (answer.status, answer.code) == (400, -32021)


def test_an_answer_to_a_prompt_is_none_to_a_tool(wire: Wire, providing: Demo, greeting: Demo) -> None:
    prompt = Round(wire, {"name": "greet"}, EVERYTHING, "prompts/get")
    assert refused(Round(wire, {**prompt.params, "requestState": prompt.state}, EVERYTHING).answer)


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list"])
def test_lists_ask_nothing_and_look_at_no_state(wire: Wire, providing: Demo, method: str) -> None:
    answer = Round(wire, {"requestState": "x", "inputResponses": 5}, EVERYTHING, method).answer
    assert answer.result["resultType"] == "complete"


def test_nobody_can_be_asked_outside_mcp(demo: Demo) -> None:
    demo.add("greet", lambda event: {"said": event.ask("who", "Who?", NAME).action})
    event = CallEvent("greet").dispatch()
    assert (event.status, event.response) == (501, {})
    assert "Nobody can be asked" in event.message


def test_a_page_that_has_no_user_is_the_callers_affair(wire: Wire, demo: Demo) -> None:
    demo.play("mcp:resources/read:card", lambda event: event.ask("n", "Number?", NAME, mode="url").action)
    demo.listen("mcp:resources/read:card", origins=["internal"])
    answer = Round(wire, {"uri": "card:1"}, EVERYTHING, "resources/read").answer
    assert (answer.status, answer.code) == (400, -32602)
    assert "access token of a user" in answer.error["message"]
