"""New modules and new tools: they work at once, and nothing is overwritten."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from mcp_gateway.authoring import NotWritten
from mcp_gateway.authoring.tools import add_tool, start_module
from mcp_gateway.testing.client import McpClient
from tests.authoring.documents import run_tests

pytest_plugins = ["pytester"]

Import = Callable[..., dict[str, Any]]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture
def app(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed app as ``startapp`` makes it, without a manifest."""
    folder = tmp_path / "project" / "m3_shop"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "tests.py").write_text("")
    monkeypatch.syspath_prepend(str(folder.parent))
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "m3_shop"]
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "m3_shop"]:
        del sys.modules[name]


def test_a_new_module_answers_at_once(module_dir: Path, import_manifests: Import, mcp_client: McpClient) -> None:
    written = start_module("weather-report")
    assert set(written.paths) == set(tree(module_dir / "weather-report"))
    report = import_manifests()
    assert report["refused"] == []
    assert report["warnings"] == []
    answer = mcp_client.call_tool("weather-report-hello", {"name": "Ada"})
    assert answer.structured == {"greeting": "Hello, Ada!"}
    assert mcp_client.call_tool("weather-report-hello").structured == {"greeting": "Hello, world!"}
    assert mcp_client.call_tool("weather-report-hello", {"name": " "}).failure == "The name is empty."
    assert "/name" in mcp_client.call_tool("weather-report-hello", {"name": 5}).failure


