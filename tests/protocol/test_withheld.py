"""What a file guards stays closed when the file is not served, though a listener answers for the whole scheme."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.models import Offered, Prompt, Resource, Scope
from tests.protocol.published import HANDLERS, listener, token_of
from tests.wire import Answer, Wire

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]
Publish = Callable[..., Path]

RIGHT = "oauth2:scope mcp:tools"
TEMPLATE = "mcp/resources/item.meta.json"
RESOURCE = "mcp/resources/who.meta.json"
PROMPT = "mcp/prompts/daily.meta.json"
FILES: dict[str, dict[str, Any]] = {
    TEMPLATE: {"uriTemplate": "shop:te{id}", "right": RIGHT},
    RESOURCE: {"uri": "shop:who", "right": RIGHT},
    PROMPT: {"name": "daily", "right": RIGHT, "arguments": [{"name": "day"}]},
}
PROVIDERS = (
    listener("mcp:resources/list", "listGuarded"),
    listener("mcp:resources/templates/list", "listGuardedTemplates"),
    listener("mcp:resources/read:shop", "read"),
    listener("mcp:prompts/list", "listPrompts"),
    listener("mcp:prompts/get:daily", "get"),
    listener("mcp:completion/complete", "complete"),
)
LISTS = """
    def list_guarded(self, event: CallEvent) -> object:
        return [{"uri": uri, "name": "x"} for uri in ("shop:text", "SHOP:wh%6F", "shop:other")]

    def list_guarded_templates(self, event: CallEvent) -> object:
        return [{"uriTemplate": text, "name": "x"} for text in ("shop:te{day}", "shop:other/{id}")]
