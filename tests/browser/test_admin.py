"""The front page and the admin pages as people see them, in light and dark, wide and narrow."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone
from oauth2_provider.models import get_application_model
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from mcp_gateway.models import (
    Client,
    Endpoint,
    ImportRun,
    Listener,
    Module,
    Prompt,
    Resource,
    Scope,
    Tool,
    ToolTask,
)
from mcp_gateway.registry import snapshot

pytestmark = pytest.mark.django_db(transaction=True)

# WCAG 2.2 success criterion 1.4.3, level AA.
CONTRAST = 4.5

# Every text on the page whose contrast with the ground below it is too low: [text, ratio].
LOW_CONTRAST = """
const parse = text => text.match(/[\\d.]+/g).map(Number);
const linear = value => value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
const luminance = color => {
    const [red, green, blue] = color.map(value => linear(value / 255));
    return .2126 * red + .7152 * green + .0722 * blue;
};
const ground = element => {
    for (; element; element = element.parentElement) {
        const color = parse(getComputedStyle(element).backgroundColor);
        if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
};
const shown = [...document.querySelectorAll(arguments[0])].filter(e => e.textContent.trim() && e.offsetParent);
return shown.map(element => {
    const pair = [luminance(parse(getComputedStyle(element).color)), luminance(ground(element))];
    return [element.textContent.trim(), (Math.max(...pair) + .05) / (Math.min(...pair) + .05)];
}).filter(([, ratio]) => ratio < arguments[1]);
"""


# How much of a list is only seen by scrolling it.
CUT = """
const place = document.querySelector("#result_list")?.closest(".results");
return place ? place.scrollWidth - place.clientWidth : 0;
"""
WIDE = 1300


@pytest.fixture
def site(write_module: Callable[..., Path]) -> None:
    """The example module, and beside it a module with a refused listener and a tool that nobody may call."""
    listener = {
        "class": "\\Demo\\Handler",
        "method": "onIt",
        "origin": ["mcp"],
        "schema": {"response": {"type": "object"}},
    }
    write_module(
        {
            "name": "Demo",
            "listen": [
                {**listener, "event": "lost", "class": "\\Demo\\Missing", "description": "Its class is missing."},
                {**listener, "event": "odd", "right": "friend of mine", "description": "Nobody may."},
                {**listener, "event": "orders", "right": "oauth2:scope orders:read", "description": "Reads orders."},
            ],
        },
        {"__init__.py": "class Handler:\n    def on_it(self, event):\n        return {}\n"},
    )
    with pytest.raises(SystemExit):
        call_command("import_manifests", "--json")
    Tool.objects.filter(name="echo").update(enabled=False)


@pytest.fixture
def admin(browser: webdriver.Chrome, live_server: LiveServer, site: None) -> webdriver.Chrome:
    """A browser in which an administrator has logged in."""
    User.objects.create_superuser("ada", password="correct horse")
    browser.get(f"{live_server.url}/admin/login/")
    browser.find_element(By.NAME, "username").send_keys("ada")
    browser.find_element(By.NAME, "password").send_keys("correct horse")
    browser.find_element(By.CSS_SELECTOR, "[type=submit]").click()
    WebDriverWait(browser, 20).until(lambda shown: "Site administration" in shown.page_source)
    return browser


def look(browser: webdriver.Chrome, url: str, *, theme: str, width: int) -> None:
    """Open a page and check what an eye would stumble over."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    )
    browser.set_window_size(width, 900)
    browser.get(url)
    overflow = browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow <= 0, f"{url} is {overflow} pixels too wide for {width}"
    cut = browser.execute_script(CUT)
    assert width < WIDE or cut <= 0, f"the list of {url} is {cut} pixels wider than its place"
    low = browser.execute_script(LOW_CONTRAST, ".mcp-mark, .mcp-line, main p, main code, .mark", CONTRAST)
    assert low == []
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]
    faults = [entry for entry in log if entry["level"] == "SEVERE"]
    assert faults == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 400])