def test_a_new_module_goes_into_the_first_folder_or_the_one_that_is_named(
    tmp_path: Path, settings: Any, import_manifests: Import
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    settings.ZOLINGA = {**settings.ZOLINGA, "MODULE_DIRS": [first, second]}
    start_module("one", tool="one")
    start_module("two", directory=str(second))
    assert (first / "one" / "zolinga.json").exists()
    assert (second / "two" / "zolinga.json").exists()
    assert import_manifests()["refused"] == []
    with pytest.raises(NotWritten, match="no folder of ZOLINGA"):
        start_module("three", directory=str(tmp_path))
    settings.ZOLINGA = {**settings.ZOLINGA, "MODULE_DIRS": []}
    with pytest.raises(NotWritten, match=r'"MODULE_DIRS": \[BASE_DIR'):
        start_module("three")


@pytest.mark.parametrize("name", ["", "1st", "_x", "x-", "a b", "a/b", "..", "x.example", "ä", "class", "a" * 201])
def test_a_name_that_cannot_be_a_modules_is_refused(module_dir: Path, name: str) -> None:
    with pytest.raises(NotWritten, match="name"):
        start_module(name)
    assert list(module_dir.iterdir()) == []


def test_a_name_of_the_protocols_own_events_is_refused_with_the_reason(module_dir: Path) -> None:
    with pytest.raises(NotWritten, match="“mcp:”, which is reserved"):
        start_module("demo", tool="mcp:greet")
    assert list(module_dir.iterdir()) == []


def test_what_exists_is_never_overwritten(module_dir: Path) -> None:
    start_module("demo_one")
    before = tree(module_dir)
    for name, reason in (("demo_one", "demo_one"), ("demo-one", "the same"), ("auth", "installed app")):
        with pytest.raises(NotWritten, match=reason):
            start_module(name)
    (module_dir / "empty").mkdir()
    with pytest.raises(NotWritten, match="exists already"):
        start_module("empty")
    with pytest.raises(NotWritten, match="has a tool 'demo_one-hello' already"):
        add_tool("demo_one", "demo_one-hello")
    with pytest.raises(NotWritten, match="has a tool 'demo_one-hello' already"):
        start_module("other", tool="demo_one-hello")
    # Another name, and the same files.
    with pytest.raises(NotWritten, match=r"demoOneHelloRequest\.json exists already"):
        add_tool("demo_one", "demo-one.hello")
    assert tree(module_dir) == before


def test_a_tool_joins_those_that_are_there(module_dir: Path, import_manifests: Import, mcp_client: McpClient) -> None:
    start_module("demo")
    manifest = module_dir / "demo" / "zolinga.json"
    text = manifest.read_text().replace('"version"', '"# kept":   "as it is",\n  "version"')
    manifest.write_text(text)
    manifest.chmod(0o640)
    written = add_tool("demo", "getHTTPStatus.now", title="Now", description="Tells it.")
    assert "mcp/get_http_status_now_handler.py" in written.paths
    assert any("Some hosts refuse" in note for note in written.notes)
    assert any("still 1.0.0" in note for note in written.notes)
    assert manifest.read_text().startswith(text[: text.index("}\n  ]")])
    assert manifest.stat().st_mode & 0o777 == 0o640
    assert import_manifests()["refused"] == []
    assert mcp_client.call_tool("getHTTPStatus.now").structured == {"greeting": "Hello, world!"}
    assert mcp_client.list_tools()["getHTTPStatus.now"]["title"] == "Now"
    assert mcp_client.list_tools()["getHTTPStatus.now"]["description"] == "Tells it."


def test_an_installed_app_becomes_a_module_with_its_first_tool(
    app: Path, module_dir: Path, import_manifests: Import, mcp_client: McpClient
) -> None:
    assert "zolinga.json" in add_tool("m3_shop", "hello").paths
    # ``tests`` is a file there: a folder beside it would be taken for it.
    assert (app / "test_hello.py").exists()
    assert import_manifests()["refused"] == []
    assert mcp_client.call_tool("hello", {"name": "Ada"}).structured == {"greeting": "Hello, Ada!"}
    assert add_tool("m3_shop", "bye").module_id == "m3_shop"
    import_manifests()
    assert {"bye", "hello"} <= set(mcp_client.list_tools())


def test_what_pip_installed_is_left_alone(module_dir: Path) -> None:
    for name in ("auth", "django.contrib.auth"):
        with pytest.raises(NotWritten, match="is installed from a package"):
            add_tool(name, "hello")


def test_code_goes_where_autoload_has_it(
    write_module: Callable[..., Path], import_manifests: Import, mcp_client: McpClient
) -> None:
    folder = write_module({"autoload": {"Acme\\File": "one.py", "Acme\\Demo\\": "src/"}})
    add_tool("demo", "hello")
    assert (folder / "src/mcp/hello_handler.py").exists()
    assert json.loads((folder / "zolinga.json").read_text())["listen"][0]["class"] == "\\Acme\\Demo\\Mcp\\HelloHandler"
    # A folder mcp/ beside a file mcp.py would hide the file.
    other = write_module({}, {"mcp.py": ""}, module="other")
    add_tool("other", "bye")
    assert (other / "bye_handler.py").exists()
    assert import_manifests()["refused"] == []
    for tool in ("hello", "bye"):
        assert mcp_client.call_tool(tool).structured == {"greeting": "Hello, world!"}


def test_the_right_is_in_the_entry_and_asked_for(
    module_dir: Path,
    import_manifests: Import,
    mcp_client: McpClient,
    mcp_token: Callable[..., str],
    admin_user: Any,
) -> None:
    start_module("demo")
    add_tool("demo", "secret", right="oauth2:scope mcp:tools demo:read|demo:write")
    import_manifests()
    assert mcp_client.call_tool("secret").status == 401
    mcp_client.token = mcp_token(admin_user, "mcp:tools demo:write")
    assert mcp_client.call_tool("secret").structured == {"greeting": "Hello, world!"}
    with pytest.raises(NotWritten, match="held by nobody"):
        add_tool("demo", "other", right="oauth:scope typo")
    with pytest.raises(NotWritten, match='write "oauth2:scope mcp:tools"'):
        add_tool("demo", "other", right="mcp:tools")


@pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 129, "a*", "-", "a/b"])
def test_a_name_that_cannot_be_a_tools_is_refused(module_dir: Path, name: str) -> None:
    start_module("demo")
    before = tree(module_dir)
    with pytest.raises(NotWritten, match="Choose another name"):
        add_tool("demo", name)
    assert tree(module_dir) == before