"""


@pytest.fixture
def publish(write_module: Write, import_manifests: Import) -> Publish:
    """Write the demo module with these files and open listeners for all of its scheme, and import it."""

    def run(files: dict[str, Any], *listen: dict[str, Any]) -> Path:
        manifest = {"name": "Demo", "listen": list(listen or PROVIDERS), "schemes": ["shop"]}
        folder = write_module(manifest, {"handler.py": HANDLERS + LISTS, **files})
        import_manifests("--module", "demo")
        return folder

    return run


def switched_off(folder: Path) -> None:
    for model in (Resource, Prompt):
        model.objects.update(enabled=False)


def made_invisible(folder: Path) -> None:
    for model in (Resource, Prompt):
        model.objects.update(visibility_override=Offered.Visibility.OFF)


def off_in_the_file(folder: Path) -> None:
    for name, meta in FILES.items():
        (folder / name).write_text(json.dumps({**meta, "visibility": "off"}))


def broken(folder: Path) -> None:
    for name in FILES:
        (folder / name).write_text('{"right: 5')


def unsound(folder: Path) -> None:
    for name in FILES:
        (folder / name).write_text('{"visibility": "never"}')


def removed(folder: Path) -> None:
    for name in FILES:
        (folder / name).unlink()


def moved(folder: Path) -> None:
    (folder / TEMPLATE).write_text(json.dumps({"uriTemplate": "shop:moved/{id}"}))
    (folder / RESOURCE).write_text(json.dumps({"uri": "shop:moved"}))
    (folder / PROMPT).write_text(json.dumps({"name": "daily:moved"}))


@pytest.fixture(params=[switched_off, made_invisible, off_in_the_file, broken, unsound, removed, moved])
def withheld(publish: Publish, import_manifests: Import, request: pytest.FixtureRequest) -> None:
    """Guarded files beside open listeners, not served any more."""
    folder = publish(FILES)
    request.param(folder)
    import_manifests("--module", "demo")


def read(era: str, uri: str, **options: Any) -> Answer:
    return Wire(**options).request(era, "resources/read", {"uri": uri})


def get(era: str, name: str, **options: Any) -> Answer:
    return Wire(**options).request(era, "prompts/get", {"name": name, "arguments": {"day": "7"}})


def complete(era: str, ref: dict[str, Any], name: str, **options: Any) -> Answer:
    params = {"ref": ref, "argument": {"name": name, "value": "x"}}
    return Wire(**options).request(era, "completion/complete", params)


def listed(era: str, method: str, member: str, key: str, **options: Any) -> set[str]:
    return {entry[key] for entry in Wire(**options).request(era, method).result[member]}


def is_missing(answer: Answer) -> bool:
    return answer.status in (200, 400) and answer.code in (-32602, -32002)


@pytest.mark.parametrize("token", ["", "mcp:tools"])
@pytest.mark.usefixtures("withheld")
def test_nobody_gets_it_from_the_listener(era: str, token: str) -> None:
    options = {"token": token_of(token)} if token else {}
    for uri in ("shop:text", "SHOP:te%78t", "shop:who"):
        assert is_missing(read(era, uri, **options))
    assert is_missing(get(era, "daily", **options))


@pytest.mark.usefixtures("withheld")
def test_no_completion_tells_of_it(era: str) -> None:
    for uri in ("shop:te{id}", "shop:te{day}", "shop:te{+id}", "SHOP:te{id}", "shop:text", "shop:who"):
        assert is_missing(complete(era, {"type": "ref/resource", "uri": uri}, "id"))
    assert is_missing(complete(era, {"type": "ref/prompt", "name": "daily"}, "day"))


@pytest.mark.usefixtures("withheld")
def test_no_listener_lists_it(era: str) -> None:
    assert listed(era, "resources/list", "resources", "uri") - {"shop:moved"} == {"shop:other"}
    templates = listed(era, "resources/templates/list", "resourceTemplates", "uriTemplate")
    assert templates - {"shop:moved/{id}"} == {"shop:other/{id}"}
    assert "daily" not in listed(era, "prompts/list", "prompts", "name")


@pytest.mark.usefixtures("withheld")
def test_the_listener_goes_on_answering_for_everything_else(era: str) -> None:
    assert read(era, "shop:bytes").status == 200
    assert get(era, "daily:other").status == 200


def test_while_it_is_served_its_right_guards_every_way_in(publish: Publish, era: str) -> None:
    publish(FILES)
    for uri in ("shop:te{id}", "shop:te{day}", "shop:text", "shop:who"):
        assert complete(era, {"type": "ref/resource", "uri": uri}, "id").status == 401
    assert complete(era, {"type": "ref/prompt", "name": "daily"}, "day").status == 401
    assert (read(era, "shop:text").status, read(era, "shop:who").status, get(era, "daily").status) == (401, 401, 401)
    assert read(era, "shop:text", token=token_of("mcp:tools")).status == 200


def test_no_listener_lists_what_exists_only_for_others(publish: Publish, era: str) -> None:
    publish({name: {**meta, "visibility": "authorized"} for name, meta in FILES.items()})
    assert listed(era, "resources/list", "resources", "uri") == {"shop:other"}
    token = token_of("mcp:tools")
    assert listed(era, "resources/list", "resources", "uri", token=token) == {"shop:text", "shop:who", "shop:other"}


def test_of_two_templates_the_one_that_says_more_decides_also_when_it_is_off(publish: Publish, era: str) -> None:
    publish(
        {
            "mcp/resources/all.meta.json": {"uriTemplate": "shop:{id}"},
            "mcp/resources/some.meta.json": {"uriTemplate": "shop:te{id}", "visibility": "off"},
        }
    )
    assert is_missing(read(era, "shop:text"))
    assert read(era, "shop:bytes").status == 200


def test_of_two_templates_that_say_as_much_the_guarded_one_decides(publish: Publish, era: str) -> None:
    publish(
        {
            "mcp/resources/all.meta.json": {"uriTemplate": "shop:{+all}"},
            "mcp/resources/one.meta.json": {"uriTemplate": "shop:{one}", "right": "oauth2:scope mcp:tools"},
        }
    )
    assert read(era, "shop:text").status == 401


def test_a_file_that_is_gone_closes_nothing_that_needs_as_much(
    publish: Publish, import_manifests: Import, era: str
) -> None:
    folder = publish(FILES, listener("mcp:resources/read:shop", "read", right=RIGHT))
    (folder / TEMPLATE).unlink()
    (folder / RESOURCE).write_text(json.dumps({"uriTemplate": "shop:{kind}", "right": RIGHT}))
    import_manifests("--module", "demo")
    token = token_of("mcp:tools")
    for uri in ("shop:text", "shop:who"):
        assert read(era, uri).status == 401
        assert read(era, uri, token=token).status == 200


def test_a_template_may_rename_its_variable(publish: Publish, import_manifests: Import, era: str) -> None:
    folder = publish(FILES)
    (folder / TEMPLATE).write_text(json.dumps({"uriTemplate": "shop:te{name}", "right": RIGHT}))
    import_manifests("--module", "demo")
    assert read(era, "shop:text").status == 401
    assert read(era, "shop:text", token=token_of("mcp:tools")).status == 200


def test_an_open_file_that_is_gone_leaves_its_uri_to_the_listener(
    publish: Publish, import_manifests: Import, era: str
) -> None:
    folder = publish({RESOURCE: {"uri": "shop:who"}})
    (folder / RESOURCE).unlink()
    import_manifests("--module", "demo")
    assert read(era, "shop:who").status == 200


def test_an_administrators_scope_guards_what_is_gone_too(publish: Publish, import_manifests: Import, era: str) -> None:
    folder = publish({RESOURCE: {"uri": "shop:who"}})
    Resource.objects.get(uri="shop:who").required_scopes.add(Scope.objects.get(name="mcp:tools"))
    assert read(era, "shop:who").status == 401
    (folder / RESOURCE).unlink()
    import_manifests("--module", "demo")
    assert is_missing(read(era, "shop:who"))


@pytest.mark.parametrize("fault", [{"class": "\\Demo\\Nobody"}, {"visibility": "off"}, {"priority": "high"}])
def test_a_listener_that_does_not_serve_still_guards_what_another_answers(
    publish: Publish, era: str, fault: dict[str, Any]
) -> None:
    publish(
        {},
        listener("mcp:resources/read:shop", "read"),
        listener("mcp:prompts/get:daily", "get"),
        {**listener("mcp:resources/read:shop", "read", right=RIGHT), **fault},
        {**listener("mcp:prompts/get:daily", "get", right=RIGHT), **fault},
    )
    assert (read(era, "shop:text").status, get(era, "daily").status) == (401, 401)
    token = token_of("mcp:tools")
    assert (read(era, "shop:text", token=token).status, get(era, "daily", token=token).status) == (200, 200)


URL_READER = """
from urllib.parse import urlsplit


