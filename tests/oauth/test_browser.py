"""The login and consent pages in a real Chromium: usable by mouse and keyboard, wide and narrow, light and dark."""

from __future__ import annotations

import base64
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from mcp_gateway.models import OAuthEvent, Scope
from mcp_gateway.oauth import consent
from tests.oauth.flow import Flow

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# The contrast of every text with what is behind it (WCAG 2.2), and whether the page scrolls sideways.
LOOK = """
const channel = value => { value /= 255; return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
const rgba = text => (text.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const behind = element => {
  for (; element; element = element.parentElement) {
    const color = rgba(getComputedStyle(element).backgroundColor);
    if (color.length === 3 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const faint = [];
for (const element of document.querySelectorAll("h1, h2, p, dt, dd, li, code, a, button, label, input, bdi, .text")) {
  if (!element.textContent.trim() && element.tagName !== "INPUT") continue;
  if (element.type === "hidden") continue;
  const [one, other] = [light(rgba(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
  const ratio = (one + 0.05) / (other + 0.05);
  if (ratio < 4.5) faint.push([element.outerHTML.slice(0, 80), ratio]);
}
return {faint, sideways: document.documentElement.scrollWidth > innerWidth,
        styled: getComputedStyle(document.querySelector(".card")).borderRadius !== "0px"};
"""


class _Callback(BaseHTTPRequestHandler):
    """The client's own page, on another port: where the answer must arrive."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<title>client</title>")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing."""


@pytest.fixture
def callback() -> Iterator[str]:
    """The redirect URI of a client that listens on this computer."""
    server = HTTPServer(("127.0.0.1", 0), _Callback)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/callback"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def open_browser(chromium: str, tmp_path: Path) -> Iterator[Callable[..., webdriver.Chrome]]:
    """Start a browser of a given width and color scheme."""
    started: list[webdriver.Chrome] = []
    beside = Path(chromium).with_name("chromedriver")
    driver_path = str(beside) if beside.is_file() else shutil.which("chromedriver")

    def start(width: int = 1200, scheme: str = "light") -> webdriver.Chrome:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path / str(len(started))}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(driver_path))
        started.append(driver)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        return driver

    yield start
    for driver in started:
        driver.quit()


@pytest.fixture
def authorize_url(transactional_db: None, settings: Any, user: Any, application: Any, callback: str) -> Iterator[str]:
    """The link that a client opens, of a project whose own policy allows nothing foreign."""
    settings.MIDDLEWARE = ["tests.oauth.strict_policy.middleware", *settings.MIDDLEWARE]
    # Not the session's server: that one has loaded its middleware long ago.
    server = LiveServer("localhost")
    settings.ZOLINGA = {"PUBLIC_URL": server.url}
    query = Flow(Client()).query(redirect_uri=callback, resource=f"{server.url}/mcp")
    yield f"{server.url}/oauth/authorize/?{query}"
    server.stop()


def wait_for(driver: webdriver.Chrome, selector: str) -> Any:
    return WebDriverWait(driver, 30).until(lambda found: found.find_element(By.CSS_SELECTOR, selector))


def log_in(driver: webdriver.Chrome, url: str) -> None:
    driver.get(url)
    wait_for(driver, "input[name=username]").send_keys("ada")
    driver.find_element(By.NAME, "password").send_keys("secret", Keys.ENTER)
    wait_for(driver, "button[name=allow]")


def blocked(driver: webdriver.Chrome, about: str = "Content Security Policy") -> list[str]:
    """What the browser's console says of content security policies."""
    entries = driver.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry["message"] for entry in entries if about in entry["message"]]


def show(driver: webdriver.Chrome, name: str) -> None:
    """Keep a picture of the whole page, for whoever wants to look at it, in the folder that ``SCREENSHOTS`` names."""
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        (Path(folder) / f"{name}.png").write_bytes(base64.b64decode(page["data"]))


def answer(driver: webdriver.Chrome, callback: str) -> dict[str, list[str]]:
    WebDriverWait(driver, 30).until(lambda found: found.title == "client")
    assert driver.current_url.startswith(callback)
    return parse_qs(urlsplit(driver.current_url).query)


def test_allow_reaches_the_client_under_a_strict_policy(
    open_browser: Callable[..., webdriver.Chrome], authorize_url: str, callback: str
) -> None:
    driver = open_browser()
    log_in(driver, authorize_url)
    driver.find_element(By.CSS_SELECTOR, "button[name=allow]").click()
    assert set(answer(driver, callback)) == {"code", "state", "iss"}


def test_the_strict_policy_would_stop_a_page_without_its_own(
    open_browser: Callable[..., webdriver.Chrome],
    authorize_url: str,
    callback: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consent, "headers", lambda redirect_uri: {})
    driver = open_browser()
    log_in(driver, authorize_url)
    driver.find_element(By.CSS_SELECTOR, "button[name=allow]").click()
    WebDriverWait(driver, 30).until(blocked)
    assert not driver.current_url.startswith(callback)


def test_deny_by_keyboard_alone_reaches_the_client(
    open_browser: Callable[..., webdriver.Chrome], authorize_url: str, callback: str
) -> None:
    driver = open_browser()
    log_in(driver, authorize_url)
    for _ in range(10):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        focused = driver.switch_to.active_element
        assert focused.value_of_css_property("outline-style") == "solid"
        if focused.text == "Deny":
            break
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert answer(driver, callback)["error"] == ["access_denied"]