def test_the_front_page_is_readable(
    browser: webdriver.Chrome, live_server: LiveServer, site: None, theme: str, width: int
) -> None:
    look(browser, live_server.url, theme=theme, width=width)
    assert "getPricingList" in browser.page_source
    assert "curl -X POST http://testserver/mcp" in browser.page_source


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_admin_page_is_readable(admin: webdriver.Chrome, live_server: LiveServer, theme: str) -> None:
    application = get_application_model().objects.create(name="Helpdesk")
    caller = {"user": User.objects.get(), "application": application}
    soon = timezone.now() + timedelta(hours=1)
    icon = {"src": f"data:image/png;base64,{'iVBORw0KGgo' * 500}", "sizes": ["48x48"]}
    Tool.objects.filter(name="odd").update(extras=json.dumps({"icons": [icon]}))
    rows: tuple[Any, ...] = (
        Tool.objects.get(name="odd"),
        Tool.objects.get(name="echo"),
        Module.objects.get(module_id="demo"),
        Listener.objects.get(event="lost"),
        Scope.objects.get(name="orders:read"),
        Endpoint.objects.get(),
        ImportRun.objects.get(),
        Resource.objects.get(),
        Prompt.objects.get(),
        Client.objects.create(application=application),
        ToolTask.objects.create(**caller, tool="getPricingList", status="input_required", expires_at=soon),
    )
    look(admin, f"{live_server.url}/admin/mcp_gateway/module/drift/", theme=theme, width=1300)
    look(admin, f"{live_server.url}/admin/mcp_gateway/module/drift/", theme=theme, width=400)
    for row in rows:
        address = f"{live_server.url}/admin/mcp_gateway/{row._meta.model_name}/"
        look(admin, address, theme=theme, width=1300)
        look(admin, f"{address}{row.pk}/change/", theme=theme, width=1300)
        look(admin, address, theme=theme, width=400)
        look(admin, f"{address}{row.pk}/change/", theme=theme, width=400)


def test_no_name_pushes_anything_out_of_the_page(admin: webdriver.Chrome, live_server: LiveServer) -> None:
    long = "w" * 200
    application = get_application_model().objects.create(name=long, client_id="desk", user=User.objects.get())
    Tool.objects.filter(name="odd").update(title=long, problem=long)
    Listener.objects.filter(event="odd").update(class_name=long)
    Module.objects.filter(module_id="demo").update(name=long, module_id=long)
    entry = {"module": long, "kind": "tool", "name": long, "file": long, "pointer": f"/{long}", "message": long}
    ImportRun.objects.update(plan=json.dumps({"refused": [entry]}))
    Endpoint.objects.update(title=long)
    rows: tuple[Any, ...] = (
        Tool.objects.get(name="odd"),
        Module.objects.get(module_id=long),
        Listener.objects.get(event="odd"),
        ImportRun.objects.get(),
        Endpoint.objects.get(),
        Client.objects.create(application=application),
        application,
    )
    addresses = [f"{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/" for row in rows]
    for width in (1300, 400):
        for address in (*addresses, "mcp_gateway/module/drift/"):
            look(admin, f"{live_server.url}/admin/{address}", theme="light", width=width)


def test_an_administrator_switches_a_tool_off_and_ties_a_scope_to_another(
    admin: webdriver.Chrome, live_server: LiveServer
) -> None:
    tool = Tool.objects.get(name="getPricingList")
    address = f"{live_server.url}/admin/mcp_gateway/tool/{tool.pk}/change/"

    def save() -> None:
        admin.find_element(By.NAME, "_save").click()
        WebDriverWait(admin, 20).until(lambda shown: "was changed successfully" in shown.page_source)

    admin.get(address)
    # The two boxes are made by a script; what is chosen in the left one moves over with the arrow.
    available = WebDriverWait(admin, 20).until(
        lambda shown: shown.find_element(By.CSS_SELECTOR, "#id_required_scopes_from option[title='orders:read']")
    )
    available.click()
    admin.find_element(By.ID, "id_required_scopes_add").click()
    save()
    assert snapshot().tools["getPricingList"].rights == ("oauth2:scope orders:read",)

    admin.get(address)
    admin.find_element(By.NAME, "enabled").click()
    save()
    assert "getPricingList" not in snapshot().tools
    assert re.search(r"getPricingList.*?switched off here", admin.page_source, re.DOTALL)


def test_an_import_run_is_a_report_and_not_a_heap_of_json(admin: webdriver.Chrome, live_server: LiveServer) -> None:
    run = ImportRun.objects.get()
    admin.get(f"{live_server.url}/admin/mcp_gateway/importrun/{run.pk}/change/")
    sections = [heading.text for heading in admin.find_elements(By.CSS_SELECTOR, ".mcp-report h3")]
    report = json.loads(run.plan)
    assert sections[0] == f"Refused {len(report['refused'])}"
    row = admin.find_element(By.CSS_SELECTOR, ".mcp-report tbody tr").text
    assert "lost" in row
    assert "/listen/0/class" in row