def test_an_event_of_that_name_is_not_shadowed(write_module: Callable[..., Path]) -> None:
    entry = {"event": "hello", "class": "\\Demo\\H", "method": "x", "origin": ["remote"]}
    folder = write_module({"listen": [entry]})
    before = tree(folder)
    with pytest.raises(NotWritten, match=r"has an event 'hello' already \(zolinga\.json#/listen/0\).*--from hello"):
        add_tool("demo", "hello")
    assert tree(folder) == before


@pytest.mark.parametrize("broken", ["{", "[]", '{"listen": {"a": 1}}', '{"listen": [], "listen": []}'])
def test_a_manifest_that_cannot_be_read_is_not_touched(write_module: Callable[..., Path], broken: str) -> None:
    folder = write_module(broken)
    with pytest.raises(NotWritten, match="cannot be read"):
        add_tool("demo", "hello")
    assert tree(folder) == {"zolinga.json": broken.encode()}


def test_where_an_import_would_refuse_the_tool_everything_is_taken_back(write_module: Callable[..., Path]) -> None:
    # A longer prefix takes the class elsewhere, where no file is.
    folder = write_module({"autoload": {"Acme\\": "src/", "Acme\\Mcp\\": "elsewhere/"}})
    before = tree(folder)
    with pytest.raises(NotWritten, match=r"would be refused, so nothing was written\. .*HelloHandler"):
        add_tool("demo", "hello")
    assert tree(folder) == before
    assert [path.name for path in folder.iterdir() if path.name != "__pycache__"] == ["zolinga.json"]


def test_what_cannot_be_written_leaves_nothing_behind(module_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_module("demo")
    before = tree(module_dir)

    def full(*arguments: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device", "zolinga.json")

    monkeypatch.setattr("mcp_gateway.authoring.files.tempfile.mkstemp", full)
    with pytest.raises(NotWritten, match="no space left on device"):
        add_tool("demo", "hello")
    assert tree(module_dir) == before


def test_both_modules_of_one_id_are_named(module_dir: Path) -> None:
    for name in ("a-b", "a_b"):
        (module_dir / name).mkdir()
        (module_dir / name / "zolinga.json").write_text("{}")
    with pytest.raises(NotWritten, match="share the id"):
        add_tool("a-b", "hello")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("startmodule", "1st"), "cannot be a module's"),
        (("mcp_add_tool", "nowhere", "hello"), "Modules there are: demo"),
        (("mcp_add_tool", "demo", "hello", "--recorded", "x"), "belongs to --from"),
        (("mcp_add_tool", "demo", "hello", "--from", "x"), "no event 'x'"),
    ],
)
def test_the_commands_refuse_in_one_sentence(module_dir: Path, arguments: tuple[str, ...], reason: str) -> None:
    start_module("demo")
    with pytest.raises(CommandError, match=reason):
        call_command(*arguments)


def test_the_commands_say_what_they_wrote_and_what_comes_next(
    module_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("startmodule", "demo")
    said = capsys.readouterr().out
    assert "demo/zolinga.json" in said
    assert "manage.py import_manifests && manage.py mcp_call demo-hello" in said
    call_command("mcp_add_tool", "demo", "bye", "--right", "staff")
    said = capsys.readouterr().out
    assert "demo/schemas/byeRequest.json" in said
    assert "Anyone may call it" not in said
    assert "manage.py mcp_call bye --user NAME" in said


def test_the_tests_that_are_written_pass(pytester: pytest.Pytester, module_dir: Path) -> None:
    start_module("demo")
    add_tool("demo", "scoped", right="oauth2:scope mcp:tools demo:read")
    add_tool("demo", "for-staff", right="staff")
    done = run_tests(pytester, module_dir)
    # demo-hello greets; scoped greets and needs a token; for-staff needs one.
    done.assert_outcomes(passed=4)
