"""A module in which nothing changed is not read again, and whatever changes is seen."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from mcp_gateway.manifest import survey, world
from mcp_gateway.manifest.world import Asked
from mcp_gateway.models import Generation, ImportRun, Listener, Module, ModuleReading, Prompt, Resource, Scope, Tool
from tests.manifest.samples import of

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]

HANDLER = """
from .base import Base


class Handler(Base):
    def on(self, event):
        event.set_status(200, "OK")
"""
BASE = """
class Base:
    def on_base(self, event):
        event.set_status(200, "OK")
"""
SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"

LISTEN: list[Any] = [
    {
        "event": "plain",
        "class": "\\Demo\\Handler",
        "method": "on",
        "origin": ["mcp", "remote"],
        "description": "Says nothing.",
        "right": "oauth2:scope new:scope",
        "icons": [{"src": "module://demo/icon.svg"}],
        "schema": {"request": "module://demo/schema/in.json", "response": "module://demo/schema/out.json"},
    },
    {
        "event": "shared",
        "class": "\\Demo\\Handler",
        "method": "onBase",
        "origin": "mcp",
        "right": "friend of mine",
        "schema": {"response": "module://other/schema/shared.json"},
    },
    {"event": "absent", "class": "\\Demo\\Missing", "method": "on", "origin": "mcp", "schema": {"response": {}}},
    {"event": "wrong", "class": "\\Demo\\Handler", "method": "on", "origin": "moon"},
    {
        "event": "later",
        "class": "\\Demo\\Handler",
        "method": "on",
        "origin": "mcp",
        "description": "Names a schema that is not there yet.",
        "schema": {"response": "module://demo/schema/later.json"},
        "task": "required",
    },
]
FILES: dict[str, Any] = {
    "handler.py": HANDLER,
    "base.py": BASE,
    "icon.svg": SVG,
    "schema/in.json": {"type": "object", "properties": {"part": {"$ref": "parts/part.json"}}},
    "schema/parts/part.json": {"type": "string"},
    "schema/out.json": {"type": "object"},
    "mcp/resources/guide.md": "A guide.",
    "mcp/resources/guide.md.meta.json": {"title": "Guide", "right": "authenticated"},
    "mcp/resources/lacks.md.meta.json": {"title": "Has no content yet"},
    "mcp/prompts/ask.meta.json": {
        "messages": [{"role": "user", "content": {"type": "text", "uri": "ask.txt"}}],
    },
    "mcp/prompts/ask.txt": "Please do.",
}
MANIFEST = {"name": "Demo", "version": "1.0", "dependencies": ["third"], "schemes": ["demo"], "listen": LISTEN}


@pytest.fixture
def modules(write_module: Write, import_manifests: Import, module_dir: Path) -> Path:
    """Three modules with everything a reading can ask for, imported."""
    write_module(MANIFEST, FILES)
    write_module({"name": "Other"}, {"schema/shared.json": {"type": "object"}}, module="other")
    write_module({"name": "Fourth", "listen": [{**LISTEN[0], "event": "x", "class": "\\Fourth\\No"}]}, module="fourth")
    write_module({}, module="twin-a")
    import_manifests()
    return module_dir


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the modules that are read in full from now on."""
    ids: list[str] = []
    reader = survey._Reader.read

    def noted(self: Any) -> None:
        ids.append(self._id)
        reader(self)

    monkeypatch.setattr(survey._Reader, "read", noted)
    return ids


def test_modules_in_which_nothing_changed_are_not_read_and_reported_all_the_same(
    modules: Path, import_manifests: Import, read: list[str]
) -> None:
    before, runs = Generation.current(), ImportRun.objects.count()
    report = import_manifests()
    own = {module for module in ("demo", "other", "fourth") if module in read}
    assert own == set()
    assert report["added"] == report["changed"] == report["removed"] == []
    assert of(report["refused"], kind="tool", name="absent") == []
    assert {remark["name"] for remark in of(report["refused"])} >= {"absent", "wrong", "later"}
    assert report == told_anew(import_manifests)
    assert (Generation.current(), ImportRun.objects.count()) == (before, runs)


