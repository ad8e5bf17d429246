"""``resources/list``, ``resources/templates/list`` and ``resources/read`` (2026-07-28 and before, “Resources”)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.models import Endpoint, Generation, Resource, Scope
from mcp_gateway.resources import entries
from tests.protocol.published import HANDLERS, listener, token_of
from tests.wire import LEGACY, Answer, Wire

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]
Publish = Callable[..., dict[str, Any]]

ABOUT = {
    "mcp/resources/about.md": "# About é\n",
    "mcp/resources/about.md.meta.json": {"title": "About", "description": "What it is.", "right": ""},
}
GUARDED = {"mcp/resources/secret.md": "s", "mcp/resources/secret.md.meta.json": {"right": "oauth2:scope mcp:tools"}}
URI = "mcp-system:demo:about.md"
SECRET = "mcp-system:demo:secret.md"


@pytest.fixture
def publish(write_module: Write, import_manifests: Import) -> Publish:
    """Write the demo module with these files and listeners and import it."""

    def run(files: dict[str, Any] | None = None, *listen: dict[str, Any], **manifest: Any) -> dict[str, Any]:
        write_module({"name": "Demo", "listen": list(listen), **manifest}, {"handler.py": HANDLERS, **(files or {})})
        # The example module, an installed app, publishes something too.
        return import_manifests("--module", "demo")

    return run


def read(era: str, uri: str, **options: Any) -> Answer:
    return Wire(**options).request(era, "resources/read", {"uri": uri})


def listed(era: str, method: str = "resources/list", **options: Any) -> list[dict[str, Any]]:
    result = Wire(**options).request(era, method).result
    return list(result["resources" if method == "resources/list" else "resourceTemplates"])


def is_unknown(answer: Answer, era: str, uri: str) -> bool:
    modern = era == "modern"
    assert answer.status == (400 if modern else 200)
    assert answer.json["error"]["data"] == {"uri": uri}
    return answer.code == (-32602 if modern else -32002)


def test_a_file_beside_its_meta_file_is_a_resource(publish: Publish, era: str) -> None:
    publish(ABOUT)
    assert listed(era) == [
        {
            "uri": URI,
            "name": "about.md",
            "title": "About",
            "description": "What it is.",
            "mimeType": "text/markdown",
            "size": 11,
        }
    ]
    assert read(era, URI).result["contents"] == [{"uri": URI, "mimeType": "text/markdown", "text": "# About é\n"}]


def test_reads_and_lists_say_how_long_they_hold(publish: Publish) -> None:
    publish(ABOUT)
    for answer in (read("modern", URI), Wire().modern("resources/list"), Wire().modern("resources/templates/list")):
        assert (answer.result["ttlMs"], answer.result["cacheScope"]) == (0, "public")
        assert answer.result["resultType"] == "complete"
    Endpoint.objects.update(access=Endpoint.Access.TOKEN)
    token = token_of("mcp:tools")
    assert read("modern", URI, token=token).result["cacheScope"] == "private"
    assert "ttlMs" not in read("legacy", URI, token=token).result


def test_binary_content_is_base64_and_json_is_text(publish: Publish, era: str) -> None:
    publish(
        {
            "mcp/resources/logo.png": b"\x89PNG\x00",
            "mcp/resources/logo.png.meta.json": {"mimeType": "image/png"},
            "mcp/resources/data.json": '{"a": 1}',
            "mcp/resources/data.json.meta.json": {"mimeType": "application/json"},
        }
    )
    (item,) = read(era, "mcp-system:demo:logo.png").result["contents"]
    assert base64.b64decode(item["blob"]) == b"\x89PNG\x00"
    (item,) = read(era, "mcp-system:demo:data.json").result["contents"]
    assert item["text"] == '{"a": 1}'


def test_the_place_of_the_content_never_leaves(publish: Publish, era: str) -> None:
    publish(
        {
            "docs/guide.md": "g",
            "mcp/resources/guide.meta.json": {"uri": "module://demo/docs/guide.md", "name": "guide.md"},
        }
    )
    (entry,) = listed(era)
    assert (entry["uri"], entry["name"]) == ("mcp-system:demo:guide", "guide.md")
    assert b"module:" not in Wire().request(era, "resources/list").body
    assert read(era, "mcp-system:demo:guide").result["contents"][0]["text"] == "g"
    assert is_unknown(read(era, "module://demo/docs/guide.md"), era, "module://demo/docs/guide.md")


def test_a_listed_name_reads_back_in_every_spelling(publish: Publish, era: str) -> None:
    publish({"mcp/resources/setup guide.md": "g", "mcp/resources/setup guide.md.meta.json": {}})
    (entry,) = listed(era)
    assert entry["uri"] == "mcp-system:demo:setup%20guide.md"
    for uri in (entry["uri"], "MCP-SYSTEM:demo:%73etup%20guide.md"):
        assert read(era, uri).result["contents"] == [{"uri": uri, "mimeType": "text/markdown", "text": "g"}]


@pytest.mark.parametrize(
    "uri",
    [
        "mcp-system:demo:..%2Fsecret.md",
        "mcp-system:demo:../x",
        "mcp-system:demo:%2e%2e%2fzolinga.json",
        "mcp-system:..:x",
        "mcp-system:demo:about.md.meta.json",
        "mcp-system:demo:",
        "mcp-system:demo:about.md%00",
        "file:///etc/passwd",
        "shop:1",
    ],
)
def test_what_is_not_there_is_an_error_that_names_it(publish: Publish, era: str, uri: str) -> None:
    publish({**ABOUT, "mcp/secret.md": "secret"})
    assert is_unknown(read(era, uri), era, uri)


@pytest.mark.parametrize("uri", ["", "about.md", "/etc/passwd", "shop:a b", "shop:"])
def test_what_is_no_uri_is_an_invalid_parameter(publish: Publish, era: str, uri: str) -> None:
    publish(ABOUT)
    answer = Wire().request(era, "resources/read", {"uri": uri}, headers={"Mcp-Name": uri})
    assert (answer.status, answer.code) == (400 if era == "modern" else 200, -32602)


@pytest.mark.parametrize("params", [{}, {"uri": 5}, {"uri": None}, {"uri": ["shop:1"]}])
def test_a_uri_is_needed(publish: Publish, params: dict[str, Any]) -> None:
    publish(ABOUT)
    assert Wire().legacy("resources/read", params).code == -32602
    assert Wire().modern("resources/read", params, headers={"Mcp-Name": "x"}).code == -32602


def test_the_name_header_repeats_the_uri(publish: Publish) -> None:
    publish(ABOUT)
    for headers in ({"Mcp-Name": None}, {"Mcp-Name": "mcp-system:demo:other"}):
        answer = Wire().modern("resources/read", {"uri": URI}, headers=headers)
        assert (answer.status, answer.code) == (400, -32020)


def test_a_right_guards_a_resource_as_it_guards_a_tool(publish: Publish, era: str) -> None:
    publish({**ABOUT, **GUARDED})
    Scope.objects.create(name="other", description="x")
    assert {entry["uri"] for entry in listed(era)} == {URI, SECRET}
    anonymous = read(era, SECRET)
    assert anonymous.status == 401
    assert 'scope="mcp:tools"' in anonymous.response["WWW-Authenticate"]
    lacking = read(era, SECRET, token=token_of("other"))
    assert lacking.status == 403
    assert 'error="insufficient_scope"' in lacking.response["WWW-Authenticate"]
    assert read(era, SECRET, token=token_of("mcp:tools")).result["contents"][0]["text"] == "s"


def test_the_originals_way_to_write_a_right_counts(publish: Publish, era: str) -> None:
    block = {"zolinga": {"right": "oauth2:scope mcp:tools"}}
    publish({"mcp/resources/secret.md": "s", "mcp/resources/secret.md.meta.json": block})
    assert read(era, SECRET).status == 401
    assert b'"zolinga"' not in Wire().request(era, "resources/list").body


def test_what_exists_for_those_who_may_is_unknown_to_others(publish: Publish, era: str) -> None:
    publish(
        {
            "mcp/resources/secret.md": "s",
            "mcp/resources/secret.md.meta.json": {"right": "oauth2:scope mcp:tools", "visibility": "authorized"},
            **ABOUT,
        }
    )
    assert [entry["uri"] for entry in listed(era)] == [URI]
    assert is_unknown(read(era, SECRET), era, SECRET)
    token = token_of("mcp:tools")
    assert [entry["uri"] for entry in listed(era, token=token)] == [URI, SECRET]
    assert read(era, SECRET, token=token).result["contents"][0]["text"] == "s"


def test_an_administrator_decides_from_the_next_request_on(publish: Publish, era: str) -> None:
    publish(ABOUT)
    row = Resource.objects.get(uri=URI)
    row.title_override = "Read me"
    row.save()
    assert listed(era)[0]["title"] == "Read me"
    row.required_scopes.add(Scope.objects.get(name="mcp:tools"))
    assert read(era, URI).status == 401
    row.visibility_override = "unlisted"
    row.save()
    assert listed(era) == []
    assert read(era, URI, token=token_of("mcp:tools")).status == 200
    Resource.objects.update(enabled=False)
    assert Wire().request(era, "resources/list").code == -32601


def test_versions_get_the_fields_they_know(publish: Publish) -> None:
    meta = {
        "title": "About",
        "icons": [{"src": "https://a.example/i.png"}],
        "_meta": {"k": 1},
        "annotations": {"priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"},
        "vendor": {"x": 1},
    }
    publish({"mcp/resources/a.md": "a", "mcp/resources/a.md.meta.json": meta})

    def fields(version: str) -> dict[str, Any]:
        (entry,) = Wire().legacy("resources/list", version=version).result["resources"]
        return dict(entry)

    assert listed("modern")[0] == {
        "uri": "mcp-system:demo:a.md", "name": "a.md", "mimeType": "text/markdown", "size": 1, **meta,
    }  # fmt: skip
    assert {"title", "icons", "_meta", "vendor"} <= fields(LEGACY[0]).keys()
    assert {"title", "icons", "_meta"} & fields(LEGACY[1]).keys() == {"title", "_meta"}
    oldest = fields(LEGACY[2])
    assert {"title", "icons", "_meta"} & oldest.keys() == set()
    assert oldest["annotations"] == {"priority": 0.5}
    assert oldest["vendor"] == {"x": 1}


def test_pages_follow_each_other(publish: Publish, settings: Any, era: str) -> None:
    publish({f"mcp/resources/{name}.meta.json": {"content": {"text": name}} for name in "edcba"})
    settings.ZOLINGA = {**settings.ZOLINGA, "PAGE_SIZE": 2}
    pages, cursor = [], None
    while True:
        result = Wire().request(era, "resources/list", {"cursor": cursor} if cursor else {}).result
        pages.append([entry["name"] for entry in result["resources"]])
        cursor = result.get("nextCursor")
        if cursor is None:
            break
    assert pages == [["a", "b"], ["c", "d"], ["e"]]
    first = Wire().request(era, "resources/list").result["nextCursor"]
    assert Wire().request(era, "resources/templates/list", {"cursor": first}).code == -32602


def test_what_listeners_list_is_listed_where_it_may_leave(publish: Publish, era: str, caplog: Any) -> None:
    publish(
        ABOUT,
        listener("mcp:resources/list", "listResources"),
        listener("mcp:resources/list", "listOriginal", origin=["internal"], priority=0.1),
        listener("mcp:resources/list", "fail", priority=0.9),
        listener("mcp:resources/templates/list", "listTemplates"),
        schemes=["shop"],
    )
    entries_ = listed(era)
    assert [entry["uri"] for entry in entries_] == ["mcp-shop:late", URI, "shop:a", "shop:b"]
    assert entries_[-1]["icons"][0]["src"].endswith("/static/b.png")
    assert entries_[-1]["vendor"] == 1
    assert [entry["uriTemplate"] for entry in listed(era, "resources/templates/list")] == ["shop:items/{id}"]
    assert caplog.text.count("is left out") >= 4
    assert "secret path" not in str(entries_)


def test_a_listener_with_a_right_lists_for_those_who_hold_it(publish: Publish, era: str) -> None:
    publish(ABOUT, listener("mcp:resources/list", "listResources", right="oauth2:scope mcp:tools"), schemes=["shop"])
    assert [entry["uri"] for entry in listed(era)] == [URI]
    token = token_of("mcp:tools")
    assert [entry["uri"] for entry in listed(era, token=token)] == [URI, "shop:a", "shop:b"]
    assert Wire(token=token).modern("resources/list").result["cacheScope"] == "private"


READ = listener("mcp:resources/read:shop", "read")


@pytest.mark.parametrize(
    ("uri", "contents"),
    [
        ("shop:text", [{"uri": "shop:text", "mimeType": "text/plain", "text": "words"}]),
        ("shop:bytes", [{"uri": "shop:bytes", "mimeType": "application/octet-stream", "blob": "/w=="}]),
        ("shop:who", [{"uri": "shop:who", "text": "nobody"}]),
        (
            "shop:many",
            [
                {"uri": "shop:many/1", "mimeType": "text/plain", "text": "1"},
                {"uri": "shop:many/2", "mimeType": "image/png", "blob": "Mg=="},
            ],
        ),
    ],
)
def test_a_listener_answers_for_its_scheme(
    publish: Publish, era: str, uri: str, contents: list[dict[str, Any]]
) -> None:
    publish({}, READ)
    assert read(era, uri).result["contents"] == contents


@pytest.mark.parametrize("uri", ["shop:empty", "shop:none", "shop:null", "shop:unheard-of"])
def test_a_listener_that_knows_nothing_makes_no_empty_result(publish: Publish, era: str, uri: str) -> None:
    publish({}, READ)
    assert is_unknown(read(era, uri), era, uri)


def test_what_a_listener_says_goes_on(publish: Publish, era: str) -> None:
    publish({}, READ)
    bad = read(era, "shop:bad")
    assert (bad.code, bad.error["message"]) == (-32602, "Not like that.")
    assert read(era, "shop:forbidden").status == 403


def test_a_version_without_meta_in_contents_gets_none(publish: Publish) -> None:
    publish({}, READ)
    for version in LEGACY:
        (item,) = Wire().legacy("resources/read", {"uri": "shop:meta"}, version=version).result["contents"]
        assert item == {"uri": "shop:meta", "text": "x", **({} if version == "2025-03-26" else {"_meta": {"k": 1}})}


BAD = ["shop:leak", "shop:object", "shop:crash", "shop:number", "shop:half", "shop:no-base64", "shop:both"]


@pytest.mark.parametrize("uri", BAD)
def test_a_listener_that_fails_is_an_internal_error_without_its_reason(publish: Publish, era: str, uri: str) -> None:
    publish({}, READ)
    answer = read(era, uri)
    assert (answer.status, answer.code) == (500 if era == "modern" else 200, -32603)
    assert b"/etc/passwd" not in answer.body
    assert b"secret path" not in answer.body


def test_the_right_of_a_reading_listener_is_needed(publish: Publish, era: str) -> None:
    publish({}, listener("mcp:resources/read:shop", "read", right="oauth2:scope mcp:tools"))
    assert read(era, "shop:who").status == 401
    (item,) = read(era, "shop:who", token=token_of("mcp:tools")).result["contents"]
    assert item["text"] == "ada"


def test_a_hidden_listener_is_not_there_for_others(publish: Publish, era: str) -> None:
    publish(ABOUT, listener("mcp:resources/read:shop", "read", right="oauth2:scope mcp:tools", visibility="authorized"))
    assert is_unknown(read(era, "shop:who"), era, "shop:who")


TEMPLATE = {"mcp/resources/item.meta.json": {"uriTemplate": "shop:items/{id}/data", "title": "Item"}}


def test_a_template_gives_its_variables_to_the_listener(publish: Publish, era: str) -> None:
    publish(TEMPLATE, READ)
    assert listed(era, "resources/templates/list") == [
        {"uriTemplate": "shop:items/{id}/data", "name": "item", "title": "Item"}
    ]
    assert listed(era) == []
    uri = "shop:items/a%20b/data"
    assert read(era, uri).result["contents"] == [{"uri": uri, "mimeType": "application/json", "text": '{"id": "a b"}'}]
    assert is_unknown(read(era, "shop:items/1/2/data"), era, "shop:items/1/2/data")


def test_the_right_of_a_template_guards_all_that_it_makes(publish: Publish, era: str) -> None:
    publish({"mcp/resources/item.meta.json": {**TEMPLATE["mcp/resources/item.meta.json"], "right": "staff"}}, READ)
    assert read(era, "shop:items/1/data").status == 401
    assert read(era, "shop:text").status == 200


def test_a_resource_may_be_listed_by_a_file_and_read_by_a_listener(publish: Publish, era: str) -> None:
    publish({"mcp/resources/who.meta.json": {"uri": "shop:who", "mimeType": "text/plain"}}, READ)
    assert [entry["uri"] for entry in listed(era)] == ["shop:who"]
    assert read(era, "shop:who").result["contents"] == [{"uri": "shop:who", "mimeType": "text/plain", "text": "nobody"}]


def test_nothing_published_is_nothing_declared(publish: Publish, era: str) -> None:
    publish({})
    for method in ("resources/list", "resources/templates/list", "prompts/list"):
        answer = Wire().request(era, method)
        assert (answer.status, answer.code) == (404 if era == "modern" else 200, -32601)
    capabilities = Wire().modern("server/discover").result["capabilities"]
    assert {"resources", "prompts", "completions"} & capabilities.keys() == set()


def test_what_is_published_is_declared(publish: Publish) -> None:
    publish(ABOUT)
    assert Wire().modern("server/discover").result["capabilities"]["resources"] == {}
    initialized = Wire().legacy("initialize", {"protocolVersion": LEGACY[0], "capabilities": {}, "clientInfo": {}})
    assert initialized.result["capabilities"]["resources"] == {}


def test_legacy_clients_may_subscribe_to_nothing(publish: Publish) -> None:
    publish(ABOUT)
    for method in ("resources/subscribe", "resources/unsubscribe"):
        assert Wire().legacy(method, {"uri": URI}).result == {}
        assert Wire().legacy(method, {}).code == -32602
        answer = Wire().modern(method, {"uri": URI})
        assert (answer.status, answer.code) == (404, -32601)


def test_content_that_changes_between_check_and_reading_is_read_whole(
    publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(ABOUT)
    real = entries.content
    changed: list[int] = []

    def content(entry: Any, *, prompt: bool) -> bytes | None:
        if not changed:
            # An import by another worker, after this request took its snapshot.
            changed.append(1)
            Resource.objects.update(content=b"new", content_digest="other", mime_type="text/plain")
            Generation.bump()
        return real(entry, prompt=prompt)

    monkeypatch.setattr("mcp_gateway.protocol.methods.resource_reads.content", content)
    assert read("modern", URI).result["contents"] == [{"uri": URI, "mimeType": "text/plain", "text": "new"}]


def test_a_list_costs_one_statement(publish: Publish, django_assert_num_queries: Any) -> None:
    publish(ABOUT)
    Wire().modern("resources/list")
    with django_assert_num_queries(1):
        Wire().modern("resources/list")
    with django_assert_num_queries(2):
        read("modern", URI)
