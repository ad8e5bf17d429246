"""``prompts/list``, ``prompts/get`` (“Prompts”) and ``completion/complete`` (“Completion”)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.models import Prompt
from tests.protocol.published import HANDLERS, listener, says, token_of
from tests.wire import LEGACY, Answer, Wire

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]
Publish = Callable[..., dict[str, Any]]

REVIEW = {
    "title": "Review",
    "description": "Reviews code.",
    "arguments": [
        {"name": "code", "title": "Code", "description": "What to review.", "required": True},
        {"name": "language", "enum": ["python", "php", "Pascal"]},
        {"name": "tone", "values": ["kind", "strict"]},
    ],
    "messages": says("{{language}}: {{code}} ({{tone}}) {{other}}"),
}
NAME = "mcp-system:demo:review"


@pytest.fixture
def publish(write_module: Write, import_manifests: Import) -> Publish:
    """Write the demo module with these prompts and listeners and import it."""

    def run(prompts: dict[str, Any] | None = None, *listen: dict[str, Any], **more: Any) -> dict[str, Any]:
        files = {f"mcp/prompts/{name}.meta.json": meta for name, meta in (prompts or {}).items()}
        manifest = {"name": "Demo", "listen": list(listen), "schemes": ["shop"]}
        write_module(manifest, {"handler.py": HANDLERS, **files, **more.get("files", {})})
        # The example module, an installed app, publishes something too.
        return import_manifests("--module", "demo")

    return run


def get(era: str, name: str, arguments: Any = None, **options: Any) -> Answer:
    params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    return Wire(**options).request(era, "prompts/get", params)


def complete(era: str, ref: dict[str, Any], name: str, value: str, **params: Any) -> Answer:
    return Wire().request(
        era, "completion/complete", {"ref": ref, "argument": {"name": name, "value": value}, **params}
    )


def refuses(answer: Answer, era: str, text: str) -> bool:
    assert answer.status == (400 if era == "modern" else 200)
    assert answer.code == -32602
    return text in answer.error["message"]


def test_a_file_is_a_prompt_whose_messages_are_not_listed(publish: Publish, era: str) -> None:
    publish({"review": REVIEW})
    (entry,) = Wire().request(era, "prompts/list").result["prompts"]
    assert entry == {
        "name": NAME,
        "title": "Review",
        "description": "Reviews code.",
        "arguments": [REVIEW["arguments"][0], {"name": "language"}, {"name": "tone"}],
    }


def test_arguments_are_put_in_once(publish: Publish, era: str) -> None:
    publish({"review": REVIEW})
    result = get(era, NAME, {"code": "{{tone}} {{code}} {{language}}", "language": "php"}).result
    assert result["description"] == "Reviews code."
    assert result["messages"] == says("php: {{tone}} {{code}} {{language}} () {{other}}")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (None, "Missing required arguments: code"),
        ({}, "Missing required arguments: code"),
        ({"code": "x", "colour": "red"}, "no argument 'colour'"),
        ({"code": 5}, "'code' must be a string"),
        ({"code": None}, "'code' must be a string"),
        ({"code": "x", "language": "perl"}, "must be one of: python, php, Pascal"),
        ([], "must be an object"),
        ("code", "must be an object"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(publish: Publish, era: str, arguments: Any, text: str) -> None:
    publish({"review": REVIEW})
    assert refuses(get(era, NAME, arguments), era, text)


def test_an_unknown_prompt_is_an_invalid_parameter(publish: Publish, era: str) -> None:
    publish({"review": REVIEW})
    for name in ("review", "", "mcp-system:demo:../review"):
        assert refuses(get(era, name), era, "Unknown prompt")


def test_a_prompt_may_have_a_name_of_its_own(publish: Publish, era: str) -> None:
    publish({"review": {"name": "review code", "messages": says("x")}})
    assert get(era, "review code").result["messages"] == says("x")


def test_large_texts_and_pictures_stand_in_files(publish: Publish, era: str) -> None:
    content = {"type": "text", "uri": "module://demo/mcp/prompts/long.md"}
    picture = {"type": "image", "uri": "pictures/p.png"}
    resource = {"type": "resource", "uri": "long.md", "resource": {"uri": "shop:long"}}
    publish(
        {
            "review": {
                "arguments": [{"name": "a"}],
                "messages": [{"role": "assistant", "content": block} for block in (content, picture, resource)],
            }
        },
        files={"mcp/prompts/long.md": "long {{a}}", "mcp/prompts/pictures/p.png": b"\x89PNG"},
    )
    answer = get(era, NAME, {"a": "1"})
    assert [message["content"] for message in answer.result["messages"]] == [
        {"type": "text", "text": "long 1"},
        {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "shop:long", "mimeType": "text/markdown", "text": "long 1"}},
    ]
    assert b"module:" not in answer.body


def test_a_uri_that_an_argument_makes_may_not_lead_anywhere(publish: Publish, era: str) -> None:
    block = {"type": "resource", "resource": {"uri": "{{uri}}", "text": "x"}}
    publish({"review": {"arguments": [{"name": "uri"}], "messages": [{"role": "user", "content": block}]}})
    assert get(era, NAME, {"uri": "shop:1"}).result["messages"][0]["content"]["resource"]["uri"] == "shop:1"
    assert refuses(get(era, NAME, {"uri": "file:///etc/passwd"}), era, "scheme")
    assert refuses(get(era, NAME, {"uri": "no uri"}), era, "no URI")


def test_versions_get_the_blocks_they_know(publish: Publish) -> None:
    link = {"type": "resource_link", "uri": "shop:a", "name": "a", "_meta": {"k": 1}}
    publish({"review": {"messages": [{"role": "user", "content": link}]}})
    name = {"name": NAME}
    assert Wire().modern("prompts/get", name).result["messages"][0]["content"] == link
    assert Wire().legacy("prompts/get", name, version=LEGACY[1]).result["messages"][0]["content"] == link
    oldest = Wire().legacy("prompts/get", name, version=LEGACY[2]).result["messages"][0]["content"]
    assert (oldest["type"], "shop:a" in oldest["text"]) == ("text", True)


def test_a_right_guards_a_prompt_as_it_guards_a_tool(publish: Publish, era: str) -> None:
    publish({"review": {"right": "oauth2:scope mcp:tools", "messages": says("x")}})
    assert get(era, NAME).status == 401
    assert get(era, NAME, token=token_of("mcp:tools")).result["messages"] == says("x")
    publish({"review": {"right": "oauth2:scope mcp:tools", "visibility": "authorized", "messages": says("x")}})
    assert Wire().request(era, "prompts/list").result["prompts"] == []
    assert refuses(get(era, NAME), era, f"Unknown prompt: {NAME}")


def test_an_administrator_switches_a_prompt_off(publish: Publish, era: str) -> None:
    publish({"review": REVIEW, "other": {"messages": says("x")}})
    Prompt.objects.filter(name=NAME).update(enabled=False)
    assert [entry["name"] for entry in Wire().request(era, "prompts/list").result["prompts"]] == [
        "mcp-system:demo:other"
    ]
    assert refuses(get(era, NAME), era, "Unknown prompt")


def test_listeners_list_and_answer_prompts(publish: Publish, era: str) -> None:
    publish(
        {"review": REVIEW},
        listener("mcp:prompts/list", "listPrompts"),
        listener("mcp:prompts/get:daily", "get"),
        listener("mcp:prompts/get:mcp-shop", "getBlocks"),
        listener("mcp:prompts/get:leak", "getLeak"),
        listener("mcp:prompts/get:crash", "fail"),
    )
    assert [entry["name"] for entry in Wire().request(era, "prompts/list").result["prompts"]] == ["daily", NAME]
    assert get(era, "daily", {"day": "7"}).result["messages"] == [
        *says("Day 7"),
        {"role": "assistant", "content": {"type": "text", "text": "Yes?"}},
    ]
    blocks = get(era, "mcp-shop:x").result
    assert blocks["description"] == "Blocks"
    assert blocks["messages"][0]["content"] == {"type": "image", "data": "eA==", "mimeType": "image/png"}
    for name in ("leak", "crash"):
        answer = get(era, name)
        assert answer.code == -32603
        assert b"/etc/passwd" not in answer.body
        assert b"/srv/x" not in answer.body


def test_a_file_may_describe_what_a_listener_answers(publish: Publish, era: str) -> None:
    arguments = [{"name": "day", "required": True}, {"name": "mood", "enum": ["lazy", "busy"]}]
    publish(
        {"daily": {"name": "daily", "description": "The day", "arguments": arguments}},
        listener("mcp:prompts/get:daily", "get"),
    )
    assert refuses(get(era, "daily"), era, "Missing required")
    assert refuses(get(era, "daily", {"day": "7", "night": "8"}), era, "no argument 'night'")
    assert refuses(get(era, "daily", {"day": "7", "mood": "odd"}), era, "must be one of: lazy, busy")
    result = get(era, "daily", {"day": "7"}).result
    assert (result["description"], len(result["messages"])) == ("The day", 2)


PROMPT = {"type": "ref/prompt", "name": NAME}


def test_completions_come_from_the_listed_values(publish: Publish, era: str) -> None:
    publish({"review": REVIEW})
    assert complete(era, PROMPT, "language", "p").result["completion"] == {
        "values": ["python", "php", "Pascal"], "total": 3, "hasMore": False,
    }  # fmt: skip
    assert complete(era, PROMPT, "language", "H").result["completion"]["values"] == ["python", "php"]
    assert complete(era, PROMPT, "tone", "st").result["completion"]["values"] == ["strict"]
    assert complete(era, PROMPT, "code", "x").result["completion"] == {"values": [], "total": 0, "hasMore": False}


def test_completions_come_from_a_listener_who_sees_what_is_known(publish: Publish, era: str) -> None:
    publish({"review": REVIEW}, listener("mcp:completion/complete", "complete"))
    answer = complete(era, PROMPT, "code", "a", context={"arguments": {"day": "7"}})
    assert answer.result["completion"] == {"values": ["a-7"], "total": 7, "hasMore": True}
    assert complete(era, PROMPT, "tone", "k").result["completion"]["values"] == ["kind"]


def test_no_more_than_a_hundred_values_are_sent(publish: Publish, era: str) -> None:
    publish({"review": REVIEW}, listener("mcp:completion/complete", "completeMany"))
    completion = complete(era, PROMPT, "code", "").result["completion"]
    assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 150, True)


def test_variables_of_a_template_are_completed(publish: Publish, era: str) -> None:
    template = {"uriTemplate": "shop:{kind}/{id}", "arguments": [{"name": "kind", "enum": ["book", "film"]}]}
    publish({}, listener("mcp:resources/read:shop", "read"), files={"mcp/resources/x.meta.json": template})
    ref = {"type": "ref/resource", "uri": "shop:{kind}/{id}"}
    assert complete(era, ref, "kind", "f").result["completion"]["values"] == ["film"]
    assert complete(era, ref, "id", "f").result["completion"]["values"] == []
    assert complete(era, ref, "other", "f").code == -32602
    assert complete(era, {"type": "ref/resource", "uri": "gone:{id}"}, "id", "").code == -32602


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": PROMPT},
        {"ref": {"type": "ref/tool", "name": "x"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/prompt"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "gone"}, "argument": {"name": "a", "value": ""}},
        {"ref": PROMPT, "argument": {"name": "code", "value": 5}},
        {"ref": PROMPT, "argument": {"name": "colour", "value": ""}},
        {"ref": PROMPT, "argument": {"name": "code", "value": ""}, "context": 5},
        {"ref": PROMPT, "argument": {"name": "code", "value": ""}, "context": {"arguments": {"a": 1}}},
    ],
)
def test_a_completion_of_nothing_is_an_invalid_parameter(publish: Publish, era: str, params: dict[str, Any]) -> None:
    publish({"review": REVIEW})
    assert Wire().request(era, "completion/complete", params).code == -32602


def test_completions_tell_no_more_than_the_prompt_itself(publish: Publish, era: str) -> None:
    publish({"review": {**REVIEW, "right": "oauth2:scope mcp:tools"}})
    assert complete(era, PROMPT, "language", "p").status == 401
    publish({"review": {**REVIEW, "right": "oauth2:scope mcp:tools", "visibility": "authorized"}})
    assert refuses(complete(era, PROMPT, "language", "p"), era, "Unknown prompt")


def test_what_has_something_behind_it_is_declared(publish: Publish) -> None:
    publish({"plain": {"messages": says("x")}})
    capabilities = Wire().modern("server/discover").result["capabilities"]
    assert {"resources", "prompts", "completions"} & capabilities.keys() == {"prompts"}
    assert complete("modern", PROMPT, "x", "").code == -32601
    publish({"review": REVIEW})
    assert "completions" in Wire().modern("server/discover").result["capabilities"]


def test_a_watcher_of_everything_provides_nothing(publish: Publish, era: str) -> None:
    publish({"review": REVIEW}, listener("mcp:*", "listResources", origin=["internal"]))
    assert Wire().request(era, "resources/list").code == -32601
    assert Wire().request(era, "prompts/list").status == 200


@pytest.mark.parametrize("block", ["data", "blob", "both", "type", "title", "icons", "meta"])
def test_a_block_that_no_client_could_read_is_not_sent(publish: Publish, era: str, block: str) -> None:
    publish({}, listener("mcp:prompts/get:bad*", "getBad"))
    assert get(era, f"bad:{block}").code == -32603


@pytest.mark.parametrize(
    "block",
    [
        {"type": "resource_link", "uri": "shop:a", "name": "a", "title": 5},
        {"type": "text", "text": "x", "_meta": 7},
        {"type": "resource", "resource": {"uri": "shop:a", "text": "x", "mimeType": 7}},
    ],
)
def test_a_file_with_such_a_block_is_refused(publish: Publish, block: dict[str, Any]) -> None:
    (refused,) = publish({"review": {"messages": [{"role": "user", "content": block}]}})["refused"]
    assert "/messages/0/content/" in str(refused["pointer"])


def test_values_that_json_does_not_have_are_the_listeners_fault(publish: Publish, era: str) -> None:
    publish({"review": REVIEW}, listener("mcp:completion/complete", "completeBadly"))
    answer = complete(era, PROMPT, "code", "half")
    assert (answer.code, "incident" in answer.error["message"]) == (-32603, False)
    assert complete(era, PROMPT, "code", "x").result["completion"]["total"] == 10**30
