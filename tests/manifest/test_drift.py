"""What the system check and the admin point out: differences and tools that are sound and still wanting."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core import checks

from mcp_gateway import registry
from mcp_gateway.manifest.drift import findings
from mcp_gateway.manifest.handler_keys import keys_in
from mcp_gateway.models import Endpoint, Scope, Tool
from tests.manifest.samples import FILES, of, tool

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]

CLOSED = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}


@pytest.fixture(autouse=True)
def _no_example(settings: Any) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if not app.startswith("modules.")]


def found(number: int) -> dict[str, str]:
    """The findings of one kind, by what they are about."""
    return {finding.subject: finding.message for finding in findings() if finding.kind.number == number}


def test_files_and_database_differ_until_the_import(write_module: Write, import_manifests: Import) -> None:
    folder = write_module({"listen": [tool("a")]}, FILES)
    write_module({}, module="other")
    assert found(20) == dict.fromkeys(("module demo", "module other"), "It is on disk and was not imported.")
    import_manifests()
    assert found(20) == {}
    write_module({"listen": [tool("a", title="T")]}, FILES)
    assert found(20) == {"module demo": "Its manifest changed since it was imported."}
    import_manifests()
    (folder / "schema/o.json").write_text('{"type": "object", "title": "T"}')
    assert found(20) == {"module demo": 'Schemas changed since they were imported: "a".'}
    shutil.rmtree(folder.parent / "other")
    write_module("{", {})
    differences = found(20)
    assert "its folder is gone" in differences["module other"]
    assert "cannot be read" in differences["module demo"]


def test_refused_shadowed_and_oddly_named_ones_are_told_with_their_reason(
    write_module: Write, import_manifests: Import
) -> None:
    listen = [
        tool("a", priority=0.9),
        tool("a", priority=0.1, method="onCamelCase"),
        tool("b:c"),
        tool("nothing", schema={}),
    ]
    write_module({"listen": listen}, FILES)
    import_manifests()
    assert "“schema.response” is missing" in found(21)["listener nothing (demo)"]
    assert found(22).keys() == {"listener a (demo, entry 1)"}
    assert "demo, entry 0, with priority 0.9 comes first" in found(22)["listener a (demo, entry 1)"]
    assert found(23).keys() == {"tool b:c"}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$schema": "http://json-schema.org/draft-07/schema#", **CLOSED}, "draft-07"),
        ({**CLOSED, "properties": {"a": {"type": "array"}}}, "has no “items”"),
        ({**CLOSED, "oneOf": [{}]}, "The root has “oneOf”"),
        ({**CLOSED, "properties": {"a": {"maximum": 2**53}}}, "beyond 2^53"),
    ],
)
def test_schemas_that_known_clients_mishandle_are_told(
    write_module: Write, import_manifests: Import, schema: Any, said: str
) -> None:
    write_module({"listen": [tool("a", schema={"response": schema}), tool("b", schema={"response": CLOSED})]}, FILES)
    report = import_manifests()
    assert said in found(24)["tool a"]
    assert "tool b" not in found(24)
    assert of(report["warnings"], kind="schema", name="a"), "the import says so, too"


def test_open_response_objects_are_told_with_their_place(write_module: Write, import_manifests: Import) -> None:
    schema = {**CLOSED, "properties": {"a": {"type": "object", "properties": {"b": {}}}}}
    write_module({"listen": [tool("a", schema={"response": schema}), tool("b", schema={"response": CLOSED})]}, FILES)
    import_manifests()
    assert found(25) == {"tool a": "Open objects in the response schema: /properties/a."}


HANDLER = """
class Handler:
    def on(self, event):
        request = event.request
        if "flag" in request and request["a"] and event.request.get("extra"):
            event.response = {"a": 1, "surplus": 2}
        event.response["later"] = [event.request[name] for name in ()]

    async def on_other(self, event):
        def inner():
            return {"not": "this"}
        return {"a": inner()}
"""


def test_keys_that_a_handler_uses_and_its_schema_lacks_are_told(write_module: Write, import_manifests: Import) -> None:
    schema = {"request": CLOSED, "response": CLOSED}
    write_module(
        {"listen": [tool("a", schema=schema), tool("b", schema=schema, method="onOther")]}, {"handler.py": HANDLER}
    )
    import_manifests()
    told = [finding.message for finding in findings() if finding.kind.number == 26]
    assert told == [
        '\\Demo\\Handler::on reads "extra", "flag", which the request schema lacks.',
        '\\Demo\\Handler::on writes "later", "surplus", which the response schema lacks.',
    ]


def test_a_handler_without_source_is_no_finding() -> None:
    assert keys_in(print) is None


def test_open_tools_are_told_and_a_setting_leaves_them_out(
    write_module: Write, import_manifests: Import, settings: Any
) -> None:
    write_module({"listen": [tool("a"), tool("b", right="staff")]}, FILES)
    import_manifests()
    assert found(27).keys() == {"tool a"}
    settings.ZOLINGA = {**settings.ZOLINGA, "REFUSE_OPEN_TOOLS": True}
    registry.forget()
    assert registry.snapshot().tools.keys() == {"b"}
    assert "leaves it out" in found(27)["tool a"]
    (refused,) = of(import_manifests()["refused"])
    assert (refused["name"], refused["pointer"]) == ("a", "/listen/0/right")
    Tool.objects.get(name="a").required_scopes.add(Scope.objects.get(name="mcp:tools"))
    assert registry.snapshot().tools.keys() == {"a", "b"}
    assert of(import_manifests()["refused"]) == []
    assert found(27) == {}


def test_where_every_endpoint_wants_a_token_no_tool_is_open(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool("a")]}, FILES)
    import_manifests()
    Endpoint.objects.update(access=Endpoint.Access.TOKEN)
    assert found(27) == {}


def test_the_system_check_tells_each_kind_once_and_never_blocks(write_module: Write, import_manifests: Import) -> None:
    write_module({"listen": [tool(f"a.{number}") for number in range(30)]}, FILES)
    import_manifests()
    messages = {
        message.id: message
        for message in checks.run_checks(tags=[checks.Tags.database], databases=["default"])
        if str(message.id).startswith("mcp_gateway.")
    }
    assert messages.keys() == {"mcp_gateway.W023", "mcp_gateway.W027"}
    assert "tool a.0: Some hosts refuse" in messages["mcp_gateway.W023"].msg
    assert "and 10 more" in messages["mcp_gateway.W023"].msg
    assert all(message.level == checks.WARNING for message in messages.values())
    without = checks.run_checks()
    assert not [message for message in without if str(message.id).startswith("mcp_gateway.")]
