"""From the class and method of a manifest to the code that runs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.events import CallEvent
from mcp_gateway.events import handlers as room
from mcp_gateway.events.handlers import (
    HandlerNotFound,
    camel_case,
    check_handler,
    load_handler,
    load_instance,
    snake_case,
)
from mcp_gateway.manifest import discovery
from mcp_gateway.registry import ModuleEntry

Write = Callable[..., Path]


def code(*classes: str) -> str:
    """Python source with such classes, each of which answers with its own dotted name."""
    return "\n".join(
        f"""
class {name}:
    def on_call(self, event):
        event.response = {{"from": f"{{__name__}}.{name}"}}
"""
        for name in classes
    )


def run(module: str, class_name: str, method: str = "onCall", autoload: dict[str, str] | None = None) -> str:
    """Load a handler as a request does, call it, and say which class answered."""
    event = CallEvent("x")
    load_handler(ModuleEntry(module, "", autoload or {}), class_name, method)(event)
    return str(event.response["from"])


def check(module: str, class_name: str, method: str = "onCall", autoload: dict[str, str] | None = None) -> None:
    """Check a handler as an import does."""
    source = discovery.locate(module)
    assert source is not None
    check_handler(source, autoload or {}, class_name, method)


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("FindISBN", "find_isbn"),
        ("onMyTool", "on_my_tool"),
        ("MyToolHandler", "my_tool_handler"),
        ("HTTPServer2Go", "http_server2_go"),
        ("already_snake", "already_snake"),
        ("ISBN", "isbn"),
    ],
)
def test_names_become_snake_case(name: str, snake: str) -> None:
    assert snake_case(name) == snake


@pytest.mark.parametrize(("module", "camel"), [("my-module", "MyModule"), ("demo", "Demo"), ("a_b-c2", "ABC2")])
def test_module_ids_become_camel_case(module: str, camel: str) -> None:
    assert camel_case(module) == camel


@pytest.mark.parametrize(
    ("files", "class_name", "autoload", "answers"),
    [
        ({"mcp.py": ["Tool"]}, "\\MyModule\\Mcp\\Tool", {}, "mcp.Tool"),
        ({"mcp/my_tool.py": ["MyTool"]}, "\\MyModule\\Mcp\\MyTool", {}, "mcp.my_tool.MyTool"),
        ({"mcp/__init__.py": ["MyTool"], "mcp/my_tool.py": []}, "\\MyModule\\Mcp\\MyTool", {}, "mcp.MyTool"),
        ({"mcp/__init__.py": [], "mcp/my_tool.py": ["MyTool"]}, "\\MyModule\\Mcp\\MyTool", {}, "mcp.my_tool.MyTool"),
        ({"__init__.py": ["Handler"]}, "\\MyModule\\Handler", {}, "Handler"),
        ({"handler.py": ["Handler"]}, "MyModule\\Handler", {}, "handler.Handler"),
        ({"a/find_isbn/deep.py": ["X"]}, "\\MyModule\\A\\FindISBN\\Deep\\X", {}, "a.find_isbn.deep.X"),
        ({"src/api.py": ["Alert"]}, "\\Ex\\App\\Api\\Alert", {"Ex\\App\\": "src/"}, "src.api.Alert"),
        ({"src/alert.py": ["Alert"]}, "\\Ex\\App\\Alert", {"\\Ex\\App": "src"}, "src.alert.Alert"),
        ({"b/alert.py": ["Alert"]}, "\\Ex\\App\\Alert", {"Ex\\": "a/", "Ex\\App\\": "b/"}, "b.alert.Alert"),
        ({"root/x.py": ["X"]}, "\\Ex\\Root\\X", {"Ex\\": ""}, "root.x.X"),
        ({"lib/one.py": ["Alert"]}, "\\Ex\\Alert", {"Ex\\Alert": "lib/one.py"}, "lib.one.Alert"),
        ({"lib/alert.py": ["Alert"]}, "\\Ex\\Alert", {"Ex\\Alert": "lib"}, "lib.alert.Alert"),
        ({"lib/one.py": ["Alert"]}, "\\Ex\\Alert", {"Ex\\": "lib/one.py"}, "lib.one.Alert"),
        ({"my-lib/alert.py": ["Alert"]}, "\\Ex\\Alert", {"Ex\\": "my-lib/"}, "my-lib.alert.Alert"),
    ],
)
def test_a_class_is_found_where_the_manifest_says(
    write_module: Write, files: dict[str, list[str]], class_name: str, autoload: dict[str, str], answers: str
) -> None:
    write_module({}, {name: code(*classes) for name, classes in files.items()}, module="my-module")
    check("my-module", class_name, autoload=autoload)
    assert run("my-module", class_name, autoload=autoload) == f"mcp_gateway_modules.my_module.{answers}"


@pytest.mark.parametrize(
    ("class_name", "autoload", "said"),
    [
        ("\\Demo\\Missing", {}, "Looked in mcp_gateway_modules.demo and then mcp_gateway_modules.demo.missing"),
        ("\\Other\\Handler", {}, "does not begin with Demo\\"),
        ("\\Demo", {}, "does not begin with Demo\\"),
        ("Handler", {}, "does not begin with Demo\\"),
        ("", {}, "no class name"),
        ("\\Demo\\../../etc", {}, "no class name"),
        ("os.path.Handler", {}, "HANDLER_PACKAGES"),
        ("os.Handler", {}, "HANDLER_PACKAGES"),
        ("mcp_gateway_evil.Handler", {}, "HANDLER_PACKAGES"),
        ("..Handler", {}, "no dotted Python path"),
        ("\\X\\Y", {"X\\": "../other/"}, "no folder or Python file"),
        ("\\X\\Y", {"X\\": "/etc/"}, "no folder or Python file"),
        ("\\X\\Y", {"X\\Y": "src/Y.php"}, "names the PHP file src/Y.php"),
        ("\\Demo\\Handler\\NotAClass", {}, "Class not found"),
        ("\\Demo\\Needy", {}, "needs arguments"),
    ],
)
def test_a_class_that_is_not_there_is_refused_with_reason(
    write_module: Write, class_name: str, autoload: dict[str, str], said: str
) -> None:
    source = "NotAClass = 5\nclass Needy:\n    def __init__(self, what): ...\n    def on_call(self, event): ...\n"
    write_module({}, {"handler.py": code("Handler") + source, "needy.py": source})
    with pytest.raises(HandlerNotFound) as refused:
        check("demo", class_name, autoload=autoload)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("method", "fine"),
    [
        ("onCall", True),
        ("on_call", True),
        ("oncall", False),
        ("_hidden", False),
        ("__init__", False),
        ("noArgument", False),
        ("twoArguments", False),
        ("optional", True),
        ("anything", True),
        ("onAsync", True),
        ("staticOne", True),
        ("classOne", True),
        ("attribute", False),
        ("computed", False),
        ("Inner", False),
        ("missing", False),
        ("", True),
    ],
)
def test_a_method_must_be_public_and_take_the_event(write_module: Write, method: str, fine: bool) -> None:
    write_module(
        {},
        {
            "handler.py": """
