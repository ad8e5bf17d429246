"""Icons of tools: which sources are taken, and what clients get of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.models import Tool
from tests.manifest.samples import FILES, tool
from tests.wire import Wire

Write = Callable[..., Path]
Import = Callable[..., dict[str, Any]]

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'
PNG = b"\x89PNG"


def listed(version: str = "2026-07-28") -> Any:
    """The icons of the tool, as a client of a version sees them."""
    if version == "2026-07-28":
        answer = Wire().request("modern", "tools/list")
    else:
        answer = Wire().request("legacy", "tools/list", version=version)
    (shown,) = [shown for shown in answer.result["tools"] if shown["name"] == "demo"]
    return shown.get("icons")


@pytest.fixture
def publish(write_module: Write, import_manifests: Import) -> Callable[..., dict[str, Any]]:
    """Import the demo module with one tool that has these icons."""

    def run(*icons: Any, files: dict[str, Any] | None = None) -> dict[str, Any]:
        write_module({"listen": [tool("demo", icons=list(icons))]}, {**FILES, **(files or {})})
        return import_manifests()

    return run


def test_a_path_of_the_site_is_listed_below_its_public_url(publish: Any, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "PUBLIC_URL": "https://mcp.example.com/tools"}
    publish({"src": "/static/demo/bag.svg", "sizes": ["any"]}, {"src": "https://cdn.example.com/i.png"})
    assert listed() == [
        {"src": "https://mcp.example.com/tools/static/demo/bag.svg", "sizes": ["any"]},
        {"src": "https://cdn.example.com/i.png"},
    ]
    assert listed("2025-11-25") == listed()
    assert listed("2025-06-18") is None


def test_a_file_of_a_module_is_listed_with_what_is_in_it(publish: Any) -> None:
    files = {"icons/bag.svg": SVG, "icons/bag.bin": PNG}
    report = publish(
        {"src": "module://demo/icons/bag.svg", "theme": "dark"},
        {"src": "module://demo/icons/bag.bin", "mimeType": "image/png"},
        files=files,
    )
    assert report["refused"] == []
    vector, pixels = listed()
    assert vector == {
        "src": f"data:image/svg+xml;base64,{base64.b64encode(SVG.encode()).decode()}",
        "theme": "dark",
        "mimeType": "image/svg+xml",
    }
    assert pixels["src"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


def test_a_picture_that_changed_is_a_change(publish: Any, write_module: Write, import_manifests: Import) -> None:
    icon = {"src": "module://demo/bag.svg"}
    publish(icon, files={"bag.svg": SVG})
    before = Tool.objects.get(name="demo").extras
    assert import_manifests()["changed"] == []
    report = publish(icon, files={"bag.svg": SVG.replace("/>", "></svg>")})
    assert [remark["name"] for remark in report["changed"] if remark["kind"] == "tool"] == ["demo"]
    assert Tool.objects.get(name="demo").extras != before


@pytest.mark.parametrize(
    ("icon", "pointer", "said"),
    [
        ({"src": "http://x.example/i.png"}, "/src", "https:"),
        ({"src": "//x.example/i.png"}, "/src", "a path of the site"),
        ({"src": "file:///etc/passwd"}, "/src", "clients refuse"),
        ({"src": "static/i.png"}, "/src", "/static/shop/bag.svg"),
        ({"src": "javascript:alert(1)"}, "/src", "clients refuse"),
        ({"src": "module://demo/gone.svg"}, "/src", "does not exist"),
        ({"src": "module://nobody/bag.svg"}, "/src", "is not here"),
        ({"src": "module://demo/../../etc/hostname.png"}, "/src", "leads out of its module"),
        ({"src": "module://demo/notes.txt"}, "/src", "no picture by its name"),
        ({"src": "module://demo/bag.svg", "mimeType": "text/html"}, "/mimeType", "no picture by its “mimeType”"),
        ({"src": "module://demo/large.png"}, "/src", "more than 32768 bytes"),
    ],
)
def test_a_source_that_clients_refuse_or_nobody_finds_costs_only_its_own_tool(
    write_module: Write, import_manifests: Import, icon: Any, pointer: str, said: str
) -> None:
    files = {"bag.svg": SVG, "notes.txt": "x", "large.png": bytes(32769)}
    write_module({"listen": [tool("odd", icons=[{"src": "data:,"}, icon]), tool("fine")]}, {**FILES, **files})
    refused = import_manifests()["refused"]
    assert [remark["pointer"] for remark in refused] == [f"/listen/0/icons/1{pointer}"]
    assert said in refused[0]["message"]
    names = {shown["name"] for shown in Wire().request("modern", "tools/list").result["tools"]}
    assert {"odd", "fine"} & names == {"fine"}