def test_of_many_modules_only_the_changed_one_is_read(
    modules: Path, import_manifests: Import, write_module: Write, read: list[str]
) -> None:
    write_module({"name": "Other", "version": "2"}, module="other")
    import_manifests()
    assert "demo" not in read
    assert "other" in read
    read.clear()
    import_manifests()
    assert not {"demo", "other"} & set(read)


def test_a_file_that_says_the_same_in_other_bytes_is_read_once_and_nothing_is_written(
    modules: Path, import_manifests: Import, read: list[str]
) -> None:
    before = Generation.current()
    (modules / "demo/schema/out.json").write_text('{"type":    "object"}')
    assert import_manifests()["changed"] == []
    assert "demo" in read
    read.clear()
    import_manifests()
    assert "demo" not in read
    assert Generation.current() == before


def told_anew(import_manifests: Import) -> dict[str, Any]:
    """What an import would say that knows of no reading."""
    ModuleReading.objects.all().delete()
    return import_manifests("--dry-run")


def write(path: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    return change


def remove(path: str) -> Callable[[Path], None]:
    return lambda folder: (folder / path).unlink()


def _manifest(**keys: Any) -> Callable[[Path], None]:
    return write("demo/zolinga.json", json.dumps({**MANIFEST, **keys}))


def _entry(**keys: Any) -> Callable[[Path], None]:
    return _manifest(listen=[{**LISTEN[0], **keys}, *LISTEN[1:]])


def _same_size_and_time(folder: Path) -> None:
    path = folder / "demo/schema/parts/part.json"
    status = path.stat()
    path.write_text(path.read_text().replace("string", "number"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size


def _link_leads_elsewhere(folder: Path) -> None:
    path = folder / "demo/schema/out.json"
    path.unlink()
    path.symlink_to(folder / "other/schema/shared.json")


def _folder_is_linked(folder: Path) -> None:
    shutil.move(folder / "demo/schema", folder / "demo/schemas")
    (folder / "demo/schema").symlink_to("schemas")
    (folder / "demo/schemas/out.json").write_text('{"type": "object", "title": "T"}')


FILE_CHANGES: dict[str, Callable[[Path], object]] = {
    "manifest's name": _manifest(name="Another"),
    "manifest unreadable": write("demo/zolinga.json", "{"),
    "manifest gone": remove("demo/zolinga.json"),
    "entry's description": _entry(description="Says something."),
    "entry's right": _entry(right="oauth2:scope other:scope"),
    "entry's origin": _entry(origin="remote"),
    "entry's visibility": _entry(visibility="off"),
    "entry's method": _entry(method="nowhere"),
    "an entry less": _manifest(listen=LISTEN[1:]),
    "entries in another order": _manifest(listen=LISTEN[::-1]),
    "schemes": _manifest(schemes=["demo", "shop"]),
    "dependencies": _manifest(dependencies=["other"]),
    "schema": write("demo/schema/out.json", '{"type": "object", "title": "T"}'),
    "schema spoilt": write("demo/schema/out.json", '{"type": "strin"}'),
    "schema gone": remove("demo/schema/out.json"),
    "schema a reference leads to": write("demo/schema/parts/part.json", '{"type": "number"}'),
    "schema a reference leads to, as large and as old as before": _same_size_and_time,
    "schema of another module": write("other/schema/shared.json", '{"type": "object", "title": "T"}'),
    "schema of another module gone": remove("other/schema/shared.json"),
    "schema that was not there": write("demo/schema/later.json", '{"type": "object"}'),
    "schema linked out of the module": _link_leads_elsewhere,
    "folder of schemas linked": _folder_is_linked,
    "icon": write("demo/icon.svg", SVG.replace("/>", "></svg>")),
    "icon gone": remove("demo/icon.svg"),
    "resource's content": write("demo/mcp/resources/guide.md", "Another guide."),
    "resource's content gone": remove("demo/mcp/resources/guide.md"),
    "resource's content that was not there": write("demo/mcp/resources/lacks.md", "Content."),
    "resource's meta file": write("demo/mcp/resources/guide.md.meta.json", '{"title": "Another"}'),
    "resource's meta file gone": remove("demo/mcp/resources/guide.md.meta.json"),
    "one more meta file": write("demo/mcp/resources/more.meta.json", '{"content": {"text": "x"}}'),
    "prompt": write("demo/mcp/prompts/ask.meta.json", '{"messages": []}'),
    "prompt's text": write("demo/mcp/prompts/ask.txt", "Please do it now."),
    "handler loses its method": write("demo/handler.py", HANDLER.replace("def on(", "def off(")),
    "handler does not import": write("demo/handler.py", "import nowhere_at_all"),
    "handler gone": remove("demo/handler.py"),
    "handler's base loses its method": write("demo/base.py", BASE.replace("on_base", "off_base")),
    "handler that was not there": write("demo/missing.py", "class Missing:\n    def on(self, event): ...\n"),
    "a module it depends on appears": write("third/zolinga.json", "{}"),
    "a module that another's schema lies in is gone": lambda folder: shutil.rmtree(folder / "other"),
    "a module answers for rights": write(
        "third/zolinga.json",
        json.dumps({"listen": [{**LISTEN[0], "event": "system:authorize", "origin": "internal"}]}),
    ),
    "a second module of an id": lambda folder: shutil.copytree(folder / "twin-a", folder / "twin_a"),
}


@pytest.mark.parametrize("change", FILE_CHANGES.values(), ids=FILE_CHANGES)
def test_an_import_says_of_a_change_what_one_says_that_reads_everything(
    modules: Path, import_manifests: Import, change: Callable[[Path], object]
) -> None:
    before = import_manifests("--dry-run")
    change(modules)
    said = import_manifests("--dry-run")
    assert said == told_anew(import_manifests)
    assert said != before


def _rename(model: Any, **columns: Any) -> None:
    """Write past everything that keeps count of changes."""
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        for column, value in columns.items():
            name = connection.ops.quote_name(column)
            cursor.execute(f"UPDATE {table} SET {name} = %s", [value])  # noqa: S608


ROW_CHANGES: dict[str, Callable[[], object]] = {
    "a module's row": lambda: _rename(Module, name="Someone was here"),
    "a module's row is gone": lambda: Module.objects.filter(module_id="demo").delete(),
    "a module is marked as gone": lambda: _rename(Module, present=False),
    "a listener's row is gone": lambda: Listener.objects.filter(event="plain").delete(),
    "a listener's row is of another import": lambda: _rename(Listener, digest="0"),
    "a listener more": lambda: Listener.objects.create(
        module=Module.objects.get(module_id="demo"), event="x", identity="x", position=99
    ),
    "a tool's row": lambda: _rename(Tool, title="Someone was here", output_schema='{"type":"object","title":"x"}'),
    "a tool's row is gone": lambda: Tool.objects.all().delete(),
    "a tool is retired": lambda: _rename(Tool, available=False),
    "a tool belongs to nobody": lambda: _rename(Tool, listener_id=None),
    "a resource's row": lambda: _rename(Resource, digest="0"),
    "a resource's title": lambda: _rename(Resource, title="Someone was here"),
    "a prompt's row is gone": lambda: Prompt.objects.all().delete(),
    "scopes are gone": lambda: Scope.objects.filter(name="new:scope").delete(),
}


@pytest.mark.parametrize("change", ROW_CHANGES.values(), ids=ROW_CHANGES)
def test_rows_that_are_not_as_they_were_written_are_seen(
    modules: Path, import_manifests: Import, change: Callable[[], object]
) -> None:
    before = import_manifests("--dry-run")
    change()
    said = import_manifests("--dry-run")
    assert said == told_anew(import_manifests)
    assert said != before or change is ROW_CHANGES["a resource's title"]


def test_settings_and_tasks_that_a_module_is_read_with_are_seen(
    modules: Path, import_manifests: Import, settings: Any, read: list[str]
) -> None:
    settings.TASKS = {}
    assert "no worker" in json.dumps(import_manifests("--dry-run")["warnings"])
    read.clear()
    settings.ZOLINGA = {**settings.ZOLINGA, "MAX_RESULT_BYTES": 5}
    said = import_manifests("--dry-run")
    assert "demo" in read
    assert "more than 5 bytes" in json.dumps(said["refused"])
    assert said == told_anew(import_manifests)


def test_packages_that_handlers_may_lie_in_are_seen(
    write_module: Write, import_manifests: Import, settings: Any
) -> None:
    entry = {**LISTEN[0], "class": "tests.manifest.samples.Nobody", "icons": [], "schema": {"response": {}}}
    write_module({"listen": [entry]})
    assert "HANDLER_PACKAGES" in json.dumps(import_manifests()["refused"])
    settings.ZOLINGA = {**settings.ZOLINGA, "HANDLER_PACKAGES": ["tests"]}
    assert "Class not found" in json.dumps(import_manifests("--dry-run")["refused"])


def test_another_version_of_what_reads_modules_reads_them_again(
    modules: Path, import_manifests: Import, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "reader_digest", lambda: "another version")
    import_manifests()
    assert {"demo", "other", "fourth"} <= set(read)
    read.clear()
    import_manifests()
    assert not {"demo", "other", "fourth"} & set(read)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"reader": 1}'])
def test_a_reading_that_cannot_be_understood_is_made_again(
    modules: Path, import_manifests: Import, read: list[str], text: str
) -> None:
    ModuleReading.objects.update(text=text)
    import_manifests()
    assert "demo" in read
    read.clear()
    import_manifests()
    assert "demo" not in read


@pytest.mark.parametrize(
    "member",
    ["asked", "module", "dependencies", "listeners", "published", "refused", "warnings", "news", "rights", "scopes"],
)
@pytest.mark.parametrize("instead", [None, "[]"])
def test_a_reading_of_which_a_part_is_gone_is_made_again_and_nothing_is_lost(
    modules: Path, import_manifests: Import, read: list[str], member: str, instead: str | None
) -> None:
    before, report = Generation.current(), import_manifests()
    row = ModuleReading.objects.get(module__module_id="demo")
    begin = row.text.index("{")
    content = json.loads(row.text[begin:])
    del content[member]
    if instead:
        content[member] = json.loads(instead)
    row.text = row.text[:begin] + json.dumps(content, separators=(",", ":"))
    row.save()
    assert import_manifests() == report
    assert "demo" in read
    assert Generation.current() == before
    read.clear()
    assert import_manifests() == report
    assert "demo" not in read


def test_a_module_that_changes_while_it_is_read_is_read_again(
    modules: Path, import_manifests: Import, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = modules / "demo/mcp/resources/guide.md"
    (modules / "demo/mcp/resources/twice.meta.json").write_text('{"content": {"uri": "guide.md"}}')
    content = Asked.content

    def written_meanwhile(self: Asked, *arguments: Any, **keys: Any) -> bytes:
        found = content(self, *arguments, **keys)
        guide.write_text(guide.read_text() + "And more.")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Asked, "content", written_meanwhile)
        import_manifests()
    read.clear()
    assert import_manifests() != {}
    assert "demo" in read
    assert Resource.objects.get(uri="mcp-system:demo:guide.md").size == guide.stat().st_size


def test_what_a_dry_run_reads_is_not_kept(write_module: Write, import_manifests: Import) -> None:
    write_module(MANIFEST, FILES)
    import_manifests()
    ModuleReading.objects.all().delete()
    import_manifests("--dry-run")
    import_manifests("--check")
    assert not ModuleReading.objects.exists()