class Handler:
    attribute = 5
    class Inner: ...
    def on_call(self, event): ...
    def _hidden(self, event): ...
    def no_argument(self): ...
    def two_arguments(self, event, other): ...
    def optional(self, event, other=None): ...
    def anything(self, *args, **kwargs): ...
    async def on_async(self, event): ...
    @staticmethod
    def static_one(event): ...
    @classmethod
    def class_one(cls, event): ...
    @property
    def computed(self): return lambda event: None
"""
        },
    )
    if fine:
        check("demo", "\\Demo\\Handler", method)
    else:
        with pytest.raises(HandlerNotFound):
            check("demo", "\\Demo\\Handler", method)


def test_the_exact_name_of_a_method_comes_before_its_snake_case(write_module: Write) -> None:
    source = """
class Handler:
    def onCall(self, event): event.response = {"from": "exact"}
    def on_call(self, event): event.response = {"from": "snake"}
"""
    write_module({}, {"handler.py": source})
    assert run("demo", "\\Demo\\Handler", "onCall") == "exact"


def test_a_class_has_one_instance_in_a_process(write_module: Write) -> None:
    write_module({}, {"handler.py": code("Handler")})
    entry = ModuleEntry("demo", "", {})
    first = load_instance(entry, "\\Demo\\Handler")
    assert load_instance(entry, "\\Demo\\Handler") is first
    handler = load_handler(entry, "\\Demo\\Handler", "onCall")
    assert handler.__self__ is first  # type: ignore[attr-defined]
    assert load_handler(entry, "\\Demo\\Handler", "onCall") is handler


def test_import_instantiates_nothing(write_module: Write) -> None:
    write_module(
        {}, {"handler.py": code("Handler") + "    def __init__(self):\n        raise RuntimeError('too early')\n"}
    )
    check("demo", "\\Demo\\Handler")
    with pytest.raises(HandlerNotFound, match=r"cannot be instantiated: RuntimeError in .*: too early"):
        run("demo", "\\Demo\\Handler")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def (", "SyntaxError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("import not_there_at_all", "not_there_at_all"),
        ("from . import not_there", "ImportError"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise ValueError('two\\nlines ' + 'x' * 5000)", "two lines"),
    ],
)
def test_a_module_that_fails_to_import_is_told_in_one_line_without_its_path(
    write_module: Write, source: str, said: str
) -> None:
    folder = write_module({}, {"handler.py": source, "fine.py": code("Fine")})
    with pytest.raises(HandlerNotFound) as refused:
        check("demo", "\\Demo\\Handler")
    text = str(refused.value)
    assert said in text
    assert "\n" not in text
    assert str(folder) not in text
    assert len(text) < 500
    assert run("demo", "\\Demo\\Fine").endswith("Fine")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "def __getattr__(name):\n    raise ImportError(f'{name} needs a package that is not here')",
            "needs a package",
        ),
        ("class Error(Exception):\n    def __str__(self):\n        raise ValueError\nraise Error", "raised Error"),
        (
            "class Meta(type):\n    def __getattr__(cls, name):\n        raise RuntimeError('no')\n"
            "class Handler(metaclass=Meta):\n    pass",
            "RuntimeError in .*: no",
        ),
        (
            "class Lazy:\n    def __get__(self, instance, owner):\n        raise KeyError('early')\n"
            "class Handler:\n    on_call = Lazy()",
            "KeyError",
        ),
    ],
)
def test_code_that_raises_while_it_is_looked_at_is_told_like_code_that_is_missing(
    write_module: Write, source: str, said: str
) -> None:
    write_module({}, {"handler.py": source, "fine.py": code("Fine")})
    for look in (check, run):
        with pytest.raises(HandlerNotFound, match=said):
            look("demo", "\\Demo\\Handler")
    assert run("demo", "\\Demo\\Fine").endswith("Fine")


def test_a_class_that_leaves_the_interpreter_is_told_like_one_that_fails(write_module: Write) -> None:
    write_module({}, {"handler.py": code("Handler") + "    def __init__(self):\n        raise SystemExit(3)\n"})
    with pytest.raises(HandlerNotFound, match=r"cannot be instantiated: SystemExit in .*: 3"):
        run("demo", "\\Demo\\Handler")


@pytest.mark.skipif(sys.version_info < (3, 14), reason="older Pythons evaluate annotations when they define")
def test_an_annotation_that_only_a_type_checker_can_read_is_fine(write_module: Write) -> None:
    source = code("Handler").replace("event)", "event: OnlyForTypeCheckers)")
    write_module({}, {"handler.py": source})
    check("demo", "\\Demo\\Handler")


def test_a_package_that_fails_breaks_its_module_only(write_module: Write) -> None:
    write_module({}, {"__init__.py": "raise RuntimeError('no')", "handler.py": code("Handler")})
    write_module({}, {"handler.py": code("Handler")}, module="other")
    for _again in range(2):
        with pytest.raises(HandlerNotFound, match=r"RuntimeError in .*: no"):
            check("demo", "\\Demo\\Handler")
    assert run("other", "\\Other\\Handler").endswith("Handler")
    assert "mcp_gateway_modules.demo" not in sys.modules


def test_a_method_that_is_gone_at_run_time_is_told(write_module: Write) -> None:
    write_module({}, {"handler.py": code("Handler")})
    with pytest.raises(HandlerNotFound, match="no method 'onGone'"):
        run("demo", "\\Demo\\Handler", "onGone")


def test_relative_imports_work_and_nothing_is_put_on_the_path(write_module: Write) -> None:
    before = list(sys.path)
    folder = write_module(
        {},
        {
            "__init__.py": "NAME = 'demo'",
            "mcp.py": "from . import NAME\nfrom .tools.shared import HELP\n" + code("Handler"),
            "tools/shared.py": "from .. import NAME\nHELP = NAME",
        },
    )
    assert run("demo", "\\Demo\\Mcp\\Handler") == "mcp_gateway_modules.demo.mcp.Handler"
    assert sys.path == before
    assert str(folder) not in sys.path
    assert sys.modules.get("mcp") is not sys.modules["mcp_gateway_modules.demo.mcp"]


def test_an_installed_app_is_imported_by_its_own_name_only() -> None:
    source = discovery.locate("example")
    assert source is not None
    assert source.app_label == "example"
    assert source.package == "modules.example"
    with pytest.raises(HandlerNotFound) as refused:
        check("example", "\\Example\\Missing")
    assert refused.value.tried == ["modules.example", "modules.example.missing"]
    assert "mcp_gateway_modules.example" not in sys.modules


def test_a_dotted_class_may_lie_in_an_installed_app_or_an_allowed_package(write_module: Write, settings: Any) -> None:
    write_module({}, {})
    check("demo", "django.contrib.auth.models.AnonymousUser", "has_perm")
    with pytest.raises(HandlerNotFound, match="HANDLER_PACKAGES"):
        check("demo", "email.message.EmailMessage", "attach")
    settings.ZOLINGA = {**settings.ZOLINGA, "HANDLER_PACKAGES": ["email"]}
    check("demo", "email.message.EmailMessage", "attach")


def test_code_that_changed_is_loaded_again_after_a_refresh(write_module: Write) -> None:
    write_module({}, {"handler.py": "class Handler:\n    def on_call(self, event): event.response = {'from': 'old'}\n"})
    assert run("demo", "\\Demo\\Handler") == "old"
    room.refresh()
    first = load_instance(ModuleEntry("demo", "", {}), "\\Demo\\Handler")
    new = {"handler.py": "class Handler:\n    def on_call(self, event): event.response = {'from': 'new'}\n"}
    # A file that was written this very moment might have been read half: it is loaded again at the next refresh.
    os.utime(write_module({}, new) / "handler.py", (1_000_000_000, 1_000_000_000))
    assert run("demo", "\\Demo\\Handler") == "old"
    room.refresh()
    assert run("demo", "\\Demo\\Handler") == "new"
    second = load_instance(ModuleEntry("demo", "", {}), "\\Demo\\Handler")
    assert second is not first
    room.refresh()
    assert load_instance(ModuleEntry("demo", "", {}), "\\Demo\\Handler") is second


def test_a_module_that_is_not_on_this_server_is_said_to_be_missing(write_module: Write) -> None:
    with pytest.raises(HandlerNotFound, match="gone is not on this server"):
        run("gone", "\\Gone\\Handler")


def test_a_process_with_older_code_says_that_a_restart_is_needed(write_module: Write) -> None:
    write_module({}, {"handler.py": code("Handler")})
    run("demo", "\\Demo\\Handler")
    write_module({}, {"handler.py": code("Handler", "Later")})
    for class_name, method in (("\\Demo\\Handler\\Later", "onCall"), ("\\Demo\\Handler", "onLater")):
        with pytest.raises(HandlerNotFound, match="Restart the server"):
            run("demo", class_name, method)
    room.refresh()
    assert run("demo", "\\Demo\\Handler\\Later") == "mcp_gateway_modules.demo.handler.Later"


def test_a_file_that_was_written_while_it_was_read_is_read_again(write_module: Write) -> None:
    itself = f"from pathlib import Path\nPath(__file__).write_text({code('Handler')!r})\n"
    write_module({}, {"handler.py": itself})
    with pytest.raises(HandlerNotFound, match="Class not found"):
        check("demo", "\\Demo\\Handler")
    room.refresh()
    check("demo", "\\Demo\\Handler")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"handler.py": "\n\ndef ("}, "SyntaxError in demo/handler.py, line 3: invalid syntax"),
        (
            {"handler.py": "from . import part", "part.py": "x = 1\ndef ("},
            "SyntaxError in demo/part.py, line 2: invalid syntax",
        ),
        (
            {"handler.py": "from . import part", "part.py": "\nimport json\njson.loads('')"},
            "JSONDecodeError in demo/part.py, line 3: Expecting value",
        ),
    ],
)
def test_a_module_that_fails_to_import_is_told_with_the_line_of_its_own_that_failed(
    write_module: Write, files: dict[str, str], said: str
) -> None:
    write_module({}, files)
    with pytest.raises(HandlerNotFound, match=re.escape(f"raised {said}")):
        check("demo", "\\Demo\\Handler")