class Handler:
    def read(self, event):
        parts = urlsplit(event.request["uri"])
        return f"{parts.hostname} {parts.path}"
"""


@pytest.mark.parametrize(
    "uri",
    ["shop:who#x", "shop:who#", "SHOP:wh%6F#x", "shop:text#x", "shop:te%78t", "shop:Item/7",
     "shop://HQ/safe", "shop://hq/safe#x", "shop://DOCK/safe", "shop://dock/safe", "shop://Depot/1", "shop://DEPOT/1#x"],
)  # fmt: skip
def test_what_a_file_guards_is_guarded_however_its_uri_is_spelt(
    write_module: Write, import_manifests: Import, era: str, uri: str
) -> None:
    files: dict[str, Any] = {
        **FILES,
        "mcp/resources/hq.meta.json": {"uri": "shop://hq/safe", "right": RIGHT},
        "mcp/resources/dock.meta.json": {"uri": "shop://Dock/safe", "right": RIGHT},
        "mcp/resources/depot.meta.json": {"uriTemplate": "shop://Depot/{id}", "right": RIGHT},
        "mcp/resources/upper.meta.json": {"uriTemplate": "SHOP:I%74em/{id}", "right": RIGHT},
        "mcp/resources/open.meta.json": {"uriTemplate": "shop:{+path}"},
    }
    listen = [listener("mcp:resources/read:shop", "read")]
    write_module({"name": "Demo", "listen": listen, "schemes": ["shop"]}, {"handler.py": URL_READER, **files})
    import_manifests("--module", "demo")
    assert read(era, uri).status == 401
    assert read(era, "shop:open").result["contents"][0]["text"] == "None open"