def test_a_scope_is_ticked_off_by_keyboard(
    open_browser: Callable[..., webdriver.Chrome], authorize_url: str, callback: str
) -> None:
    Scope.objects.create(name="orders:read", description="Read your orders")
    driver = open_browser()
    log_in(driver, authorize_url.replace("scope=mcp%3Atools", "scope=mcp%3Atools+orders%3Aread"))
    group = driver.find_element(By.TAG_NAME, "fieldset")
    assert (group.aria_role, group.accessible_name) == ("group", "It will be able to")
    boxes = group.find_elements(By.CSS_SELECTOR, "[type=checkbox]")
    assert [box.accessible_name for box in boxes] == [
        "Use the tools of this site mcp:tools",
        "Read your orders orders:read",
    ]
    for box in boxes:
        box.send_keys(Keys.SPACE)
    driver.find_element(By.CSS_SELECTOR, "button[name=allow]").send_keys(Keys.ENTER)
    alert = wait_for(driver, "[role=alert]")
    assert "Nothing was ticked" in alert.text
    driver.find_element(By.NAME, "grant:mcp:tools").send_keys(Keys.SPACE)
    driver.find_element(By.CSS_SELECTOR, "button[name=allow]").send_keys(Keys.ENTER)
    assert set(answer(driver, callback)) == {"code", "state", "iss"}
    assert OAuthEvent.objects.get(kind="consent_granted").scopes == "orders:read"


def test_a_foreign_page_cannot_frame_ours(
    open_browser: Callable[..., webdriver.Chrome], authorize_url: str, callback: str
) -> None:
    driver = open_browser()
    log_in(driver, authorize_url)
    for url in (authorize_url, authorize_url.partition("authorize/")[0] + "connections/"):
        driver.get(callback)
        driver.execute_script(
            "const frame = document.createElement('iframe'); frame.src = arguments[0];document.body.append(frame);",
            url,
        )
        WebDriverWait(driver, 30).until(lambda found: blocked(found, "frame"))
        driver.switch_to.frame(0)
        assert not driver.find_elements(By.TAG_NAME, "form")
        driver.switch_to.default_content()


def test_connected_applications_by_keyboard(
    open_browser: Callable[..., webdriver.Chrome], authorize_url: str, callback: str
) -> None:
    driver = open_browser()
    log_in(driver, authorize_url)
    driver.find_element(By.LINK_TEXT, "connected applications").send_keys(Keys.ENTER)
    name = wait_for(driver, "input[name=name]")
    assert name.accessible_name == "Name"
    name.send_keys("Editor", Keys.ENTER)
    token = wait_for(driver, ".secret").text
    assert token.startswith("mcp_pat_")
    assert driver.find_element(By.CSS_SELECTOR, "[role=status] .secret")
    revoke = driver.find_element(By.CSS_SELECTOR, "[aria-label='Revoke Editor']")
    revoke.send_keys(Keys.ENTER)
    WebDriverWait(driver, 30).until(lambda found: "revoked" in found.current_url)
    assert token not in driver.page_source
    assert "Editor</" not in driver.page_source
    assert blocked(driver) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_the_pages_are_readable(
    open_browser: Callable[..., webdriver.Chrome],
    authorize_url: str,
    application: Any,
    make_token: Callable[..., str],
    width: int,
    scheme: str,
) -> None:
    application.name = "An application with a name that goes on and on" + "on" * 60
    application.save()
    driver = open_browser(width, scheme)
    driver.get(authorize_url)
    wait_for(driver, "input[name=username]")
    fine = {"faint": [], "sideways": False, "styled": True}
    assert driver.execute_script(LOOK) == fine
    show(driver, f"login-{width}-{scheme}")
    Scope.objects.create(name="orders:read", description="Read your orders")
    broad = Scope.objects.create(name="orders:all", description="Do anything with your orders")
    broad.implies.add(Scope.objects.get(name="orders:read"))
    several = authorize_url.replace("scope=mcp%3Atools", "scope=mcp%3Atools+orders%3Aall")
    log_in(driver, several)
    assert driver.execute_script(LOOK) == fine
    show(driver, f"consent-{width}-{scheme}")
    driver.get(f"{several}&nothing-chosen=")
    assert driver.execute_script(LOOK) == fine
    show(driver, f"nothing-chosen-{width}-{scheme}")
    make_token(scope="mcp:tools orders:all", resource=["https://mcp.example/" + "long" * 30])
    driver.get(several.partition("authorize/")[0] + "connections/")
    wait_for(driver, "input[name=name]").send_keys("Editor", Keys.ENTER)
    wait_for(driver, ".secret")
    assert driver.execute_script(LOOK) == fine
    show(driver, f"connections-{width}-{scheme}")
    wait_for(driver, "input[name=name]").send_keys("Editor", Keys.ENTER)
    wait_for(driver, "[role=alert]")
    assert driver.execute_script(LOOK) == fine
    driver.get(authorize_url.replace("client_id=robot", "client_id=nosuch"))
    wait_for(driver, "h1")
    assert driver.execute_script(LOOK) == fine
    assert blocked(driver) == []
