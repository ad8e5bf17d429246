"""What a module's author writes in tests: the fixtures that come with the package."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.testing.client import McpClient
from tests.authoring.documents import run_tests

pytest_plugins = ["pytester"]

HANDLER = """
class Greeter:
    def on_hello(self, event):
        if event.request.get("name") == "":
            event.set_status(400, "The name is empty.")
            return
        event.response = {"greeting": "Hello, " + event.request.get("name", "world") + "!"}
        event.set_status(200)
"""


def hello(**entry: Any) -> dict[str, Any]:
    return {
        "event": "hello",
        "class": "\\Demo\\Greeter",
        "method": "onHello",
        "origin": ["mcp"],
        "description": "Greets.",
        "schema": {"response": {"type": "object"}},
        **entry,
    }


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module that no setting knows of."""
    return write(tmp_path / "demo", hello())


def write(folder: Path, *listeners: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "zolinga.json").write_text(json.dumps({"listen": listeners}), encoding="utf-8")
    (folder / "greeter.py").write_text(HANDLER, encoding="utf-8")
    return folder


def test_a_module_is_imported_and_called(
    module: Path, import_module: Callable[..., Any], mcp_client: McpClient
) -> None:
    report = import_module(module)
    assert "hello" in {entry["name"] for entry in report["added"]}
    assert mcp_client.call_tool("hello", {"name": "Ada"}).structured == {"greeting": "Hello, Ada!"}
    assert mcp_client.call_tool("hello", era="legacy").result["isError"] is False
    assert list(mcp_client.list_tools()) == ["hello"]


def test_what_a_tool_refuses_is_its_failure(
    module: Path, import_module: Callable[..., Any], mcp_client: McpClient
) -> None:
    import_module(module)
    answer = mcp_client.call_tool("hello", {"name": ""})
    assert answer.failure == "The name is empty."
    with pytest.raises(AssertionError, match=r"The tool said no.*The name is empty"):
        _ = answer.structured


def test_a_protected_tool_is_called_with_a_token(
    tmp_path: Path,
    import_module: Callable[..., Any],
    mcp_client: McpClient,
    mcp_token: Callable[..., str],
    admin_user: Any,
) -> None:
    import_module(write(tmp_path / "demo", hello(right="oauth2:scope mcp:tools demo:read")))
    assert mcp_client.call_tool("hello").status == 401
    mcp_client.token = mcp_token(admin_user)
    assert mcp_client.call_tool("hello").status == 403
    mcp_client.token = mcp_token(admin_user, "mcp:tools demo:read")
    assert mcp_client.call_tool("hello").structured == {"greeting": "Hello, world!"}
    mcp_client.token = mcp_token(admin_user, "mcp:tools demo:read", expires_in=-1)
    assert "invalid_token" in mcp_client.call_tool("hello").challenge


def test_a_refused_entry_fails_the_test_with_the_reason(tmp_path: Path, import_module: Callable[..., Any]) -> None:
    folder = write(tmp_path / "demo", hello(), {**hello(), "method": "onNothing"})
    with pytest.raises(AssertionError, match="has no method onNothing"):
        import_module(folder)
    assert len(import_module(folder, refused=True)["refused"]) == 1


def test_a_module_that_is_not_there_is_named(import_module: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no module 'nowhere'"):
        import_module("nowhere")
    with pytest.raises(AssertionError, match=r"test_fixtures\.py lies in no module"):
        import_module()
    with pytest.raises(AssertionError, match=r"is no module: it needs a zolinga\.json"):
        import_module(tmp_path)


def test_every_page_of_a_list_is_read(
    tmp_path: Path, import_module: Callable[..., Any], mcp_client: McpClient, settings: Any
) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PAGE_SIZE": 2}
    import_module(write(tmp_path / "demo", *(hello(event=f"hello-{number}") for number in range(5))))
    for era in ("modern", "legacy"):
        assert list(mcp_client.list_tools(era=era)) == [f"hello-{number}" for number in range(5)]


def test_a_modules_own_test_is_three_lines_and_needs_no_configuration(pytester: pytest.Pytester, module: Path) -> None:
    (module / "tests").mkdir()
    (module / "tests" / "test_hello.py").write_text(
        "def test_hello_greets_by_name(import_module, mcp_client):\n"
        "    import_module()\n"
        '    assert mcp_client.call_tool("hello", {"name": "Ada"}).structured == {"greeting": "Hello, Ada!"}\n',
        encoding="utf-8",
    )
    run_tests(pytester, module).assert_outcomes(passed=1)
